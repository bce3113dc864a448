// The controller changes from box to box while everything records: no second is lost, no schedule runs twice. As a program:
// scripts/node test/e2e/takeover.campaign.ts [--rounds 20] [--seed N] [--kind cut] [--together 1]
import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Job, Recording } from '../../src/wire/recordings.ts'
import { executable } from '../kit/executable.ts'
import { freePort } from '../kit/prometheus.ts'
import { mulberry32 } from '../kit/random.ts'
import { s3Server } from '../kit/s3.ts'
import { Agent, Controller, House, until } from '../kit/whole.ts'
import { Box, sharedBy } from './boxes.ts'
import { runRounds } from './rounds.ts'
import { assertExact, framesOf, readWav } from './sound.ts'
import { type Cable, layCable } from './tcpproxy.ts'
import { gapsInLog } from './told.ts'

/** `cut`: nobody reaches the box any more, nor it the bucket, and it runs on. `frozen`: it stands still, and wakes. */
export const KINDS = ['cut', 'frozen', 'kill', 'planned'] as const
export type Kind = (typeof KINDS)[number]

const RECORDERS = 3
const RATE = 48_000
/** Longer than a takeover on a busy machine: every take goes on through it. */
const SECONDS = 60
/** So long before the end of the takes it has begun at the latest, and so much of them is known to the other box. */
const LATEST_MS = 12_000
const NOWHERE = 'http://127.0.0.1:1'

/** A box, and the lines to it: of people and recorders, and its own to the bucket. */
interface Side {
  box: Box
  bucket: Cable
  front: Cable
}

interface Recorder {
  agent: Agent
  device: string
  nodeId: string
}

interface Place {
  /** A client of the box that serves. */
  client: (side: Side) => Promise<Controller>
  endpoint: string
  kind: Kind
  profileId: string
  random: () => number
  recorders: Recorder[]
  /** The one that serves, then the other one. */
  sides: [Side, Side]
  words: () => string
}

interface Take {
  job: Job
  recorder: Recorder
  recording: Recording
}

interface Round {
  /** Between the takes' beginning and the trouble. */
  atMs: number
  /** A schedule begins so long after the trouble, negative: before it. */
  scheduleMs: number
}

const plan = (random: () => number): Round => ({
  atMs: Math.round(random() * (SECONDS * 1000 - LATEST_MS - 8000)),
  scheduleMs: Math.round(random() * 16_000 - 4000),
})

async function sideOf(house: House, name: string, endpoint: string): Promise<Side> {
  const [bucket, front, port] = [await layCable(), await layCable(), await freePort()]
  bucket.target = endpoint
  const box = new Box(house, name, port, sharedBy({ endpoint: bucket.url }), front.url)
  front.target = box.url
  return { box, bucket, front }
}

async function recorderOf(house: House, controller: Controller, [one, two]: Side[], n: number): Promise<Recorder> {
  const { id: nodeId, token } = await controller.enroll(`recorder ${n}`)
  const agent = new Agent(
    house,
    {
      SVC_CONTROLLER_READ_TIMEOUT_MS: '3000',
      SVC_CONTROLLER_STANDBY_URL: two!.front.url,
      SVC_CONTROLLER_TOKEN: token,
      SVC_CONTROLLER_URL: one!.front.url,
      SVC_HEARTBEAT_SECONDS: '1',
      SVC_NODE_ID: nodeId,
    },
    [],
    `agent-${n}`,
  ).start()
  const { id: device } = await controller.online(nodeId)
  return { agent, device, nodeId }
}

/** `undo` gets what ends it all, in the order of making. */
async function settle(kind: Kind, random: () => number, undo: (() => unknown)[]): Promise<Place> {
  const house = await House.open(await executable())
  undo.push(() => house.close())
  const s3 = await s3Server({ keeps: true })
  undo.push(() => s3.close())
  const sides: Place['sides'] = [await sideOf(house, 'one', s3.endpoint), await sideOf(house, 'two', s3.endpoint)]
  for (const { bucket, front } of sides) undo.push(() => Promise.all([bucket.close(), front.close()]))
  await sides[0].box.run('controller')
  await sides[1].box.run('standby')
  const client = (side: Side) => new Controller(house).at(side.box.url).login()
  const controller = await client(sides[0])
  const profileId = await controller.plainProfile('wav')
  const recorders: Recorder[] = []
  for (let n = 0; n < RECORDERS; n++) recorders.push(await recorderOf(house, controller, sides, n))
  return { client, endpoint: s3.endpoint, kind, profileId, random, recorders, sides, words: () => house.said() }
}

/** A slot of a few seconds, on the last recorder; every other one records already. */
async function scheduled(controller: Controller, { profileId, recorders }: Place, inMs: number): Promise<string> {
  const { device, nodeId } = recorders.at(-1)!
  const schedule = await controller.post('/schedules', {
    captureInterfaceId: device,
    folderTemplate: 'lectures',
    name: `Lecture ${crypto.randomUUID()}`,
    nodeId,
    recordingProfileId: profileId,
    recurrence: { durationSeconds: SECONDS, mode: 'once', startsAt: new Date(Date.now() + inMs).toISOString() },
    room: 'Hall',
    timezone: 'UTC',
    titleTemplate: 'Lecture',
  })
  return schedule.id
}

