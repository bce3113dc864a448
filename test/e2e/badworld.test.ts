// Everything around the agent goes wrong in turn; no take is lost, and what happened is told.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import * as fs from 'node:fs'
import * as net from 'node:net'
import * as os from 'node:os'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { MARKED_HEADER } from '../../src/agent/audio/marks.rules.ts'
import { Agent, Controller, filesBelow, House, until } from '../kit/whole.ts'
import { type Mood, standBetween } from './proxy.ts'
import { assertExact, framesOf, type Gap, readWav, secondsOf } from './sound.ts'
import { layCable } from './tcpproxy.ts'

const RATE = 48_000
const JOB = 'agent.recording_job'

/** A controller, and a node that is enrolled on it. */
async function settle(t: TestContext, env: Record<string, string> = {}) {
  const house = await House.open()
  t.after(() => house.close())
  const controller = await (await new Controller(house, env).start()).login()
  const { id: nodeId, token } = await controller.enroll('hardy')
  const profile = await controller.plainProfile('wav')
  const agentAt = (url: string) =>
    new Agent(house, { SVC_CONTROLLER_TOKEN: token, SVC_CONTROLLER_URL: url, SVC_NODE_ID: nodeId })
  const begin = async (agent: Agent, seconds: number) => {
    const { job, recording } = await controller.record(nodeId, profile, seconds)
    await agent.capturing(job.id)
    return { job: job.id, recording: recording.id }
  }
  /** Event types of this node as they reached the controller. */
  const told = async () => {
    const rows = await controller.trail({ action: 'nodes.health_events.sync.succeeded' })
    return rows.map(({ details }) => details.type)
  }
  return { agentAt, begin, controller, house, nodeId, profile, told }
}

async function wholeAndExact(controller: Controller, take: { job: string; recording: string }, seconds: number) {
  await controller.delivered(take.recording, take.job)
  const heard = readWav(await controller.file(take.recording))
  assert.equal(framesOf(heard), seconds * RATE)
  assertExact(heard, take.recording)
}

