// Bad disks, the recorder's and the controller's, lose no take and no row. As a program:
// scripts/node test/e2e/baddisk.ts [--rounds 20] [--seed N] [--kind controller/torn] [--together 2]
import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Job, Recording } from '../../src/wire/recordings.ts'
import { executable } from '../kit/executable.ts'
import { mulberry32 } from '../kit/random.ts'
import { Agent, Controller, filesBelow, House, type Program, until } from '../kit/whole.ts'
import { cannotMount, cannotSlow, PowerDisk } from './disks.ts'
import { missing } from './replicated.ts'
import { runRounds } from './rounds.ts'
import { assertExact, framesOf, readWav } from './sound.ts'
import { type Cable, layCable } from './tcpproxy.ts'
import { backAfter, gapsInLog, gapsKept, type LoggedGap } from './told.ts'

/** neverlose.ts has what fills the recorder's disk and what takes its power. */
export const KINDS = [
  'agent/readonly',
  'agent/slow',
  'agent/stall',
  'agent/torn',
  'controller/full',
  'controller/power',
  'controller/readonly',
  'controller/slow',
  'controller/stall',
  'controller/torn',
] as const
export type Kind = (typeof KINDS)[number]
type Owner = 'agent' | 'controller'
type Trouble = 'full' | 'power' | 'readonly' | 'slow' | 'stall' | 'torn'

const split = (kind: Kind): [Owner, Trouble] => kind.split('/') as [Owner, Trouble]

const SECONDS = 5
const RATE = 48_000
const WHOLE = SECONDS * RATE
const PEOPLE = 3
const DISK_BYTES = 128 * 2 ** 20

/** Why a kind cannot be tried on this machine; false when it can. */
export const impossible = (kind: Kind, scratch: string): string | false =>
  cannotMount(scratch) || (split(kind)[1] === 'slow' && cannotSlow())

interface Round {
  /** After the first sample, ms. */
  atMs: number
  /** Bytes per second of a slow disk. */
  bytesPerSecond: number
  chunked: boolean
  /** How long it lasts; of a power cut, how long the machine is away. */
  forMs: number
}

interface Place {
  agent: Agent
  cable: Cable
  controller: Controller
  disk: PowerDisk
  kind: Kind
  nodeId: string
  people: People
  profiles: Record<'chunked' | 'plain', string>
  random: () => number
  words: () => string
}

interface Take {
  job: Job
  recording: Recording
}

const plan = (kind: Kind, random: () => number): Round => ({
  atMs: Math.round(random() * (SECONDS * 1000 + 600)),
  bytesPerSecond: Math.round(40_000 + random() * 300_000),
  chunked: random() < 0.5,
  forMs: Math.round(300 + random() * (split(kind)[1] === 'slow' ? 8000 : 4000)),
})

/** They make rooms, one request after another each, whatever comes; what was acknowledged is kept in mind. */
class People {
  readonly answers: Record<string, number> = {}
  readonly rooms: string[] = []
  readonly #controller: Controller
  #on = true
  readonly #working: Promise<unknown>

  constructor(controller: Controller) {
    this.#controller = controller
    this.#working = Promise.all(Array.from({ length: PEOPLE }, () => this.#work()))
  }

  async end(): Promise<void> {
    this.#on = false
    await this.#working
  }

  async #work(): Promise<void> {
    while (this.#on) {
      const room = { name: crypto.randomUUID(), site: 'House' }
      // Fetch's own error: the controller is away, or does not answer while its disk stands still.
      const answer = await this.#controller.ask('POST', '/rooms', room).catch(() => undefined)
      const status = answer?.status ?? 0
      this.answers[status] = (this.answers[status] ?? 0) + 1
      if (status === 201) this.rooms.push(answer!.json.data.id)
      await sleep(50)
    }
  }
}

