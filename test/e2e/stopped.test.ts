// An operator's stop is heard at once: the take ends with what was said until then.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Agent, Controller, House, until } from '../kit/whole.ts'
import { framesOf, readWav } from './sound.ts'

const RATE = 48_000

test('a take ends within moments of its stop', async (t) => {
  const house = await House.open()
  t.after(() => house.close())
  const controller = await (await new Controller(house).start()).login()
  const node = await controller.enroll('stopped')
  // A pace at which a stop that is only heard with the next heartbeat would be seen.
  const env = { SVC_CONTROLLER_TOKEN: node.token, SVC_CONTROLLER_URL: controller.url, SVC_NODE_ID: node.id }
  const agent = new Agent(house, { ...env, SVC_JOB_POLL_SECONDS: '8' }).start()
  const device = await controller.online(node.id)
  await controller.get(`/nodes/${node.id}/interfaces/${device.id}`, 'PATCH', { systemRef: 'test' })
  const asked = { channelMode: 'stereo', codec: 'wav', enhancement: null, name: 'Stopped' }
  const { id: profile } = await controller.post('/settings/recording-profiles', asked)
  const { job, recording } = await controller.record(node.id, profile, 60, { captureInterfaceId: device.id })
  const read = () => controller.get(`/recording-jobs/${job.id}`)
  const claimed = await until('the claim', async () => {
    const now = await read()
    return now.startedAt && now.progress ? now : undefined
  })
  // Stopped before its first sample there would be no take.
  await agent.capturing(job.id)
  const stopped = await controller.post(`/recordings/${recording.id}/stop`, {})
  assert.equal(stopped.status, 'completed')
  const { stopRequestedAt } = await read()
  await until('the end', async () => (await read()).status === 'completed')
  const stream = await controller.raw('GET', `/recordings/${recording.id}/stream`)
  const take = readWav(Buffer.from(await stream.arrayBuffer()))
  const since = (Date.parse(stopRequestedAt) - Date.parse(claimed.startedAt)) / 1000
  const length = framesOf(take) / RATE
  // The capture begins a little after the claim; half the pace is far beyond what a loaded machine needs.
  assert.ok(length < since + 4, `${length} s of audio, stopped after ${since} s`)
})
