// No take is lost, whatever happens to its agent, its disk, its card or its controller. As a program:
// scripts/node test/e2e/neverlose.ts [--rounds 20] [--seed N] [--kind power/chunked] [--together 2] [--minutes 10]
import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { MARKED_HEADER } from '../../src/agent/audio/marks.rules.ts'
import type { Job, Recording } from '../../src/wire/recordings.ts'
import { executable } from '../kit/executable.ts'
import { mulberry32 } from '../kit/random.ts'
import { Agent, Controller, filesBelow, House, until } from '../kit/whole.ts'
import { Cards, missingPackages } from './card.ts'
import { cannotMount, copyAndKill, PowerDisk, SmallDisk } from './disks.ts'
import { childrenOf } from './processes.ts'
import { runRounds } from './rounds.ts'
import { assertSignal, assertTold, type Heard, RATE } from './signal.ts'
import { assertExact, framesOf, type Gap, readWav } from './sound.ts'
import { reached, type Step } from './steps.ts'
import { type Cable, layCable } from './tcpproxy.ts'
import { backAfter, beyond, gapsInLog, gapsKept, type LoggedGap, toldTo } from './told.ts'

export const KINDS = [
  // kill.ts has the plain takes.
  'kill/chunked',
  'kill/enhanced',
  // The disk remembers what was synced, and nothing else.
  'power/plain',
  'power/chunked',
  'power/enhanced',
  // The power goes at a certain step: see `STEPS`.
  'power/plain/create',
  'power/plain/record',
  'power/chunked/border',
  'power/chunked/record',
  'power/chunked/state',
  'power/chunked/output',
  'power/enhanced/border',
  'power/enhanced/output',
  // A copy of the directory, made while everything went on.
  'copy/plain',
  'copy/chunked',
  'full/plain',
  'full/chunked',
  // The program that captures dies, the card plays on.
  'crash/plain',
  'unplug/plain',
  'unplug/chunked',
  'away/plain',
  'away/chunked',
  'lease/plain',
  'lease/chunked',
] as const
export type Kind = (typeof KINDS)[number]
type Trouble = 'away' | 'copy' | 'crash' | 'full' | 'kill' | 'lease' | 'power' | 'unplug'
type Shape = 'chunked' | 'enhanced' | 'plain'

const SECONDS = 6
const CHANNELS = 2
/** Within these a cut-off agent loses its lease. */
const LEASE = { SVC_RECORDING_JOB_LEASE_RUNNER_INTERVAL_SECONDS: '2', SVC_RECORDING_JOB_LEASE_SECONDS: '5' }
const BEYOND_LEASE_MS = 8500
const DISK_BYTES = 24 * 2 ** 20

/** These need a card that makes a sound of its own. */
const SOUNDING = ['crash', 'unplug']

const split = (kind: Kind): [Trouble, Shape, Step?] => kind.split('/') as [Trouble, Shape, Step?]

/** Why a kind cannot be tried on this machine; false when it can. */
export function impossible(kind: Kind, scratch: string): string | false {
  const [trouble] = split(kind)
  if (SOUNDING.includes(trouble)) return missingPackages()
  return (trouble === 'power' || trouble === 'full') && cannotMount(scratch)
}

interface Round {
  absenceMs: number
  /** Which of its steps, from 1, and how long behind it, ms: for kinds that name a step. */
  nth: number
  behindMs: number
  /** After the first sample. */
  atMs: number
  kind: Kind
  seconds: number
}

function plan(kind: Kind, random: () => number, minutes: number): Round {
  const [trouble, shape] = split(kind)
  // Also behind the end of the take: while it is rendered, enhanced and sent.
  const behind = ['copy', 'kill', 'power'].includes(trouble) ? (shape === 'enhanced' ? 3000 : 600) : -500
  const absenceMs = {
    away: minutes * 60_000 || 2000 + Math.round(random() * 4000),
    crash: 0,
    full: 500 + Math.round(random() * 5000),
    lease: BEYOND_LEASE_MS,
  }[trouble as string]
  const seconds = SECONDS + (trouble === 'away' ? Math.ceil(minutes * 60) : 0)
  const atMs = Math.round(random() * (SECONDS * 1000 + behind))
  const step = { behindMs: Math.round(random() * 25), nth: 1 + Math.floor(random() * 4) }
  return { absenceMs: absenceMs ?? Math.round(random() * 1500), atMs, kind, seconds, ...step }
}

interface Place {
  agent: Agent
  cable: Cable
  cards: Cards | undefined
  controller: Controller
  disk: PowerDisk | SmallDisk | undefined
  house: House
  kind: Kind
  nodeId: string
  profileId: string
  random: () => number
}

