// What is done once, by hand, and what a recorder keeps of its takes: the built agent against the built controller.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { Agent, Controller, House, until } from '../kit/whole.ts'
import { framesOf, readWav } from './sound.ts'

const RATE = 48_000

describe('by hand', () => {
  let house: House
  let controller: Controller
  let node: { id: string; token: string }
  let wav: string

  before(async () => {
    house = await House.open()
    controller = await (await new Controller(house).start()).login()
    node = await controller.enroll('byhand')
    wav = await controller.plainProfile('wav')
  })
  after(() => house.close())

  const env = () => ({
    SVC_AGENT_DIR: house.path('agent'),
    SVC_ALSA_PROC_ROOT: house.path('asound'),
    SVC_CONTROLLER_TOKEN: node.token,
    SVC_CONTROLLER_URL: controller.url,
    SVC_NODE_ID: node.id,
  })
  const once = async (...args: string[]): Promise<void> => {
    const program = house.start(['agent', ...args], { cwd: house.dir, env: env() })
    assert.deepEqual(await program.exited, [0, null], program.said())
  }

  test('a file is attached to a recording whose recorder never came', async () => {
    const { job, recording } = await controller.record(node.id, wav, 600)
    const file = house.path('brought.mp3')
    execFileSync('ffmpeg', ['-v', 'error', '-f', 'lavfi', '-i', 'sine=duration=2', file])
    await once('--attach-cache-file', file, '--attach-cache-recording-id', recording.id)
    const cached = await controller.delivered(recording.id, job.id)
    assert.ok(Math.abs(cached.durationSeconds - 2) < 0.1, `${cached.durationSeconds}`)
    assert.ok(fs.readFileSync(file).equals(await controller.file(recording.id)))
  })

  test('a recording is captured by hand, without its job', async () => {
    const { job, recording } = await controller.record(node.id, wav, 600)
    await once('--capture-recording-id', recording.id, '--capture-seconds', '2', '--capture-device', 'test:speed=20')
    const cached = await controller.delivered(recording.id, job.id)
    assert.equal(cached.durationSeconds, 2)
    assert.equal(framesOf(readWav(await controller.file(recording.id))), 2 * RATE)
  })

  test('a take under a retention policy of the recorder stays there as a copy, until the policy lets it go', async () => {
    const retention = await controller.post('/settings/retention-policies', {
      action: 'delete_cache',
      maxAgeDays: 7,
      name: 'A week on the recorder',
      scope: 'recorder_cache',
    })
    const agent = new Agent(house, env(), []).start({ SVC_HEARTBEAT_SECONDS: '1' })
    await controller.online(node.id)
    const { job, recording } = await controller.record(node.id, wav, 1, { retentionPolicyId: retention.id })
    await controller.delivered(recording.id, job.id)
    await until('the copy', () => manifest(agent)[0]?.recordingId === recording.id)
    const { outputPath: copy } = manifest(agent)[0]!
    assert.equal(path.dirname(copy), path.join(agent.dir, 'cache', job.id))
    assert.ok(fs.readFileSync(copy).equals(await controller.file(recording.id)))
    await until('the last word', () => fs.existsSync(stateFile(agent)) && latest(agent) === 'completed')
    const tracked = () => agent.events().some(({ type }) => type === 'agent.recording_job.recorder_cache_tracked')
    await until('the event of the copy', tracked)

    await controller.get(`/settings/retention-policies/${retention.id}`, 'PATCH', { maxAgeDays: null, maxBytes: 1000 })
    // A new config comes with the end of the long poll; a new start asks at once, and finds its copies again.
    await agent.program.end('SIGTERM')
    agent.start({ SVC_HEARTBEAT_SECONDS: '1' })
    const swept = () => agent.events().some(({ type }) => type === 'agent.recorder_cache.sweep_completed')
    await until('the copy to go', () => !fs.existsSync(copy) && manifest(agent).length === 0 && swept())
    assert.equal((await controller.get(`/recordings/${recording.id}`)).status, 'cached')
  })
})

const stateFile = (agent: Agent): string => path.join(agent.dir, 'job-state.json')
const latest = (agent: Agent): string => JSON.parse(fs.readFileSync(stateFile(agent), 'utf8')).status

const manifest = (agent: Agent): { outputPath: string; recordingId: string }[] => {
  const file = path.join(agent.dir, 'recorder-cache-manifest.json')
  return fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, 'utf8')).entries : []
}
