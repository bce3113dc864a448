// From nothing to a take that plays back, on the built executable, as an operator and a room would.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { MARKED_HEADER } from '../../src/agent/audio/marks.rules.ts'
import type { Codec } from '../../src/wire/profiles.ts'
import { Agent, Controller, filesBelow, House, until } from '../kit/whole.ts'
import { assertClose, assertExact, decode, framesOf, readWav, secondsOf } from './sound.ts'

const RATE = 48_000

describe('day 0', () => {
  let house: House
  let controller: Controller
  let agent: Agent
  let nodeId: string
  let envFile: string

  before(async () => {
    house = await House.open()
    controller = await (await new Controller(house).start()).login()
    // What an operator writes by hand before the first start: the rest comes from the bootstrap.
    envFile = house.path('agent', 'recorder-agent.env')
    agent = new Agent(house, {}, ['--env-file', envFile])
    fs.mkdirSync(agent.dir)
  })
  after(() => house.close())

  const bootstrap = (token: string) => {
    const args = ['agent', '--bootstrap', '--test-source', '--controller-url', controller.url]
    const files = ['--bootstrap-token-file', '-', '--bootstrap-env-file', envFile]
    const env = { SVC_ALSA_PROC_ROOT: house.path('asound'), SVC_NODE_ID: nodeId }
    return house.start([...args, ...files], { cwd: agent.dir, env, input: `${token}\n` })
  }

  const filesWith = (words: string) =>
    filesBelow(house.dir).filter((f) => fs.readFileSync(house.path(f)).includes(words))

  test('a token from an enrolled node makes the agent a member; its replay is refused and told', async () => {
    nodeId = (await controller.enroll('day0')).id
    const { token } = await controller.post(`/nodes/${nodeId}/bootstrap-token`)
    const joined = bootstrap(token)
    assert.deepEqual(await joined.exited, [0, null], joined.said())
    assert.equal(fs.statSync(envFile).mode & 0o777, 0o640)
    assert.match(fs.readFileSync(envFile, 'utf8'), /^SVC_CONTROLLER_TOKEN=svc_node_/m)
    const { fingerprint } = await controller.get(`/nodes/${nodeId}/ssh-credential`)
    assert.match(fs.readFileSync(house.path('home', '.ssh', 'authorized_keys'), 'utf8'), /^ssh-ed25519 \S+ svc-node_/)
    assert.ok(joined.said().includes(fingerprint))

    const replayed = bootstrap(token)
    assert.deepEqual(await replayed.exited, [1, null])
    assert.match(replayed.said(), /refused the bootstrap token: it has expired, was already used/)
    const [denied, ...more] = await controller.trail({ action: 'nodes.bootstrap.failed', target: nodeId })
    assert.deepEqual([denied?.outcome, denied?.reason, more.length], ['denied', 'invalid_bootstrap_token', 0])
    assert.deepEqual(filesWith('PRIVATE KEY'), [], 'the private key is on no disk, the controller keeps it sealed')
    assert.deepEqual(filesBelow(house.path('tmp')), [])
  })

  test('the daemon is online with its interface', async () => {
    agent.start()
    const device = await controller.online(nodeId)
    assert.deepEqual([device.systemRef, device.channelCount], ['test:tone', 2])
  })

  /** Starts a take, waits for its first sample. */
  const begin = async (codec: Codec, seconds: number) => {
    const profile = await controller.plainProfile(codec)
    const asked = performance.now()
    const { job, recording } = await controller.record(nodeId, profile, seconds)
    await agent.capturing(job.id)
    return { job: job.id, latency: performance.now() - asked, recording: recording.id }
  }

  const ranges = async (id: string, size: number): Promise<Buffer> => {
    const cuts = [0, 1, 44, 4097, Math.floor(size / 2), size - 1, size]
    const parts: Buffer[] = []
    for (const [i, start] of cuts.slice(0, -1).entries()) {
      const last = cuts[i + 1]! - 1
      const open = i === cuts.length - 2 ? '' : last
      const response = await controller.raw('GET', `/recordings/${id}/stream`, {
        headers: { range: `bytes=${start}-${open}` },
      })
      assert.equal(response.status, 206)
      assert.equal(response.headers.get('content-range'), `bytes ${start}-${last}/${size}`)
      parts.push(Buffer.from(await response.arrayBuffer()))
    }
    return Buffer.concat(parts)
  }

  for (const [codec, type] of [
    ['wav', 'audio/wav'],
    ['flac', 'audio/flac'],
    ['mp3', 'audio/mpeg'],
  ] as const)
    test(`five seconds of ${codec} arrive, play back in ranges and are the source's sound`, async (t) => {
      const { job, latency, recording } = await begin(codec, 5)
      t.diagnostic(`POST /recordings to the first captured sample: ${latency.toFixed(0)} ms`)
      const { checksum, durationSeconds } = await controller.delivered(recording, job)
      assert.equal(durationSeconds, 5)
      const whole = await controller.raw('GET', `/recordings/${recording}/file`)
      assert.equal(whole.headers.get('content-type'), type)
      const file = Buffer.from(await whole.arrayBuffer())
      assert.equal(`sha256:${createHash('sha256').update(file).digest('hex')}`, checksum)
      assert.ok((await ranges(recording, file.length)).equals(file), 'the ranges of the stream are the file')
      const heard = codec === 'wav' ? readWav(file) : await decode(file, 2, RATE)
      assert.deepEqual([heard.channels, heard.rate], [2, RATE])
      assert.ok(Math.abs(secondsOf(heard) - 5) <= 0.1, `${secondsOf(heard)} s`)
      if (codec === 'mp3') assertClose(heard, 'mp3', 5 * RATE)
      else assertExact(heard, codec)
    })

  test('stop after two seconds keeps what was recorded', async () => {
    const { job, recording } = await begin('wav', 60)
    await until('two seconds on disk', () => fs.statSync(agent.takeFile(job)).size - MARKED_HEADER >= 2 * RATE * 4)
    await controller.post(`/recordings/${recording}/stop`)
    await controller.delivered(recording, job)
    const heard = readWav(await controller.file(recording))
    assert.ok(framesOf(heard) >= 2 * RATE - 20 && secondsOf(heard) < 30, `${secondsOf(heard)} s`)
    assertExact(heard, 'stopped take')
  })

  test('SIGTERM to the agent finalizes the running take, exit 0; it has arrived once the agent is back', async () => {
    const { job, recording } = await begin('wav', 60)
    await sleep(1200)
    const onDisk = (fs.statSync(agent.takeFile(job)).size - MARKED_HEADER) / 4
    const asked = performance.now()
    assert.deepEqual(await agent.program.end('SIGTERM'), [0, null], agent.program.said())
    assert.ok(performance.now() - asked < 30_000)
    agent.start()
    await controller.delivered(recording, job)
    const heard = readWav(await controller.file(recording))
    assert.ok(framesOf(heard) >= onDisk, `${framesOf(heard)} frames arrived, ${onDisk} were on disk`)
    assertExact(heard, 'finalized take')
  })

  test('SIGTERM to the controller ends it, exit 0, also with an agent waiting for jobs', async () => {
    const asked = performance.now()
    assert.deepEqual(await controller.program.end('SIGTERM'), [0, null], controller.program.said())
    assert.ok(performance.now() - asked < 5000)
  })
})
