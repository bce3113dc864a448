// A controller that has lost its database, and had neither a backup nor a replica: the built executable makes one of the takes.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { makeTakes } from '../bench/rebuild.ts'
import { Agent, Controller, filesBelow, House, until } from '../kit/whole.ts'

const SECONDS = 4
const RATE_OF_TEST_SOURCE = 'test:speed=5'
const SUFFIX = '.roomtone.json'

describe('a database made of takes', () => {
  let house: House
  let controller: Controller
  let recordingId = ''
  let sound: Buffer
  const takes = () => path.join(controller.data, 'recordings')
  const manifests = () => filesBelow(takes()).filter((name) => name.endsWith(SUFFIX))
  const rebuild = async (on = controller.data) => {
    const program = house.start(['rebuild'], { cwd: house.dir, env: { SVC_DATA_DIR: on } })
    const [code] = await program.exited
    return { code, said: program.said() }
  }
  const database = (on = controller.data) => fs.readdirSync(on).filter((name) => name.startsWith('roomtone.db'))
  const loseDatabase = () => {
    for (const name of database()) fs.rmSync(path.join(controller.data, name))
  }

  before(async () => {
    house = await House.open()
    controller = await (await new Controller(house, { SVC_TAKE_MANIFESTS_INTERVAL_SECONDS: '1' }).start()).login()
    const node = await controller.enroll('Lectern')
    const env = { SVC_CONTROLLER_TOKEN: node.token, SVC_CONTROLLER_URL: controller.url, SVC_NODE_ID: node.id }
    const agent = new Agent(house, env).start()
    const device = await controller.online(node.id)
    await controller.get(`/nodes/${node.id}/interfaces/${device.id}`, 'PATCH', { systemRef: RATE_OF_TEST_SOURCE })
    const more = { captureInterfaceId: device.id, name: 'Algebra', tags: ['maths'] }
    const { job, recording } = await controller.record(node.id, await controller.plainProfile('flac'), SECONDS, more)
    recordingId = recording.id
    await controller.delivered(recordingId, job.id)
    sound = await controller.file(recordingId)
    await until('the manifest', () => manifests().length === 1)
    await agent.program.end('SIGTERM')
  })
  after(() => house.close())

  test('a controller that is killed while it writes manifests leaves whole ones, and writes the others after its start', async () => {
    for (let round = 0; round < 5; round++) {
      const name = `Algebra ${round}`
      await controller.get(`/recordings/${recordingId}/metadata`, 'PATCH', { name })
      await controller.program.end('SIGKILL')
      for (const file of manifests()) JSON.parse(fs.readFileSync(path.join(takes(), file), 'utf8'))
      await controller.start()
      await until('the manifest to say it', () =>
        fs.readFileSync(path.join(takes(), manifests()[0]!), 'utf8').includes(name),
      )
      await controller.login()
    }
    await controller.get(`/recordings/${recordingId}/metadata`, 'PATCH', { name: 'Algebra' })
    await until('the last word', () =>
      fs.readFileSync(path.join(takes(), manifests()[0]!), 'utf8').includes('"name":"Algebra"'),
    )
    assert.equal(manifests().length, 1)
  })

  test('a database that is there, with a controller or without, is refused and stays as it is', async () => {
    assert.equal((await rebuild()).code, 1)
    await controller.program.end('SIGTERM')
    const hash = () =>
      createHash('sha256')
        .update(fs.readFileSync(path.join(controller.data, 'roomtone.db')))
        .digest('hex')
    const before = hash()
    const { code, said } = await rebuild()
    assert.equal(code, 1)
    assert.match(said, /There is a database already/)
    assert.equal(hash(), before)
  })

  test('without it the take is found with name, tags, room and recorder, plays the same bytes, and is checked', async () => {
    loseDatabase()
    const { code, said } = await rebuild()
    assert.equal(code, 0, said)
    assert.match(said, /^1 take found; 0 manifests damaged; 0 files without manifest\.$/m)
    await (await controller.start()).login()
    assert.ok((await controller.file(recordingId)).equals(sound))
    const recording = await controller.get(`/recordings/${recordingId}`)
    assert.deepEqual([recording.name, recording.tags, recording.status], ['Algebra', ['maths'], 'cached'])
    assert.equal(recording.checksum, `sha256:${createHash('sha256').update(sound).digest('hex')}`)
    const [node] = await controller.get('/nodes')
    assert.deepEqual([node.alias, node.status, node.location.site], ['Lectern', 'provisioning', 'House'])
    assert.equal((await controller.trail({ action: 'controller.rebuilt' })).length, 1)
    const check = house.start(['check', '--deep'], { cwd: house.dir, env: { SVC_DATA_DIR: controller.data } })
    assert.deepEqual((await check.exited)[0], 0, check.said())
    await controller.program.end('SIGTERM')
  })

  test('the first owner is made as on a fresh install', async () => {
    loseDatabase()
    assert.equal((await rebuild()).code, 0)
    const program = house.start(['controller'], {
      cwd: controller.data,
      env: { SVC_DATA_DIR: controller.data, SVC_HOST: '127.0.0.1', SVC_PORT: '0' },
    })
    const signIn = await until('the link', () => /"signIn":"([^"]+)"/.exec(program.said())?.[1])
    assert.match(signIn, /^http:\/\//)
    await program.end('SIGTERM')
  })

  test('a rebuild that is killed leaves no database, and the next one makes it', async () => {
    const on = house.path('many')
    makeTakes(on, 3000)
    const before = filesBelow(path.join(on, 'recordings')).length
    for (let round = 1; round <= 3; round++) {
      const program = house.start(['rebuild'], { cwd: house.dir, env: { SVC_DATA_DIR: on } })
      await until('the draft', () => database(on).some((name) => name.endsWith('.rebuilding')))
      await program.end('SIGKILL')
      assert.ok(
        database(on).every((name) => name.includes('.rebuilding')),
        database(on).join(),
      )
    }
    const { code, said } = await rebuild(on)
    assert.equal(code, 0, said)
    assert.match(said, /^3000 takes found/m)
    assert.deepEqual(database(on), ['roomtone.db'])
    assert.equal(filesBelow(path.join(on, 'recordings')).length, before)
  })
})