interface Take {
  job: Job
  recording: Recording
}

/** A profile whose raw audio is the captured one, sample for sample. */
async function profileOf(controller: Controller, shape: Shape): Promise<string> {
  const id = await controller.plainProfile('wav')
  const off = { enabled: false }
  const filters = { compressor: off, deesser: off, denoise: off, gate: off, loudnorm: { enabled: true }, lowpass: off }
  const change = {
    chunked: { chunkSeconds: 1 },
    enhanced: { channelMode: 'stereo', enhancement: { ...filters, highpass: { enabled: true }, keepRaw: true } },
    plain: { name: 'Plain' },
  }[shape]
  await controller.get(`/settings/recording-profiles/${id}`, 'PATCH', change)
  return id
}

function diskOf(trouble: Trouble, house: House): PowerDisk | SmallDisk | undefined {
  fs.mkdirSync(house.path('agent'))
  if (trouble === 'power') return new PowerDisk(house.path('agent.img'), house.path('agent'))
  return trouble === 'full' ? new SmallDisk(house.path('agent'), DISK_BYTES) : undefined
}

/** `undo` gets what ends it all, in the order of making. */
async function settle(kind: Kind, random: () => number, undo: (() => unknown)[]): Promise<Place> {
  const [trouble, shape] = split(kind)
  const house = await House.open(await executable())
  undo.push(() => house.close())
  const disk = diskOf(trouble, house)
  if (disk) undo.push(() => disk.unmount())
  const cards = SOUNDING.includes(trouble) ? await Cards.lay(house.path('cards')) : undefined
  if (cards) undo.push(() => cards.close())
  const controller = await (await new Controller(house, trouble === 'lease' ? LEASE : {}).start()).login()
  const cable = await layCable()
  undo.push(() => cable.close())
  cable.target = controller.url
  const { id: nodeId, token } = await controller.enroll('hardy')
  const agent = new Agent(house, {
    SVC_CAPTURE_STALLED_SECONDS: '2',
    // A controller that does not answer is away before its lease runs out.
    SVC_CONTROLLER_READ_TIMEOUT_MS: '2000',
    SVC_CONTROLLER_TOKEN: token,
    SVC_CONTROLLER_URL: cable.url,
    SVC_HEARTBEAT_SECONDS: '1',
    SVC_JOB_POLL_SECONDS: '1',
    SVC_NODE_ID: nodeId,
    ...cards?.env,
  }).start()
  undo.push(() => agent.program.end('SIGKILL'))
  await controller.online(nodeId)
  const profileId = await profileOf(controller, shape)
  return { agent, cable, cards, controller, disk, house, kind, nodeId, profileId, random }
}

/** What happens in the middle of a take; resolves when everything is as it was. */
const TROUBLES: Record<Trouble, (place: Place, absenceMs: number) => Promise<void>> = {
  away: async ({ cable, controller }, absenceMs) => {
    await controller.program.end('SIGKILL')
    await sleep(absenceMs)
    cable.target = (await controller.start()).url
  },
  copy: async ({ agent, random }, absenceMs) => {
    await copyAndKill(agent.dir, agent.program, random)
    await sleep(absenceMs)
    agent.start()
  },
  crash: async ({ agent }) => {
    // Not the hard way: the JACK server waits seconds for a client that went without a word.
    for (const pid of childrenOf(agent.program.child.pid!, 'arecord')) process.kill(pid, 'SIGTERM')
  },
  full: async ({ disk }, absenceMs) => {
    const small = disk as SmallDisk
    small.fill()
    await sleep(absenceMs)
    small.free()
  },
  kill: async ({ agent }, absenceMs) => {
    assert.deepEqual(await agent.program.end('SIGKILL'), [null, 'SIGKILL'])
    await sleep(absenceMs)
    agent.start()
  },
  /** It does not answer, and its clock goes on. */
  lease: async ({ controller }, absenceMs) => {
    controller.program.child.kill('SIGSTOP')
    await sleep(absenceMs)
    controller.program.child.kill('SIGCONT')
  },
  power: async ({ agent, disk }, absenceMs) => {
    await (disk as PowerDisk).cut(agent.program)
    await sleep(absenceMs)
    agent.start()
  },
  unplug: async ({ cards }, absenceMs) => {
    await cards!.unplug()
    await sleep(absenceMs)
    await cards!.plugIn()
  },
}