/** `undo` gets what ends it all, in the order of making. */
async function settle(kind: Kind, random: () => number, undo: (() => unknown)[]): Promise<Place> {
  const [owner] = split(kind)
  const house = await House.open(await executable())
  undo.push(() => house.close())
  fs.mkdirSync(house.path(owner))
  const disk = new PowerDisk(house.path(`${owner}.img`), house.path(owner), DISK_BYTES)
  undo.push(() => disk.unmount())
  const controller = await new Controller(house, { SVC_USER_REQUESTS_PER_MINUTE: '10000000' }).start()
  undo.push(() => controller.program.end('SIGKILL'))
  await controller.login()
  const cable = await layCable()
  undo.push(() => cable.close())
  cable.target = controller.url
  const { id: nodeId, token } = await controller.enroll('hardy')
  const agent = new Agent(house, {
    SVC_CONTROLLER_READ_TIMEOUT_MS: '5000',
    SVC_CONTROLLER_TOKEN: token,
    SVC_CONTROLLER_URL: cable.url,
    SVC_HEARTBEAT_SECONDS: '1',
    SVC_JOB_POLL_SECONDS: '1',
    SVC_NODE_ID: nodeId,
  }).start()
  undo.push(() => agent.program.end('SIGKILL'))
  await controller.online(nodeId)
  const profiles = { chunked: await controller.plainProfile('wav'), plain: await controller.plainProfile('wav') }
  await controller.get(`/settings/recording-profiles/${profiles.chunked}`, 'PATCH', { chunkSeconds: 1 })
  const people = new People(controller)
  undo.push(() => people.end())
  return { agent, cable, controller, disk, kind, nodeId, people, profiles, random, words: () => house.said() }
}

const programOf = ({ agent, controller, kind }: Place): Program =>
  split(kind)[0] === 'agent' ? agent.program : controller.program

/** The owner of the disk, as its service manager starts it again. */
async function startAgain({ agent, cable, controller, kind }: Place): Promise<void> {
  if (split(kind)[0] === 'agent') agent.start()
  else cable.target = (await controller.start()).url
}

async function powerCut(place: Place, { forMs }: Round, tear?: () => number): Promise<void> {
  await place.disk.cut(programOf(place), tear)
  await sleep(forMs)
  await startAgain(place)
}

/** What happens in the middle of a take; resolves when everything is as it was. */
const TROUBLES: Record<Trouble, (place: Place, round: Round) => Promise<void>> = {
  full: async ({ disk }, { forMs }) => {
    disk.fill()
    await sleep(forMs)
    disk.free()
  },
  power: (place, round) => powerCut(place, round),
  readonly: async (place, { forMs }) => {
    const { disk } = place
    const { child, end, said } = programOf(place)
    disk.abort()
    await sleep(forMs)
    assert.equal(child.exitCode ?? child.signalCode, null, `it goes on while its disk is read-only: ${said()}`)
    await end('SIGKILL')
    disk.mend()
    await startAgain(place)
  },
  slow: async (place, { bytesPerSecond, forMs }) => {
    const program = programOf(place)
    place.disk.slow(program, bytesPerSecond)
    await sleep(forMs)
    place.disk.slow(program, undefined)
  },
  stall: async ({ disk }, { forMs }) => {
    disk.freeze()
    await sleep(forMs)
    disk.thaw()
  },
  torn: (place, round) => powerCut(place, round, place.random),
}

/** At most the last second before the trouble is missing, and what is not audio is silence of the true length. */
function assertEnough(kind: Kind, round: Round, gaps: LoggedGap[], frames: number, backMs: number | undefined): void {
  const { atMs, forMs } = round
  if (split(kind)[0] === 'controller' || ['slow', 'stall'].includes(split(kind)[1])) {
    assert.deepEqual([frames, gaps], [WHOLE, []], `${kind} costs no sample`)
    return
  }
  const before = Math.min(WHOLE, Math.max(0, atMs / 1000 - 1) * RATE)
  const lostFrom = gaps.find(({ late }) => !late)?.atFrame ?? frames
  assert.ok(lostFrom >= before, `${lostFrom} frames before the trouble at ${atMs} ms`)
  const returned = atMs > 1000 && atMs + (backMs ?? forMs) + 500 < SECONDS * 1000
  if (gaps.some(({ late }) => !late) || returned) assert.equal(frames, WHOLE, 'the take is as long as it was to be')
}

