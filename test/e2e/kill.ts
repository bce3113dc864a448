// kill -9 at random moments. As a program: scripts/node test/e2e/kill.ts [--rounds 20] [--seed N] [--kind agent/render]
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { besideManifest } from '../../src/wire/manifests.ts'
import type { Job, Recording } from '../../src/wire/recordings.ts'
import { executable } from '../kit/executable.ts'
import { mulberry32 } from '../kit/random.ts'
import { framesOnDisk } from '../kit/take.ts'
import { Agent, Controller, filesBelow, House, until } from '../kit/whole.ts'
import { runRounds } from './rounds.ts'
import { assertClose, assertExact, decode, framesOf, type Gap, readWav } from './sound.ts'
import { type Cable, layCable } from './tcpproxy.ts'

export const KINDS = [
  'agent/capture',
  'agent/render',
  'agent/upload',
  'controller/capture',
  'controller/claim',
  'controller/upload',
  // One box for everything, and its power goes.
  'both/capture',
  'both/upload',
] as const
export type Kind = (typeof KINDS)[number]

type Victim = 'agent' | 'both' | 'controller'

const SECONDS = 3
const RATE = 48_000
const CHANNELS = 2
const WHOLE = SECONDS * RATE
/** With these a cut-off agent loses its lease within 7 s: long absences end in a late delivery. */
const LEASE = { SVC_RECORDING_JOB_LEASE_RUNNER_INTERVAL_SECONDS: '2', SVC_RECORDING_JOB_LEASE_SECONDS: '5' }
const LONG_ABSENCE_MS = 8500
/** Bytes per second of a cable that needs a second for a take, so that an upload can be met half way. */
const SLOW = { mp3: 25_000, wav: 500_000 }

interface Round {
  absenceMs: number
  /** It is killed once more so long after its return. */
  againMs: number | undefined
  codec: 'mp3' | 'wav'
  delayMs: number
  kind: Kind
  slow: boolean
}

interface Place {
  agent: Agent
  cable: Cable
  controller: Controller
  house: House
  nodeId: string
  profiles: Record<'mp3' | 'wav', string>
}

interface Take {
  job: Job
  recording: Recording
}

/** What the kill met. */
interface Struck {
  /** Frames on the agent's disk at that moment; the whole take where they were all there, or all to come. */
  frames: number
  /** The agent's note about the job. */
  state: string
}

function plan(kind: Kind, number: number, random: () => number): Round {
  const [, phase] = kind.split('/')
  const slow = phase === 'upload' && random() < 0.7
  const span = { capture: SECONDS * 1000 - 200, claim: 80, render: 150, upload: slow ? 1200 : 60 }[phase!]!
  const long = number % 3 === 2
  // A take without one sample ends with its lease: nothing is there to come late.
  const delayMs = Math.max(Math.round(random() * span), long && phase === 'capture' ? 100 : 0)
  const absenceMs = long ? LONG_ABSENCE_MS : Math.round(random() * 800)
  // Only a codec has something to render.
  const codec = phase === 'render' || number % 2 === 1 ? 'mp3' : 'wav'
  // Not where the agent dies in its capture: one gap is what can be held against the source.
  const again = random() < 0.3 && (phase !== 'capture' || kind === 'controller/capture')
  return { absenceMs, againMs: again ? Math.round(random() * 1200) : undefined, codec, delayMs, kind, slow }
}

async function settle(roomtone: string): Promise<Place> {
  const house = await House.open(roomtone)
  const controller = await (await new Controller(house, LEASE).start()).login()
  const cable = await layCable()
  cable.target = controller.url
  const { id: nodeId, token } = await controller.enroll('kill')
  const agent = new Agent(house, {
    SVC_CONTROLLER_TOKEN: token,
    SVC_CONTROLLER_URL: cable.url,
    SVC_HEARTBEAT_SECONDS: '1',
    SVC_JOB_POLL_SECONDS: '1',
    SVC_NODE_ID: nodeId,
  })
  agent.start()
  await controller.online(nodeId)
  const profiles = { mp3: await controller.plainProfile('mp3'), wav: await controller.plainProfile('wav') }
  return { agent, cable, controller, house, nodeId, profiles }
}