/** The raw audio is what was to be heard, whole but for the gaps, which are kept with it; gives its frames. */
async function listen({ cards, controller, house, kind }: Place, { recording: { id } }: Take, gaps: Gap[]) {
  const enhanced = split(kind)[1] === 'enhanced'
  const raw = enhanced ? '?rendition=raw' : ''
  // Chunks are joined, and the raw rendition comes, behind the end of the job.
  let seen: Recording | undefined
  await until('the file', async () => {
    seen = await controller.get(`/recordings/${id}`)
    return seen?.cached && (!enhanced || seen.rawCachePath)
  }).catch((e) => assert.fail(`${e.message}: ${JSON.stringify(seen)}`))
  const response = await controller.raw('GET', `/recordings/${id}/file${raw}`)
  assert.equal(response.status, 200)
  const file = Buffer.from(await response.arrayBuffer())
  const kept = gapsKept(seen!, enhanced ? 'raw' : 'primary')
  if (cards) {
    const at = house.path(`${id}.wav`)
    fs.writeFileSync(at, file)
    const heard = assertSignal(at, [1, 2], id)
    assertTold(heard, gaps, `${id}, the log`)
    assertTold(heard, kept, `${id}, its details`)
    assertTrueLength(kind, gaps, heard)
    return heard.layout.frames
  }
  const heard = readWav(file)
  assert.deepEqual([heard.channels, heard.rate], [CHANNELS, RATE])
  assertExact(heard, id, gaps)
  assertExact(heard, id, kept)
  return framesOf(heard)
}

/** Each gap is as long as the card says that played on meanwhile; one for a clock that stood still is none of the card's. */
function assertTrueLength(kind: Kind, gaps: Gap[], { missed }: Heard): void {
  for (const [n, { seconds }] of gaps.entries()) {
    // Whole seconds do not show: the card repeats itself.
    const error = (((((missed[n] ?? 0) - seconds) % 1) + 1.5) % 1) - 0.5
    const what = `${JSON.stringify(gaps)} told, ${missed} s by the card`
    if (kind === 'crash/plain' && missed[n] !== 0) assert.ok(Math.abs(error) < 0.3, what)
  }
}

/** What the log of the node has to say of each trouble, one word of each at least. */
const STORY: Record<Trouble, RegExp[]> = {
  away: [/control_plane_failed|cache_upload_failed|chunk_upload_failed|node_heartbeat.sync_failed/],
  copy: [/recovered_after_restart/],
  crash: [/capture_device_lost/, /capture_device_recovered/],
  full: [/disk_space/],
  kill: [/recovered_after_restart/],
  lease: [/control_plane_failed|node_heartbeat.sync_failed/],
  power: [/recovered_after_restart/],
  unplug: [/capture_device_(lost|unavailable)/],
}

/** Whether the trouble had to leave its words: a take that had not begun, or was over, may go its way without any. */
function hasStory({ atMs, kind, seconds }: Round): boolean {
  const [trouble] = split(kind)
  const within = atMs > 1000 && atMs < seconds * 1000 - 1000
  return within || !['copy', 'crash', 'kill', 'power'].includes(trouble)
}

/** Every event of the node's log has reached the controller, once. */
async function storyTold({ agent, controller, kind, nodeId }: Place, round: Round, { job }: Take): Promise<void> {
  const own = () => agent.events().map((event) => `${(event as { openedAt?: string }).openedAt} ${event.type}`)
  const ofIt = agent.events().filter(({ details, type }) => details.jobId === job.id || !type.includes('recording_job'))
  if (hasStory(round))
    for (const words of STORY[split(kind)[0]])
      assert.ok(
        ofIt.some(({ type }) => words.test(type)),
        `${words} in ${own().join(', ')}`,
      )
  let missing: string[] = []
  await until('every event to be told', async () => {
    const told = await toldTo(controller, nodeId)
    const logged = own()
    // Two of a kind may fall into one millisecond: what counts is how many there are. What a power cut took from the log
    // may have been told before.
    const twice = beyond(told, logged).filter((line) => logged.includes(line))
    assert.deepEqual(twice, [], 'told twice')
    missing = beyond(logged, told)
    return missing.length === 0
  }).catch((e: Error) => {
    throw new Error(`${e.message}: ${missing.join(', ')}`)
  })
}

/** From the end of an absence until sound is in the take again, ms; of a machine that has other work. */
const RETURN_MS: Partial<Record<Trouble, number>> = {
  // Opened again at once.
  crash: 1000,
  // A silent card is given up after two seconds, and looked for every second.
  unplug: 3500,
}

