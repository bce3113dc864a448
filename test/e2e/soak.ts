// Takes back to back, meters, and a listener who never leaves: memory and handles have to stay flat.
// scripts/node test/e2e/soak.ts [--minutes 120] [--card] > soak.log
// The test source keeps time by the agent's own clock: every break in what the listener hears is the agent's. With --card it is
// arecord and a JACK graph, whose clock stands still on a busy machine.
import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { Interface } from '../../src/wire/nodes.ts'
import type { Job, Recording } from '../../src/wire/recordings.ts'
import { executable } from '../kit/executable.ts'
import { Agent, Controller, House, type Program, until } from '../kit/whole.ts'
import { Cards } from './card.ts'
import { type Ear, hearken } from './ear.ts'
import { childrenOf, openFiles, threads } from './processes.ts'
import { upTo } from './signal.ts'

const EVERY_MS = 10_000
const off = { enabled: false }
const on = { enabled: true }
const UNTOUCHED = {
  ...{ compressor: off, deesser: off, denoise: off, gate: off, highpass: off, keepRaw: false, loudnorm: off },
  lowpass: off,
}
const CHAIN = { ...UNTOUCHED, highpass: on, loudnorm: on }

/** What is recorded in turn: seconds, channels, profile. */
const TAKES = [
  { channels: 2, profile: { codec: 'mp3', enhancement: UNTOUCHED }, seconds: 20 },
  { channels: 8, profile: { chunkSeconds: 5, codec: 'wav', enhancement: UNTOUCHED }, seconds: 22 },
  {
    channels: 2,
    profile: { codec: 'mp3', enhancement: { ...CHAIN, denoise: { ...on, engine: 'rnnoise' } } },
    seconds: 8,
  },
  {
    channels: 2,
    profile: { codec: 'flac', enhancement: { ...CHAIN, denoise: { ...on, engine: 'deepfilternet3' } } },
    seconds: 8,
  },
]

interface Place {
  agent: Agent
  controller: Controller
  device: string
  nodeId: string
  profiles: string[]
  /** Channels of the device. */
  width: number
}

async function settle(house: House, cards: Cards | undefined): Promise<Place> {
  const controller = await (await new Controller(house).start()).login()
  const { id: nodeId, token } = await controller.enroll('soaked')
  const env = { SVC_CONTROLLER_TOKEN: token, SVC_CONTROLLER_URL: controller.url, SVC_NODE_ID: nodeId }
  const agent = new Agent(house, { ...env, ...cards?.env }).start()
  await controller.online(nodeId)
  const { interfaces } = await controller.get(`/nodes/${nodeId}`)
  const device = interfaces.find((one: Interface) => ['Desk', 'test:tone'].includes(one.systemName)) as Interface
  const profiles: string[] = []
  for (const [n, { profile }] of TAKES.entries())
    profiles.push((await controller.post('/settings/recording-profiles', { name: `Soak ${n}`, ...profile })).id)
  return { agent, controller, device: device.id, nodeId, profiles, width: device.channelCount }
}

/** One take after the other, each begun as soon as the card is free; counts those that arrived whole. */
async function record(
  { controller, device, nodeId, profiles, width }: Place,
  over: () => boolean,
  count: { takes: number },
) {
  const arriving: Promise<void>[] = []
  for (let n = 0; !over(); n++) {
    const { channels, seconds } = TAKES[n % TAKES.length]!
    const wish = {
      captureChannelSelection: upTo(Math.min(channels, width)),
      captureInterfaceId: device,
      channelMode: Math.min(channels, width) > 2 ? 'multichannel' : 'stereo',
      durationSeconds: seconds,
      nodeId,
      recordingProfileId: profiles[n % profiles.length],
    }
    const taken = await until('the card to be free', async () => {
      const { json, status } = await controller.ask('POST', '/recordings', wish)
      if (status !== 409) assert.equal(status, 202, JSON.stringify(json))
      return status === 202 ? (json as { data: Recording; job: Job }) : undefined
    })
    arriving.push(arrives(controller, taken.data.id, taken.job.id, seconds).then(() => void count.takes++))
    await Promise.race([sleep(seconds * 1000 + 500), Promise.all(arriving)])
  }
  await Promise.all(arriving)
}

