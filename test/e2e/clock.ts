// The wall clock of the box jumps while recorders work. As a program, with ten random jumps in a minute:
// scripts/node test/e2e/clock.ts --rounds 10 [--seed N] [--kind both] [--together 1]
import assert from 'node:assert/strict'
import { mulberry32 } from '../kit/random.ts'
import { WallClock } from '../kit/wallclock.ts'
import { Agent, Controller, House, until } from '../kit/whole.ts'
import { runRounds } from './rounds.ts'
import { framesOf, readWav } from './sound.ts'

/** Whose clock jumps. */
export const KINDS = ['controller', 'both'] as const
export type Kind = (typeof KINDS)[number]

const [MINUTE, HOUR, DAY] = [60, 3600, 86_400]
/** Seconds. */
const NAMED: [string, number][] = [
  ['+1 h', HOUR],
  ['+1 d', DAY],
  ['+1 y', 365 * DAY],
  ['-10 min', -10 * MINUTE],
  ['-1 d', -DAY],
]
const RATE = 48_000

const EVERY_SECOND = ['job-lease', 'schedule', 'upload', 'watchdog']
const SECOND = {
  SVC_RECORDING_JOB_LEASE_RUNNER_INTERVAL_SECONDS: '1',
  SVC_SCHEDULE_RUNNER_INTERVAL_SECONDS: '1',
  SVC_UPLOAD_RUNNER_INTERVAL_SECONDS: '1',
  SVC_WATCHDOG_RUNNER_INTERVAL_SECONDS: '1',
}
/** Passes that are waited for after each jump. */
const PASSES = 3

interface State {
  cpuSeconds: number
  /** Longest delay of the event loop since the look before, ms. */
  delayMs: number
  passes: number[]
}

interface Place {
  controller: Controller
  house: House
  nodeId: string
  profileId: string
  scheduleId: string
  wall: WallClock
}

async function stateOf({ controller }: Place): Promise<State> {
  const response = await fetch(`${controller.url}/metrics`, {
    headers: { authorization: `Bearer ${controller.session}` },
  })
  const text = await response.text()
  const value = (name: string): number => Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1])
  return {
    cpuSeconds: value('process_cpu_seconds_total'),
    delayMs: value('nodejs_eventloop_lag_max_seconds') * 1000,
    passes: EVERY_SECOND.map((name) => value(`svc_background_runner_passes_total{runner="${name}"}`)),
  }
}

/** Waits until every runner has made some passes more; what that took of the processor and of the loop. */
async function somePasses(place: Place, what: string): Promise<{ cpuSeconds: number; delayMs: number }> {
  const before = await stateOf(place)
  return until(`all runners to make ${PASSES} passes ${what}`, async () => {
    const { cpuSeconds, delayMs, passes } = await stateOf(place)
    const all = passes.every((n, i) => n >= (before.passes[i] ?? 0) + PASSES)
    return all ? { cpuSeconds: cpuSeconds - before.cpuSeconds, delayMs } : undefined
  })
}

async function settle(kind: Kind, house: House): Promise<Place> {
  const wall = new WallClock(house.path('wall'))
  const controller = await new Controller(house, { ...SECOND, ...wall.env }).start()
  await controller.login()
  const { id: nodeId, token } = await controller.enroll('clock')
  const env = { SVC_CONTROLLER_URL: controller.url, SVC_NODE_ID: nodeId, SVC_CONTROLLER_TOKEN: token }
  new Agent(house, { ...env, ...(kind === 'both' ? wall.env : {}) }).start()
  await controller.online(nodeId)
  // Of a recorder that never comes: what is made of the schedule stays queued.
  const other = await controller.enroll('away', {
    interfaces: [
      {
        alias: 'Desk',
        backend: 'alsa',
        channelCount: 2,
        sampleRates: [RATE],
        systemName: 'Desk',
        systemRef: 'hw:Desk',
      },
    ],
  })
  const schedule = await controller.post('/schedules', {
    ...{ name: 'Daily', nodeId: other.id, room: 'Hall', timezone: 'UTC', recordingProfileId: 'voice-mp3-vbr' },
    recurrence: { endTime: '11:00', interval: 1, mode: 'daily', startTime: '10:00' },
    ...{ folderTemplate: 'Scheduled', titleTemplate: '{{schedule.name}}' },
    retentionPolicyId: 'retention-keep-controller-cache',
    watchdogPolicyId: 'scheduled-voice-watchdog',
  })
  const profileId = await controller.plainProfile('wav')
  return { controller, house, nodeId, profileId, scheduleId: schedule.id, wall }
}