describe('a bad world', { concurrency: true }, () => {
  test('a controller that is down for 15 s in the middle of a take costs no sample, and the outage is told', async (t) => {
    const { agentAt, begin, controller, nodeId, told } = await settle(t)
    const cable = await layCable()
    t.after(() => cable.close())
    cable.target = controller.url
    const agent = agentAt(cable.url).start()
    await controller.online(nodeId)
    const take = await begin(agent, 18)
    await controller.program.end('SIGKILL')
    await sleep(15_000)
    cable.target = (await controller.start()).url
    await wholeAndExact(controller, take, 18)
    const outage = [`${JOB}.control_plane_failed`, `${JOB}.control_plane_recovered`]
    for (const type of outage) assert.ok(agent.has(type), `${type} in the agent's own log`)
    await until('the outage to be told', async () => {
      const types = await told()
      return outage.every((type) => types.includes(type))
    })
  })

  test('an agent that is stopped while its controller is away ends in time, exit 0; its take arrives later', async (t) => {
    const { agentAt, begin, controller, nodeId } = await settle(t)
    const cable = await layCable()
    t.after(() => cable.close())
    cable.target = controller.url
    const agent = agentAt(cable.url).start()
    await controller.online(nodeId)
    const take = await begin(agent, 60)
    await until('a second on disk', () => fs.statSync(agent.takeFile(take.job)).size - MARKED_HEADER >= RATE * 4)
    await controller.program.end('SIGKILL')
    const asked = performance.now()
    assert.deepEqual(await agent.program.end('SIGTERM'), [0, null], agent.program.said())
    assert.ok(performance.now() - asked < 30_000)
    const frames = framesOf(readWav(fs.readFileSync(agent.takeFile(take.job))))
    assert.ok(frames > RATE - 20, `${frames} frames; ${agent.program.said()}`)
    cable.target = (await controller.start()).url
    agent.start()
    await controller.delivered(take.recording, take.job)
    const heard = readWav(await controller.file(take.recording))
    assert.equal(framesOf(heard), frames)
    assertExact(heard, take.recording)
  })

  test('an agent that starts before its controller waits for it', async (t) => {
    const { agentAt, begin, controller, nodeId } = await settle(t)
    const cable = await layCable()
    t.after(() => cable.close())
    const agent = agentAt(cable.url).start()
    await until('a failed heartbeat', () => agent.has('agent.node_heartbeat.sync_failed'))
    cable.target = controller.url
    await controller.online(nodeId)
    await wholeAndExact(controller, await begin(agent, 1), 1)
  })

  for (const [mood, words] of [
    ['error', 'answers 500'],
    ['portal', 'is hidden behind a portal that answers 200 to everything'],
  ] satisfies [Mood, string][])
    test(`a controller that ${words} does not get the take out of the agent's hands`, async (t) => {
      const { agentAt, begin, controller, nodeId } = await settle(t)
      const between = await standBetween(controller.url)
      t.after(() => between.close())
      const agent = agentAt(between.url).start()
      await controller.online(nodeId)
      const take = await begin(agent, 2)
      between.mood = mood
      const tried = () => between.refused.filter((line) => line.startsWith('PUT /api/v1/recordings/')).length
      await until('two uploads that failed', () => tried() >= 2)
      assert.ok(fs.existsSync(agent.takeFile(take.job)), 'the take is still here')
      assert.ok(agent.has(`${JOB}.cache_upload_failed`, 'warning'))
      between.mood = 'kind'
      await wholeAndExact(controller, take, 2)
      assert.deepEqual(filesBelow(`${agent.dir}/kept`), [])
    })

  test('a node that was revoked during a take keeps it, and delivers it with its next token', async (t) => {
    const { agentAt, begin, controller, nodeId } = await settle(t)
    const agent = agentAt(controller.url).start()
    await controller.online(nodeId)
    const take = await begin(agent, 3)
    await controller.post(`/nodes/${nodeId}/credentials/revoke`)
    const failed = () => agent.events().find(({ type }) => type === `${JOB}.cache_upload_failed`)
    const { details } = await until('the upload to be refused', failed)
    assert.deepEqual([details.status, details.willRetry], [401, true])
    assert.equal(agent.state(take.job)?.status, 'uploading')
    const { credential } = await controller.post(`/nodes/${nodeId}/credentials/rotate`)
    assert.deepEqual(await agent.program.end('SIGTERM'), [0, null])
    agent.start({ SVC_CONTROLLER_TOKEN: credential.token })
    await wholeAndExact(controller, take, 3)
  })

  test('a take that is too large for the controller is kept for a person, with a critical event', async (t) => {
    const { agentAt, begin, controller, nodeId, told } = await settle(t, { SVC_RECORDING_CACHE_MAX_BYTES: '100000' })
    const agent = agentAt(controller.url).start()
    await controller.online(nodeId)
    const { job } = await begin(agent, 1)
    await until('the refusal', () => agent.has(`${JOB}.cache_upload_failed`, 'critical'))
    const kept = readWav(fs.readFileSync(`${agent.dir}/kept/${job}/take.wav`))
    assert.equal(framesOf(kept), RATE)
    assertExact(kept, 'kept take')
    assert.deepEqual(filesBelow(`${agent.dir}/takes`), [])
    assert.deepEqual(filesBelow(`${controller.data}/recordings`), [])
    await until('the event to be told', async () => (await told()).includes(`${JOB}.cache_upload_failed`))
  })

  test('a card that disappears and comes back leaves its gap as silence: the take is as long as it says', async (t) => {
    const { agentAt, begin, controller, nodeId } = await settle(t)
    const agent = agentAt(controller.url).start()
    const device = await controller.online(nodeId)
    // Every opening ends like an unplugged card after two seconds of audio.
    const systemRef = 'test:fail-after=2'
    await controller.get(`/nodes/${nodeId}/interfaces/${device.id}`, 'PATCH', { systemRef })
    const take = await begin(agent, 5)
    const { durationSeconds } = await controller.delivered(take.recording, take.job)
    assert.equal(durationSeconds, 5)
    const heard = readWav(await controller.file(take.recording))
    assert.ok(Math.abs(secondsOf(heard) - 5) <= 0.1)
    const gaps = agent.events().filter(({ type }) => type === `${JOB}.capture_device_recovered`)
    assert.ok(gaps.length >= 1)
    assert.equal(gaps[0]!.details.atFrame, 2 * RATE)
    assertExact(
      heard,
      take.recording,
      gaps.map(({ details }) => details as unknown as Gap),
    )
    assert.ok(agent.has(`${JOB}.capture_device_lost`, 'warning'))
  })

  test('plain http to another machine is refused with a clear sentence before a byte is sent', async (t) => {
    const house = await House.open()
    t.after(() => house.close())
    const addresses = Object.values(os.networkInterfaces()).flatMap((list) => list ?? [])
    const ours = addresses.find(({ family, internal }) => family === 'IPv4' && !internal)?.address
    let visits = 0
    const server = net.createServer((socket) => {
      visits++
      socket.destroy()
    })
    server.listen(0, '0.0.0.0')
    t.after(() => server.close())
    await once(server, 'listening')
    const { port } = server.address() as net.AddressInfo
    // A machine without a network still shows the refusal (TEST-NET-1).
    const url = `http://${ours ?? '192.0.2.1'}:${port}`
    const env = { SVC_BOOTSTRAP_TOKEN: 'svc_boot_1', SVC_CONTROLLER_TOKEN: 'svc_node_1', SVC_NODE_ID: 'n' }
    for (const mode of [[], ['--bootstrap'], ['--run-next-job']]) {
      const agent = house.start(['agent', '--controller-url', url, ...mode], { cwd: house.path('agent'), env })
      assert.deepEqual(await agent.exited, [1, null], agent.said())
      assert.match(agent.said(), /refusing plain http to .*: the token and the audio would be readable on the way/)
    }
    assert.equal(visits, 0)
  })
})