/** Waits for it, looks at its length, and lets it go. */
async function arrives(controller: Controller, id: string, jobId: string, seconds: number): Promise<void> {
  await controller.delivered(id, jobId, 180)
  const recording = await until('its file', async () => {
    const recording: Recording = await controller.get(`/recordings/${id}`)
    return recording.cached ? recording : undefined
  })
  assert.ok(Math.abs(recording.durationSeconds - seconds) < 0.2, `${recording.durationSeconds} s instead of ${seconds}`)
  await controller.ask('DELETE', `/recordings/${id}`)
}

interface Sample {
  [column: string]: number
}

const field = (pid: number, name: string): number =>
  Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(fs.readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1]) /
  1024

function look(name: string, { child: { pid } }: Program): Sample {
  return {
    [`${name} MiB`]: field(pid!, 'Rss'),
    [`${name} private`]: field(pid!, 'Private_Dirty') + field(pid!, 'Private_Clean'),
    [`${name} files`]: openFiles(pid!),
    [`${name} threads`]: threads(pid!),
    [`${name} children`]: childrenOf(pid!).length,
  }
}

const say = (line: string): void => void process.stdout.write(`${line}\n`)
const median = (values: number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN

/** Of a column: the second quarter of the time, behind the warm-up, against the last one. */
function judge(name: string, values: number[]): { flat: boolean; line: string } {
  const quarter = Math.max(1, Math.floor(values.length / 4))
  const [early, late] = [median(values.slice(quarter, 2 * quarter)), median(values.slice(-quarter))]
  // A heap breathes; a tenth, or 8 MiB, between two medians is no slope. Handles come and go with the takes.
  const flat = late <= early + Math.max(early / 10, / (MiB|private)$/.test(name) ? 8 : 4)
  const numbers = [early, late, Math.max(...values)].map((value) => value.toFixed(1).padStart(9))
  return { flat, line: `${name.padEnd(22)}${numbers.join('')}  ${flat ? 'flat' : 'GROWS'}` }
}

function verdict(samples: Sample[], takes: number, ear: Ear, seconds: number): boolean {
  const judged = Object.keys(samples[0]!).map((name) =>
    judge(
      name,
      samples.map((sample) => sample[name]!),
    ),
  )
  say(`\n${''.padEnd(22)}  2nd qrt  last qrt       max`)
  for (const { line } of judged) say(line)
  const heard = ear.seconds / seconds
  const gapless = heard > 0.98 && ear.breaks === 0
  say(`takes that arrived: ${takes}`)
  say(
    `listener: ${ear.seconds.toFixed(1)} s heard in ${seconds.toFixed(1)} s, ${ear.breaks} breaks, ${ear.ends} ends of the stream`,
  )
  const flat = judged.every((one) => one.flat)
  say(`${flat ? 'FLAT' : 'GROWS'}, ${gapless ? 'GAPLESS' : 'GAPS'}`)
  return flat && gapless
}

async function soak(minutes: number, card: boolean): Promise<boolean> {
  const house = await House.open(await executable())
  const cards = card ? await Cards.lay(house.path('cards')) : undefined
  try {
    const place = await settle(house, cards)
    const { agent, controller, nodeId } = place
    const end = performance.now() + minutes * 60_000
    const over = () => performance.now() > end
    const ear = hearken(controller, nodeId, over)
    const from = performance.now()
    const count = { takes: 0 }
    const recording = record(place, over, count)
    const samples: Sample[] = []
    for (; !over(); await Promise.race([sleep(EVERY_MS), recording])) {
      samples.push({ ...look('agent', agent.program), ...look('controller', controller.program) })
      const numbers = Object.values(samples.at(-1)!).map((value) => value.toFixed(0))
      const seconds = ((performance.now() - from) / 1000).toFixed(0)
      say(
        [seconds, ...numbers, `takes ${count.takes}`, `heard ${ear.seconds.toFixed(0)}`, `breaks ${ear.breaks}`].join(
          '\t',
        ),
      )
    }
    const elapsed = (performance.now() - from) / 1000
    await ear.done
    await recording
    return verdict(samples, count.takes, ear, elapsed)
  } catch (e) {
    say(house.said().slice(-4000))
    throw e
  } finally {
    await house.close()
    await cards?.close()
  }
}

const { values } = parseArgs({
  options: { card: { default: false, type: 'boolean' }, minutes: { default: '120', type: 'string' } },
})
process.exitCode = (await soak(Number(values.minutes), values.card)) ? 0 : 1