/** Occurrences that were started, and the recordings made of them. */
async function madeOf({ controller, scheduleId }: Place): Promise<{ occurrences: string[]; recordings: number }> {
  const rows = await controller.trail({ action: 'schedules.due_run.succeeded' })
  const { json, status } = await controller.ask('GET', `/recordings?scheduleId=${scheduleId}`)
  assert.equal(status, 200, JSON.stringify(json))
  return { occurrences: rows.map((row) => String(row.details.occurrenceAt)), recordings: json.meta.total }
}

/** To ten seconds before or after the next start of the schedule. */
const untilTen = (wall: WallClock, more: number): number => {
  const ten = (Math.floor(wall.now() / 1000 / DAY) + 1) * DAY + 10 * HOUR
  return ten + more - Math.floor(wall.now() / 1000)
}

async function jumped(place: Place, name: string, seconds: number, quiet: number): Promise<string> {
  place.wall.put(seconds)
  const { cpuSeconds, delayMs } = await somePasses(place, `after ${name}`)
  // Work, not time: a loop that walks the seconds between two times burns a processor for as long as it does.
  assert.ok(
    cpuSeconds < 4 * quiet + 1,
    `${name} cost ${cpuSeconds.toFixed(2)} s of the processor, ${quiet.toFixed(2)} s without`,
  )
  const node = await place.controller.get(`/nodes/${place.nodeId}`)
  assert.notEqual(node.status, 'offline', `after ${name}`)
  return `${name}: ${cpuSeconds.toFixed(2)} s of the processor, at most ${delayMs.toFixed(0)} ms of delay`
}

/** A daily schedule over its start, back over it, and into the next day: each occurrence once. */
async function schedule(place: Place): Promise<void> {
  const { wall } = place
  // A random jump may have met its hour before.
  const before = (await madeOf(place)).recordings
  wall.put(untilTen(wall, -2))
  await until('the schedule to start', async () => (await madeOf(place)).recordings === before + 1)
  for (const [what, seconds] of [
    ['back over the start', -HOUR],
    ['into the slot again', HOUR + 5 * MINUTE],
    ['back again', -10 * MINUTE],
  ] as const) {
    wall.put(seconds)
    await somePasses(place, what)
    assert.equal((await madeOf(place)).recordings, before + 1, what)
  }
  wall.put(untilTen(wall, 5 * MINUTE))
  await until('the next day to start, late', async () => (await madeOf(place)).recordings === before + 2)
}

async function play(place: Place, count: number, random: () => number, tell: (line: string) => void): Promise<void> {
  const { controller, nodeId, profileId } = place
  const rest = await somePasses(place, 'without a jump')
  tell(`no jump: ${rest.cpuSeconds.toFixed(2)} s of the processor, at most ${rest.delayMs.toFixed(0)} ms of delay`)
  const jumps: [string, number][] = [...NAMED]
  for (let n = 0; n < count; n++) {
    const seconds = Math.round((random() * 2 - 1) ** 5 * 400 * DAY)
    jumps.push([`${seconds} s`, seconds])
  }
  const seconds = 10 + 4 * jumps.length
  const take = await controller.record(nodeId, profileId, seconds)
  await until(
    'the job to run',
    async () => (await controller.get(`/recording-jobs/${take.job.id}`)).status === 'running',
  )
  for (const [name, by] of jumps) {
    tell(await jumped(place, name, by, rest.cpuSeconds))
    const job = await controller.get(`/recording-jobs/${take.job.id}`)
    assert.ok(
      ['running', 'completed'].includes(job.status),
      `${name}: the job is ${job.status} ${job.failureReason ?? ''}`,
    )
  }
  const { id } = await controller.delivered(take.recording.id, take.job.id, seconds + 60)
  assert.equal(framesOf(readWav(await controller.file(id))), seconds * RATE)
  await schedule(place)
  const { occurrences, recordings } = await madeOf(place)
  assert.equal(new Set(occurrences).size, occurrences.length, occurrences.join(' '))
  assert.equal(recordings, occurrences.length)
  const offline = await controller.get(`/health-events?nodeId=${nodeId}&type=watchdog.node_offline`)
  assert.deepEqual(offline, [])
  tell(`${seconds} s of audio are here, ${occurrences.length} occurrences made one recording each`)
}

/** All named jumps, and `count` random ones. */
export async function rounds(kind: Kind, count: number, seed: number, tell: (line: string) => void): Promise<void> {
  const house = await House.open()
  try {
    const place = await settle(kind, house)
    await play(place, count, mulberry32(seed + KINDS.indexOf(kind)), (line) => tell(`${kind} seed=${seed} ${line}`))
  } catch (e) {
    ;(e as Error).message += `\n${kind}, seed ${seed}\n${house.said().slice(-6000)}`
    throw e
  } finally {
    await house.close()
  }
}

if (import.meta.main) await runRounds(KINDS, rounds)
