// Eight characters typed at a box make it a recorder: the built executable, on both sides.
import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { Agent, Controller, filesBelow, House } from '../kit/whole.ts'

describe('pairing', () => {
  let house: House
  let controller: Controller
  let agent: Agent
  let envFile: string
  let nodeId: string

  before(async () => {
    house = await House.open()
    controller = await (await new Controller(house).start()).login()
    envFile = house.path('agent', 'recorder-agent.env')
    // What the code gave is all the recorder knows of itself: its id comes from the file.
    agent = new Agent(house, {}, ['--env-file', envFile])
    fs.mkdirSync(agent.dir)
    nodeId = (await controller.enroll('paired')).id
  })
  after(() => house.close())

  const join = (code: string) => {
    const args = ['agent', '--bootstrap', '--test-source', '--controller-url', controller.url, '--pairing-code', code]
    return house.start([...args, '--bootstrap-env-file', envFile], {
      cwd: agent.dir,
      env: { SVC_ALSA_PROC_ROOT: house.path('asound') },
    })
  }

  test('a box joins with the code alone, and sends heartbeats', async () => {
    const { code } = await controller.post(`/nodes/${nodeId}/pairing-code`)
    const joined = join(code)
    assert.deepEqual(await joined.exited, [0, null], joined.said())
    assert.match(fs.readFileSync(envFile, 'utf8'), new RegExp(`^SVC_NODE_ID=${nodeId}$`, 'm'))
    agent.start()
    assert.equal((await controller.online(nodeId)).systemRef, 'test:tone')
    const holding = filesBelow(house.dir).filter((file) => fs.readFileSync(house.path(file)).includes(code))
    assert.deepEqual(holding, [], 'the code is on no disk')
  })

  test('the code was good once, and the refusal says what to do', async () => {
    const { code } = await controller.post(`/nodes/${nodeId}/pairing-code`)
    assert.deepEqual(await join(code.toLowerCase().replace('-', '')).exited, [0, null])
    const before = fs.readFileSync(envFile, 'utf8')
    const again = join(code)
    assert.deepEqual(await again.exited, [1, null])
    assert.match(again.said(), /refused the pairing code: .* Get a new one on the recorder's page/)
    assert.equal(fs.readFileSync(envFile, 'utf8'), before)
    const [denied] = await controller.trail({ action: 'nodes.pairing.failed' })
    assert.deepEqual([denied?.outcome, denied?.reason], ['denied', 'invalid_pairing_code'])
  })
})
