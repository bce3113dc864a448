// A take that goes up in pieces while it runs, and is one recording in the end.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { RecordingChunk } from '../../src/wire/chunks.ts'
import { Agent, Controller, House, until } from '../kit/whole.ts'
import { assertExact, framesOf, readWav } from './sound.ts'

const RATE = 48_000
const SECONDS = 25
const CHUNK = 10

describe('a take in chunks', () => {
  let house: House
  let controller: Controller
  let agent: Agent
  let nodeId: string

  before(async () => {
    house = await House.open()
    controller = await (await new Controller(house).start()).login()
    const node = await controller.enroll('chunked')
    nodeId = node.id
    const env = { SVC_CONTROLLER_TOKEN: node.token, SVC_CONTROLLER_URL: controller.url, SVC_NODE_ID: nodeId }
    agent = new Agent(house, env).start()
    const device = await controller.online(nodeId)
    // Five times as fast as it would be.
    await controller.get(`/nodes/${nodeId}/interfaces/${device.id}`, 'PATCH', { systemRef: 'test:speed=5' })
  })
  after(() => house.close())

  test('its chunks arrive while it runs; what is played is the source, sample for sample', async () => {
    const off = { enabled: false }
    const [highpass, lowpass, deesser, compressor, loudnorm, gate] = Array(6).fill(off)
    const enhancement = { compressor, deesser, denoise: off, gate, highpass, keepRaw: false, loudnorm, lowpass }
    const asked = { channelMode: 'stereo', chunkSeconds: CHUNK, codec: 'wav', enhancement, name: 'In chunks' }
    const { id: profile } = await controller.post('/settings/recording-profiles', asked)
    const interfaceId = (await controller.online(nodeId)).id
    const { job, recording } = await controller.record(nodeId, profile, SECONDS, { captureInterfaceId: interfaceId })
    const chunks = (): Promise<RecordingChunk[]> => controller.get(`/recording-jobs/${job.id}/chunks`)
    await until('the first chunk', async () => (await chunks()).some((chunk) => chunk.cachePath))
    assert.equal((await controller.get(`/recording-jobs/${job.id}`)).status, 'running')

    const done = await until('the joined recording', async () => {
      const now = await controller.get(`/recordings/${recording.id}`)
      return now.cached && now.cachePath ? now : undefined
    })
    assert.equal(done.durationSeconds, SECONDS)
    assert.equal((await controller.get(`/recording-jobs/${job.id}`)).status, 'completed')
    assert.deepEqual(
      (await chunks()).map((chunk) => [chunk.index, chunk.total, chunk.durationSeconds]),
      [
        [1, 3, CHUNK],
        [2, 3, CHUNK],
        [3, 3, SECONDS - 2 * CHUNK],
      ],
    )
    const stream = await controller.raw('GET', `/recordings/${recording.id}/stream`)
    const heard = readWav(Buffer.from(await stream.arrayBuffer()))
    assert.deepEqual([heard.channels, heard.rate, framesOf(heard)], [2, RATE, SECONDS * RATE])
    assertExact(heard, 'the joined chunks')
    assert.equal(agent.state(job.id), undefined)
  })
})