/** The take is what was to be heard; gives its frames and the gaps it owned up to. */
async function listen({ agent, controller }: Place, { job, recording: { id } }: Take) {
  await controller.delivered(id, job.id, 120)
  const recording: Recording = await until('the file', async () => {
    const seen: Recording = await controller.get(`/recordings/${id}`)
    return seen.cached ? seen : undefined
  })
  const heard = readWav(await controller.file(id))
  const gaps = gapsInLog(agent, job.id)
  assertExact(heard, id, gapsKept(recording))
  await until('the agent to let go of the take', () => !fs.existsSync(`${agent.dir}/takes/${job.id}`))
  assert.deepEqual(filesBelow(`${agent.dir}/kept`), [])
  return { frames: framesOf(heard), gaps }
}

/** What people were told is there, in a database that is whole; every take of it has its bytes. */
async function assertWhole({ controller, people }: Place): Promise<void> {
  const recordings: Recording[] = await controller.get('/recordings?limit=500')
  const takes = recordings.map(({ id }) => id)
  const known = { beat: 0, rooms: [...people.rooms], takes }
  assert.deepEqual(missing(path.join(controller.data, 'roomtone.db'), known), [])
  for (const { cachePath } of recordings)
    assert.ok(cachePath && fs.existsSync(path.join(controller.data, 'recordings', cachePath)), `${cachePath} is there`)
  const jobs: Job[] = await controller.get('/recording-jobs?limit=200')
  assert.deepEqual([...new Set(jobs.map(({ status }) => status))], ['completed'])
  assert.equal(jobs.length, recordings.length)
  const odd = Object.keys(people.answers).filter((status) => !['0', '201', '503', '507'].includes(status))
  assert.deepEqual(odd, [], JSON.stringify(people.answers))
}

/** Later rounds find room for theirs. */
async function forget({ controller }: Place, { recording }: Take): Promise<void> {
  const { status } = await controller.ask('DELETE', `/recordings/${recording.id}`)
  assert.ok(status < 300, `deleting answered ${status}`)
}

/** One round; says how it went. */
async function play(place: Place, round: Round, name: string): Promise<string> {
  const { agent, controller, kind, nodeId, people, profiles } = place
  const before = { ...people.answers }
  const profile = profiles[round.chunked ? 'chunked' : 'plain']
  const take: Take = await controller.record(nodeId, profile, SECONDS, { name })
  await agent.capturing(take.job.id)
  await sleep(round.atMs)
  const struckAt = Date.now()
  await TROUBLES[split(kind)[1]](place, round)
  const { frames, gaps } = await listen(place, take)
  assertEnough(kind, round, gaps, frames, backAfter(agent, take.job.id, struckAt))
  await assertWhole(place)
  await forget(place, take)
  const answers = Object.entries(people.answers)
    .map(([status, count]) => [status, count - (before[status] ?? 0)] as const)
    .filter(([, count]) => count > 0)
  const silent = gaps.map(({ seconds }) => `, ${seconds.toFixed(2)} s silent`).join('')
  return `${(frames / RATE).toFixed(3)} s arrived${silent}; rooms: ${answers.map((one) => one.join(' x')).join(', ')}`
}

export async function rounds(kind: Kind, count: number, seed: number, tell: (line: string) => void): Promise<void> {
  const random = mulberry32(seed + KINDS.indexOf(kind))
  const undo: (() => unknown)[] = []
  try {
    const place = await settle(kind, random, undo)
    for (let number = 0; number < count; number++) {
      const round = plan(kind, random)
      const line = `${number} seed=${seed} ${kind} ${JSON.stringify(round)}`
      const found = await play(place, round, `round-${number}`).catch((e: Error) => {
        e.message = `${line}: ${e.message}\n${place.words().slice(-6000)}`
        throw e
      })
      tell(`${line}: ${found}`)
    }
  } finally {
    for (const step of undo.reverse()) await step()
  }
}

if (import.meta.main) await runRounds(KINDS, rounds)