/** Asks for the take; a controller that dies over the request is asked again, unless it had made the recording. */
async function begin(place: Place, { codec, delayMs, kind, absenceMs }: Round, name: string): Promise<Take> {
  const { controller, nodeId, profiles } = place
  const ask = () => controller.record(nodeId, profiles[codec], SECONDS, { name })
  if (kind !== 'controller/claim') return ask()
  const asked = ask().catch(() => undefined)
  await sleep(delayMs)
  await restart(place, 'controller', absenceMs)
  const answered = await asked
  if (answered) return answered
  const recordings: Recording[] = await controller.get(`/recordings?search=${name}`)
  assert.ok(recordings.length <= 1)
  const [recording] = recordings
  if (!recording) return ask()
  const jobs: Job[] = await controller.get(`/recording-jobs?search=${recording.id}`)
  return { job: jobs[0]!, recording }
}

async function restart({ agent, cable, controller }: Place, who: Victim, absenceMs: number) {
  const victims = { agent: [agent], both: [agent, controller], controller: [controller] }[who]
  for (const how of await Promise.all(victims.map(({ program }) => program.end('SIGKILL'))))
    assert.deepEqual(how, [null, 'SIGKILL'])
  await sleep(absenceMs)
  if (who !== 'controller') agent.start()
  if (who !== 'agent') cable.target = (await controller.start()).url
}

const ORDER = ['claimed', 'capturing', 'captured', 'rendered', 'uploading', 'uploaded']

const takesOf = ({ controller }: Place): string => `${controller.data}/recordings`

/** Resolves in the phase that is to be hit; one that was over before it was seen leaves a moment like others. */
async function phase(place: Place, kind: Kind, { job, recording }: Take): Promise<void> {
  const atLeast = (status: string) => ORDER.indexOf(place.agent.state(job.id)?.status ?? '') >= ORDER.indexOf(status)
  const arriving = () => filesBelow(takesOf(place)).some((file) => file.includes(recording.id))
  const reached: Record<string, () => boolean> = {
    capture: () => atLeast('capturing'),
    render: () => atLeast('captured'),
    upload: arriving,
  }
  const here = reached[kind.split('/')[1]!]!
  const end = performance.now() + 120_000
  while (!here() && !arriving()) {
    assert.ok(performance.now() < end, `waited for ${kind}`)
    await sleep(2)
  }
}

/** Kills, waits, starts again. */
async function strike(place: Place, round: Round, take: Take): Promise<Struck> {
  const { absenceMs, againMs, delayMs, kind } = round
  const [who, what] = kind.split('/') as [Victim, string]
  const again = async () => {
    if (againMs === undefined) return
    await sleep(againMs)
    await restart(place, who, absenceMs)
  }
  if (kind === 'controller/claim') {
    await again()
    return { frames: WHOLE, state: 'struck while asking' }
  }
  await phase(place, kind, take)
  const began = performance.now()
  await sleep(delayMs)
  const seconds = (performance.now() - began) / 1000
  const restarted = restart(place, who, absenceMs)
  const frames = who !== 'controller' && what === 'capture' ? await cutOff(place, take, seconds) : WHOLE
  const state = place.agent.state(take.job.id)?.status ?? 'let go'
  await restarted
  await again()
  return { frames, state }
}

/** What a killed agent left on its disk: everything up to the last second. Without a single frame the take begins again. */
async function cutOff(place: Place, take: Take, seconds: number): Promise<number> {
  await place.agent.program.exited
  const file = place.agent.takeFile(take.job.id)
  const frames = fs.existsSync(file) ? framesOnDisk(file, 2 * CHANNELS) : WHOLE
  const least = Math.min(WHOLE, (seconds - 1) * RATE)
  assert.ok(frames >= least, `${frames} frames on disk, ${seconds.toFixed(2)} s after the first: a second was lost`)
  return frames === 0 ? WHOLE : frames
}

/** The hole the agent owned up to, if it came back while the take still had time to go. */
function gapOf({ agent }: Place, { job }: Take): Gap | undefined {
  const said = agent.events().filter(({ details }) => details.jobId === job.id)
  const told = said.filter(({ type }) => type === 'agent.recording_job.capture_device_recovered')
  assert.ok(told.length <= 1)
  return told[0]?.details as Gap | undefined
}

/** An agent that found a part of a take on its disk says what becomes of it. */
function assertRecoveryTold({ agent }: Place, { job }: Take): void {
  const said = agent.events().filter(({ details }) => details.jobId === job.id)
  const types = said.map(({ type }) => type)
  assert.ok(types.includes('agent.recording_job.recovered_after_restart'), types.join(', '))
}