const unreachable = (side: Side): void => {
  for (const cable of [side.bucket, side.front]) {
    cable.target = NOWHERE
    cable.cut()
  }
}

function reachable({ box, bucket, front }: Side, endpoint: string): void {
  bucket.target = endpoint
  front.target = box.url
}

async function fenced({ box }: Side): Promise<void> {
  await until('the box to know that it is no longer the controller', async () => {
    // While it changes its part nothing listens.
    const status = await box.status().catch(() => undefined)
    return status?.role === 'fenced'
  })
}

/** The other box takes over; then the first one follows, whatever had become of it. */
const TROUBLES: Record<Kind, (place: Place, old: Side, next: Side) => Promise<void>> = {
  cut: async ({ endpoint }, old, next) => {
    unreachable(old)
    await taken(next, '--unplanned')
    reachable(old, endpoint)
    await fenced(old)
    await old.box.stop()
  },
  frozen: async (_, old, next) => {
    old.box.signal('SIGSTOP')
    await taken(next, '--unplanned')
    old.box.signal('SIGCONT')
    await fenced(old)
    await old.box.stop()
  },
  kill: async (_, old, next) => {
    await old.box.lose()
    await taken(next, '--unplanned')
  },
  planned: async (_, old, next) => {
    await taken(next)
    await old.box.stop()
  },
}

async function taken({ box }: Side, ...args: string[]): Promise<void> {
  const { code, said } = await box.takeover(...args)
  assert.equal(code, 0, said + box.said())
}

/** Whole, sample for sample, and without a gap. */
async function verify(controller: Controller, { job, recorder, recording: { id } }: Take): Promise<void> {
  await controller.delivered(id, job.id, 180)
  const heard = readWav(await controller.file(id))
  assert.deepEqual(gapsInLog(recorder.agent, job.id), [])
  assert.equal(framesOf(heard), SECONDS * RATE, `${id} is as long as it was to be`)
  assertExact(heard, id)
  await until('the agent to let go of the take', () => !fs.existsSync(`${recorder.agent.dir}/takes/${job.id}`))
}

/** The slot has one take, which began late at most; gives by how much, seconds. */
async function once(controller: Controller, scheduleId: string, { agent }: Recorder): Promise<number> {
  const made = async (): Promise<Recording[]> =>
    (await controller.get('/recordings?limit=500')).filter((one: Recording) => one.scheduleId === scheduleId)
  const recording = await until('the slot to be recorded', async () => (await made())[0], 90)
  const jobs: Job[] = await controller.get(`/recording-jobs?search=${recording.id}`)
  assert.equal(jobs.length, 1)
  await controller.delivered(recording.id, jobs[0]!.id, 180)
  assert.equal((await made()).length, 1, 'one take for one slot')
  const heard = readWav(await controller.file(recording.id))
  assert.deepEqual(gapsInLog(agent, jobs[0]!.id), [])
  assertExact(heard, recording.id)
  return SECONDS - framesOf(heard) / RATE
}

/** One round; says how it went. */
async function play(place: Place, { atMs, scheduleMs }: Round, name: string): Promise<string> {
  const { client, kind, profileId, recorders, sides } = place
  const [old, next] = sides
  const before = await client(old)
  const takes: Take[] = []
  for (const recorder of recorders.slice(0, -1)) {
    const wish = { captureInterfaceId: recorder.device, name: `${name}-${recorder.nodeId}` }
    takes.push({ ...(await before.record(recorder.nodeId, profileId, SECONDS, wish)), recorder })
  }
  for (const { job, recorder } of takes) await recorder.agent.capturing(job.id)
  const began = performance.now()
  const scheduleId = await scheduled(before, place, Math.max(1500, atMs + scheduleMs))
  // What is asked for this moment is in no copy yet.
  await next.box.caughtUp()
  await sleep(Math.max(0, atMs - (performance.now() - began)))
  // What has arrived is on the old box alone: that is another question than this one.
  assert.ok(
    (performance.now() - began) / 1000 < SECONDS - 5,
    'this machine is too busy: the takes end before the trouble',
  )
  const struck = performance.now()
  await TROUBLES[kind](place, old, next)
  const seconds = ((performance.now() - struck) / 1000).toFixed(1)
  const after = await client(next)
  for (const take of takes) await verify(after, take)
  const late = await once(after, scheduleId, recorders.at(-1)!)
  await old.box.run('standby')
  await old.box.caughtUp()
  sides.reverse()
  return `struck after ${((struck - began) / 1000).toFixed(1)} s, over after ${seconds} s, the slot began ${late.toFixed(1)} s late`
}

export async function rounds(kind: Kind, count: number, seed: number, tell: (line: string) => void): Promise<void> {
  const random = mulberry32(seed + KINDS.indexOf(kind))
  const undo: (() => unknown)[] = []
  try {
    const place = await settle(kind, random, undo)
    for (let number = 0; number < count; number++) {
      const round = plan(random)
      const line = `${number} seed=${seed} ${kind} ${JSON.stringify(round)}`
      const found = await play(place, round, `round-${number}`).catch((e: Error) => {
        e.message = `${line}: ${e.message}\n${place.words().slice(-8000)}`
        throw e
      })
      tell(`${line}: ${found}`)
    }
  } finally {
    for (const step of undo.reverse()) await step()
  }
}

if (import.meta.main) await runRounds(KINDS, rounds)
