// An agent that is not let on the processor for longer than its sound card buffers: the card counts its samples, and says
// that it lost some. What is lost cannot be had back; it is told, and what comes later is where it belongs.
import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, Controller, House } from '../kit/whole.ts'
import { CARDS, layProc } from './card.ts'
import { counted } from './counted.rules.ts'
import { counterEnv } from './counted.ts'
import { type Heard, layoutOf, RATE, upTo } from './signal.ts'
import { assertOwnedUp } from './told.ts'

const CHANNELS = CARDS.Desk
const SECONDS = 12
/** Of the card's buffer no more than half a second. */
const FROZEN_MS = 2500
/** The clock's part in a gap is measured between arrivals. */
const MISPLACED_SECONDS = 0.1

interface Stretch {
  /** Frame of the card it begins with. */
  card: number
  /** Frame of the take. */
  take: number
}

/** Every sample is the next of the card, or a frame of silence. @throws AssertionError where it is neither. */
function stretches(file: string): { heard: Heard; sounding: Stretch[] } {
  const layout = layoutOf(file)
  const { dataOffset, frames } = layout
  const bytes = fs.readFileSync(file).subarray(dataOffset)
  const samples = Int32Array.from({ length: frames * CHANNELS }, (_, i) => bytes.readInt32LE(4 * i))
  const [sounding, heard]: [Stretch[], Heard] = [[], { layout, missed: [], silences: [] }]
  let due: number | undefined
  for (let take = 0; take < frames; take++) {
    const frame = samples.subarray(take * CHANNELS, (take + 1) * CHANNELS)
    if (frame.every((sample) => sample === 0)) {
      if (due !== undefined || take === 0) heard.silences.push({ atFrame: take, seconds: 0 })
      heard.silences.at(-1)!.seconds += 1 / RATE
      due = undefined
      continue
    }
    if (due === undefined) sounding.push({ card: frame[0]! / CHANNELS, take })
    due ??= frame[0]! / CHANNELS
    const first = due++ * CHANNELS
    assert.ok(
      frame.every((sample, channel) => sample === counted(first + channel)),
      `frame ${take}`,
    )
  }
  return { heard, sounding }
}

test('an agent that stood still tells of the loss, and goes on at the true place', async (t) => {
  const house = await House.open()
  t.after(() => house.close())
  const controller = await (await new Controller(house).start()).login()
  const { id: nodeId, token } = await controller.enroll('frozen', { audioDefaults: { captureFormat: 'S32_LE' } })
  layProc(house.path('cards'), ['Desk'])
  const own = { SVC_CONTROLLER_TOKEN: token, SVC_CONTROLLER_URL: controller.url, SVC_NODE_ID: nodeId }
  const agent = new Agent(house, { ...own, ...counterEnv(house.dir, house.path('cards'), 'Desk') }).start()
  const { id: captureInterfaceId } = await controller.online(nodeId)
  const wish = { captureChannelSelection: upTo(CHANNELS), captureInterfaceId, channelMode: 'multichannel' }
  const { job, recording } = await controller.record(nodeId, await controller.plainProfile('wav'), SECONDS, wish)
  await agent.capturing(job.id)
  await sleep(2000)
  agent.program.child.kill('SIGSTOP')
  await sleep(FROZEN_MS)
  agent.program.child.kill('SIGCONT')
  const delivered = await controller.delivered(recording.id, job.id)
  const file = house.path('take.wav')
  fs.writeFileSync(file, await controller.file(recording.id))
  const { heard, sounding } = stretches(file)
  assert.equal(heard.layout.frames, SECONDS * RATE)
  assert.ok(heard.silences.length > 0, 'the card lost something')
  assertOwnedUp(agent, job.id, delivered, heard)
  const [first, last] = [sounding[0]!, sounding.at(-1)!]
  const off = (last.card - first.card - (last.take - first.take)) / RATE
  assert.ok(Math.abs(off) < MISPLACED_SECONDS, `${off} s off: ${JSON.stringify([sounding, heard.silences])}`)
})