/** The audio is whole, or whole but for the time the agent was dead; gives its frames and says the gap. */
async function verify(place: Place, round: Round, take: Take, { frames }: Struck): Promise<string> {
  const { controller } = place
  const { id } = take.recording
  const { cachePath, checksum } = await controller.delivered(id, take.job.id)
  const file = await controller.file(id)
  assert.equal(`sha256:${createHash('sha256').update(file).digest('hex')}`, checksum)
  assert.ok(cachePath?.endsWith(`.${round.codec}`), `${cachePath} is ${round.codec}`)
  const gap = gapOf(place, take)
  const heard = round.codec === 'wav' ? readWav(file) : await decode(file, CHANNELS, RATE)
  assert.deepEqual([heard.channels, heard.rate], [CHANNELS, RATE])
  if (gap) {
    assert.equal(gap.atFrame, frames, 'the gap begins with the last frame on disk')
    assert.ok(gap.seconds >= round.absenceMs / 1000, `${gap.seconds} s of silence for ${round.absenceMs} ms away`)
  }
  if (gap || frames < WHOLE) assertRecoveryTold(place, take)
  const wanted = gap ? WHOLE : frames
  const close = round.codec === 'wav' ? 0 : RATE / 10
  assert.ok(Math.abs(framesOf(heard) - wanted) <= close, `${framesOf(heard)} frames instead of ${wanted}`)
  const gaps = gap ? [gap] : []
  if (round.codec === 'wav') assertExact(heard, id, gaps)
  else assertClose(heard, id, wanted, gaps)
  await tidy(place, take.job.id)
  return `${(framesOf(heard) / RATE).toFixed(2)} s arrived${gap ? `, ${gap.seconds.toFixed(2)} s of it silent` : ''}`
}

/** Nothing is left anywhere but the takes themselves, each named by its recording. */
async function tidy(place: Place, jobId: string): Promise<void> {
  const { agent, controller } = place
  await until('the agent to let go of the take', () => !fs.existsSync(`${agent.dir}/takes/${jobId}`))
  assert.deepEqual(filesBelow(`${agent.dir}/kept`), [])
  const recordings: Recording[] = await controller.get('/recordings?limit=500')
  // A manifest may be under way.
  const stored = () => filesBelow(takesOf(place)).filter((name) => besideManifest(name) === undefined)
  await until('drafts to be gone', () => !stored().some((name) => name.startsWith('.incoming/')))
  assert.deepEqual(stored().sort(), recordings.map((r) => r.cachePath ?? 'none').sort())
  const jobs: Job[] = await controller.get('/recording-jobs?limit=200')
  assert.deepEqual([...new Set(jobs.map((job) => job.status))], ['completed'])
  assert.equal(jobs.length, recordings.length)
}

/** One round; says how it went. */
async function play(place: Place, round: Round, number: number): Promise<string> {
  place.cable.speed = round.slow ? SLOW[round.codec] : undefined
  const take = await begin(place, round, `round-${number}-end`)
  const struck = await strike(place, round, take)
  const arrived = await verify(place, round, take, struck)
  const filters = { action: 'recordings.cache_file.attach.succeeded', target: take.recording.id }
  const late = (await place.controller.trail(filters)).some((row) => row.details.lateDelivery === true)
  return `${struck.state}, ${arrived}${late ? ', after its lease' : ''}`
}

const told = ({ absenceMs, againMs, codec, delayMs, kind, slow }: Round): string =>
  [
    `${kind} ${codec}${slow ? ' slow' : ''} +${delayMs} ms, away ${absenceMs} ms`,
    ...(againMs === undefined ? [] : [`again +${againMs} ms`]),
  ].join(', ')

/** So many kills of one kind in one house, told line by line. Throws with everything needed to do it again. */
export async function rounds(kind: Kind, count: number, seed: number, tell: (line: string) => void): Promise<void> {
  const place = await settle(await executable())
  const random = mulberry32(seed + KINDS.indexOf(kind))
  try {
    for (let number = 0; number < count; number++) {
      const round = plan(kind, number, random)
      const line = `${number} seed=${seed} ${told(round)}`
      const found = await play(place, round, number).catch((e: Error) => {
        e.message = `${line}: ${e.message}\n${place.house.said().slice(-6000)}`
        throw e
      })
      tell(`${line}: ${found}`)
    }
  } finally {
    await place.cable.close()
    await place.house.close()
  }
}

if (import.meta.main) await runRounds(KINDS, rounds)