/** At most the last second before the trouble is missing, and what is not audio is silence of the true length. */
function assertEnough(round: Round, backMs: number | undefined, gaps: LoggedGap[], frames: number): void {
  const { absenceMs, atMs, kind, seconds } = round
  const [trouble] = split(kind)
  const whole = seconds * RATE
  // Behind the end the disk gets some time more, which is not asked for here.
  const roomReturns = trouble === 'full' && atMs + absenceMs < seconds * 1000
  if (trouble === 'away' || trouble === 'lease' || roomReturns) {
    // Neither the controller nor, while there is memory, the disk has anything to do with the capture.
    assert.deepEqual([frames, gaps], [whole, []], `${trouble} costs no sample`)
    return
  }
  const before = Math.min(whole, Math.max(0, atMs / 1000 - 1) * RATE)
  const lostFrom = gaps.find(({ late }) => !late)?.atFrame ?? frames
  assert.ok(lostFrom >= before, `${lostFrom} frames before the trouble at ${atMs} ms`)
  if (trouble === 'full') return
  // Before the first second is on the disk a take may begin again.
  const returned = atMs > 1000 && atMs + (backMs ?? absenceMs) + (RETURN_MS[trouble] ?? 500) < seconds * 1000
  if (gaps.some(({ late }) => !late) || returned) assert.equal(frames, whole, `the take is as long as it was to be`)
  if (returned)
    assert.ok(gaps.reduce((sum, gap) => sum + gap.seconds, 0) >= absenceMs / 1000 - 0.1, 'the gap is as long')
}

async function verify(place: Place, round: Round, take: Take, struckAt: number): Promise<string> {
  const { agent, controller, disk } = place
  await controller.delivered(take.recording.id, take.job.id, 90)
  const gaps = gapsInLog(agent, take.job.id)
  const frames = await listen(place, take, gaps)
  assertEnough(round, backAfter(agent, take.job.id, struckAt), gaps, frames)
  if (disk instanceof SmallDisk && frames < round.seconds * RATE)
    // Told to the controller: on the recorder itself there may be no room to note it.
    await until('the rest to be told as lost', async () => {
      type Told = { severity: string; type: string }
      const events: Told[] = await controller.get('/health-events?limit=200')
      return events.some((e) => e.type === 'agent.recording_job.disk_space_exhausted' && e.severity === 'critical')
    })
  await until('the agent to let go of the take', () => !fs.existsSync(`${agent.dir}/takes/${take.job.id}`))
  assert.deepEqual(filesBelow(`${agent.dir}/kept`), [])
  await storyTold(place, round, take)
  const silent = gaps.map(
    ({ atFrame, seconds }) => `${seconds.toFixed(2)} s silent at ${(atFrame / RATE).toFixed(2)} s`,
  )
  return [`${(frames / RATE).toFixed(3)} s arrived`, ...silent].join(', ')
}

/** Resolves at the moment of the trouble, which is noted in the round where a step decides. */
async function moment(agent: Agent, round: Round, { job }: Take): Promise<void> {
  const [, , step] = split(round.kind)
  if (step === undefined) {
    await agent.capturing(job.id)
    return sleep(round.atMs)
  }
  const file = agent.takeFile(job.id)
  await reached(step, file, round)
  await sleep(round.behindMs)
  const bytes = fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0
  round.atMs = (Math.max(0, bytes - MARKED_HEADER) / (2 * CHANNELS) / RATE) * 1000
}

/** One round; says how it went. */
async function play(place: Place, round: Round, name: string): Promise<string> {
  const { agent, controller, nodeId, profileId } = place
  const device = (await controller.get(`/nodes/${nodeId}`)).interfaces[0].id
  const wish = { captureChannelSelection: [1, 2], captureInterfaceId: device, name }
  const take: Take = await controller.record(nodeId, profileId, round.seconds, wish)
  await moment(agent, round, take)
  const { status } = agent.state(take.job.id) ?? { status: 'let go' }
  const struckAt = Date.now()
  await TROUBLES[split(round.kind)[0]](place, round.absenceMs)
  return `${status}, ${await verify(place, round, take, struckAt)}`
}

export async function rounds(kind: Kind, count: number, seed: number, tell: (line: string) => void, minutes = 0) {
  const random = mulberry32(seed + KINDS.indexOf(kind))
  const undo: (() => unknown)[] = []
  try {
    const place = await settle(kind, random, undo)
    for (let number = 0; number < count; number++) {
      const round = plan(kind, random, minutes)
      const when = split(kind)[2] ? `${round.behindMs} ms behind the ${round.nth}.` : `+${round.atMs} ms`
      const line = `${number} seed=${seed} ${kind} ${when}, away ${round.absenceMs} ms`
      const found = await play(place, round, `round-${number}`).catch((e: Error) => {
        e.message = `${line}: ${e.message}\n${place.house.said().slice(-6000)}`
        throw e
      })
      tell(`${line}: ${found}`)
    }
  } finally {
    for (const step of undo.reverse()) await step()
  }
}

if (import.meta.main) await runRounds(KINDS, rounds)
