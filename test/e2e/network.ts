// Bad lines between recorder, controller and storage lose no audio. As a program:
// scripts/node test/e2e/network.ts [--rounds 20] [--seed N] [--kind cut,half] [--together 4]
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { besideManifest } from '../../src/wire/manifests.ts'
import type { Job, Recording } from '../../src/wire/recordings.ts'
import type { UploadItem } from '../../src/wire/uploads.ts'
import { executable } from '../kit/executable.ts'
import { mulberry32 } from '../kit/random.ts'
import { ACCESS_KEY, type S3Server, SECRET_KEY, s3Server } from '../kit/s3.ts'
import { Agent, Controller, filesBelow, House, until } from '../kit/whole.ts'
import { Lines, type Machine, type Weather } from './netns.ts'
import { runRounds } from './rounds.ts'
import { assertExact, framesOf, readWav } from './sound.ts'
import { beyond, toldTo } from './told.ts'

/** `half`: what one side sends arrives, what the other sends does not. `asymmetric`: one direction is slow and far. */
export const KINDS = ['cut', 'slow', 'loss', 'duplicate', 'reorder', 'half', 'asymmetric'] as const
export type Kind = (typeof KINDS)[number]

/** When it begins: while it is recorded, recorded in chunks, sent, copied to the storage, read back from there. */
const PHASES = ['capture', 'chunk', 'upload', 'copy', 'read'] as const
type Phase = (typeof PHASES)[number]

const SECONDS = 4
const RATE = 48_000
const PORT = 8787
/** Bytes per second of a line that needs a second or two for a take, so that it can be met half way. */
const MEASURED = { rate: 600_000 }
/** With these an agent that is cut off for long loses its lease. */
const LEASE = { SVC_RECORDING_JOB_LEASE_RUNNER_INTERVAL_SECONDS: '2', SVC_RECORDING_JOB_LEASE_SECONDS: '5' }

interface Round {
  back: Weather
  delayMs: number
  forMs: number
  phase: Phase
  there: Weather
}

interface Place {
  agent: Agent
  controller: Controller
  lines: Lines
  nodeId: string
  policyId: string
  profiles: Record<'chunked' | 'plain', string>
  storage: S3Server
  words: () => string
}

interface Take {
  job: Job
  recording: Recording
}

function weatherOf(kind: Kind, random: () => number): { back: Weather; there: Weather } {
  const between = (least: number, most: number) => least + random() * (most - least)
  const sunny = {}
  const away = { loss: 1 }
  const slow = () => ({ delayMs: Math.round(between(50, 400)), rate: Math.round(between(20_000, 200_000)) })
  const pair = (one: Weather, other: Weather) =>
    random() < 0.5 ? { back: one, there: other } : { back: other, there: one }
  const made = {
    asymmetric: () => pair(slow(), sunny),
    cut: () => pair(away, away),
    duplicate: () => pair({ duplicate: between(0.1, 0.9) }, { duplicate: between(0.1, 0.9) }),
    half: () => pair(away, sunny),
    loss: () => pair({ loss: between(0.02, 0.4) }, { loss: between(0.02, 0.4) }),
    reorder: () => pair({ reorder: between(0.1, 0.8) }, { reorder: between(0.1, 0.8) }),
    slow: () => pair(slow(), slow()),
  }
  return made[kind]()
}

function plan(kind: Kind, number: number, random: () => number): Round {
  const phase = PHASES[(number + KINDS.indexOf(kind)) % PHASES.length]!
  const span = { capture: SECONDS * 1000 - 200, chunk: SECONDS * 1000 + 500, copy: 1200, read: 1200, upload: 1200 }
  return {
    delayMs: Math.round(random() * span[phase]),
    forMs: Math.round(500 + random() ** 2 * 11_500),
    phase,
    ...weatherOf(kind, random),
  }
}

/** `undo` gets what ends it all, in the order of making. */
async function settle(seed: number, undo: (() => unknown)[]): Promise<Place> {
  const roomtone = await executable()
  const lines = await Lines.lay(seed)
  undo.push(() => lines.close())
  const storage = await s3Server({ host: lines.address('storage'), keeps: true })
  undo.push(() => storage.close())
  const there = await House.open(lines.on('controller', roomtone))
  undo.push(() => there.close())
  const plain = { SVC_ALLOW_PLAIN_HTTP: '1', SVC_HOST: '0.0.0.0', SVC_PORT: String(PORT) }
  // Nothing is copied by itself: the round says when.
  const copies = { SVC_UPLOAD_RUNNER_INTERVAL_SECONDS: '3600' }
  const controller = await new Controller(there, { ...LEASE, ...plain, ...copies }).start()
  await controller.at(`http://${lines.aside}:${PORT}`).login()
  const { id: nodeId, token } = await controller.enroll('far away')
  const here = await House.open(lines.on('agent', roomtone))
  undo.push(() => here.close())
  const agent = new Agent(here, {
    SVC_ALLOW_INSECURE_CONTROLLER: '1',
    SVC_CONTROLLER_READ_TIMEOUT_MS: '3000',
    SVC_CONTROLLER_TOKEN: token,
    SVC_CONTROLLER_URL: `http://${lines.address('controller')}:${PORT}`,
    SVC_HEARTBEAT_SECONDS: '1',
    SVC_JOB_POLL_SECONDS: '1',
    SVC_NODE_ID: nodeId,
  }).start()
  await controller.online(nodeId)
  const profiles = { chunked: await controller.plainProfile('wav'), plain: await controller.plainProfile('wav') }
  await controller.get(`/settings/recording-profiles/${profiles.chunked}`, 'PATCH', { chunkSeconds: 1 })
  const policyId = await archive(controller, storage.endpoint)
  return {
    agent,
    controller,
    lines,
    nodeId,
    policyId,
    profiles,
    storage,
    words: () => `${here.said()}\n${there.said()}`,
  }
}

/** A destination that keeps the library, and the policy that sends every take there. */
async function archive(controller: Controller, endpoint: string): Promise<string> {
  const destination = await controller.post('/settings/upload-destinations', {
    displayName: 'Archive',
    enabled: true,
    keepsLibrary: true,
    kind: 's3',
    s3: { accessKeyId: ACCESS_KEY, bucket: 'takes', endpoint, forcePathStyle: true, prefix: 'rooms' },
    s3SecretAccessKey: SECRET_KEY,
  })
  const policy = { destinationId: destination.id, maxAttempts: 1, name: 'Archive', trigger: 'on_recording_cached' }
  return (await controller.post('/settings/upload-policies', policy)).id
}

/** The bad weather comes over one line and goes again; what came of the packets is in the answer. */
async function storm(lines: Lines, from: Machine, to: Machine, { back, delayMs, forMs, there }: Round): Promise<void> {
  await sleep(delayMs)
  lines.set(from, to, there)
  lines.set(to, from, back)
  await sleep(forMs)
  lines.set(from, to, {})
  lines.set(to, from, {})
}

const takesOf = ({ controller }: Place): string => `${controller.data}/recordings`

/** Records, through the storm where it is the round's; resolves when the controller has the take. */
async function arrive(place: Place, round: Round, name: string): Promise<Take> {
  const { agent, controller, lines, nodeId, policyId, profiles } = place
  const { phase } = round
  const profile = profiles[phase === 'chunk' ? 'chunked' : 'plain']
  const take: Take = await controller.record(nodeId, profile, SECONDS, { name, uploadPolicyIds: [policyId] })
  if (phase === 'upload') lines.set('agent', 'controller', MEASURED)
  await agent.capturing(take.job.id)
  if (phase === 'upload')
    await until('the upload to begin', () =>
      filesBelow(takesOf(place)).some((file) => file.includes(take.recording.id)),
    )
  if (['capture', 'chunk', 'upload'].includes(phase)) await storm(lines, 'agent', 'controller', round)
  let seen: unknown
  await until(
    'the take to arrive',
    async () => {
      const recording: Recording = await controller.get(`/recordings/${take.recording.id}`)
      const job: Job = await controller.get(`/recording-jobs/${take.job.id}`)
      seen = [recording.status, job.status, job.failureReason]
      return recording.cached && job.status === 'completed'
    },
    120,
  ).catch((e) => assert.fail(`${e.message}: ${seen}`))
  return take
}

/** What arrived is what was to be heard, once, and the agent knows it. */
async function verify(place: Place, { job, recording: { id } }: Take): Promise<Buffer> {
  const { agent, controller } = place
  const { checksum } = await controller.get(`/recordings/${id}`)
  const file = await controller.file(id)
  assert.equal(sha256(file), checksum)
  const heard = readWav(file)
  assert.equal(framesOf(heard), SECONDS * RATE, 'no line costs a sample')
  assertExact(heard, id)
  await until('the agent to let go of the take', () => !fs.existsSync(`${agent.dir}/takes/${job.id}`))
  assert.deepEqual(filesBelow(`${agent.dir}/kept`), [])
  // The chunks of a take stay beside it.
  const isBeside = (name: string): boolean => besideManifest(name) !== undefined || /\/part\d+\.wav$/.test(name)
  const stored = filesBelow(takesOf(place)).filter((name) => name.includes(id) && !isBeside(name))
  assert.equal(stored.length, 1, stored.join(', '))
  const jobs: Job[] = await controller.get(`/recording-jobs?search=${id}`)
  assert.deepEqual(
    jobs.map(({ status }) => status),
    ['completed'],
  )
  const attached = { action: 'recordings.cache_file.attach.succeeded', target: id }
  const rows = await controller.trail(attached)
  assert.ok(rows.length >= 1)
  return file
}

const sha256 = (bytes: Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`

/** Has the queue worked off, as a person does who does not wait for the next attempt; gives what is in it of a take. */
async function copyNow(controller: Controller, id: string): Promise<UploadItem[]> {
  const items = async (): Promise<UploadItem[]> =>
    (await controller.get('/upload-queue?limit=200')).filter((item: UploadItem) => item.recordingId === id)
  for (const { id: itemId, lastError, status } of await items())
    if (lastError && status !== 'succeeded') await controller.ask('POST', `/upload-queue/${itemId}/retry`)
  await controller.ask('POST', '/upload-runner/run')
  return items()
}

/** Copies the take to the storage, through the storm where it is the round's. */
async function copy(place: Place, round: Round, id: string, file: Buffer): Promise<void> {
  const { controller, lines, storage } = place
  if (round.phase === 'copy') lines.set('controller', 'storage', MEASURED)
  const before = storage.operations.length
  const pass = copyNow(controller, id)
  await until('the copy to begin', () => storage.operations.length > before)
  if (round.phase === 'copy') await storm(lines, 'controller', 'storage', round)
  await pass
  let seen: UploadItem[] = []
  await until(
    'the copy to be whole',
    async () => {
      seen = await copyNow(controller, id)
      return seen.length > 0 && seen.every(({ status }) => status === 'succeeded')
    },
    240,
  ).catch((e) => assert.fail(`${e.message}: ${JSON.stringify(seen)}`))
  assert.equal(seen.filter(({ chunkIndex }) => chunkIndex === undefined).length, 1, 'one item for the take')
  const sha = createHash('sha256').update(file).digest('hex')
  const copies = [...storage.objects].filter(([, object]) => object.sha256 === sha)
  assert.deepEqual(copies.length, 1, 'one object has the bytes of the take')
  assert.equal(storage.uploads.size, 0, 'nothing is left half sent')
}

/** What one reading gave: the bytes, or in a word why not. */
async function readOnce(controller: Controller, id: string, range: string | undefined): Promise<Buffer | string> {
  const headers: Record<string, string> = range ? { range: `bytes=${range}` } : {}
  const response = await controller.raw('GET', `/recordings/${id}/file`, { headers })
  const body = await response.arrayBuffer().catch((e: Error) => e)
  // It has begun and cannot go on: the connection ends before the length that was told, and the client knows.
  if (body instanceof Error) return 'broken off'
  const bytes = Buffer.from(body)
  if (response.ok) return bytes
  const { reason } = JSON.parse(String(bytes))
  assert.deepEqual([response.status, reason], [503, 'library_unreachable'])
  assert.ok(response.headers.get('retry-after'), 'it says when to come again')
  return reason
}

/** The local bytes are gone: the take is read through the controller out of the storage, whole or not at all. */
async function readBack(place: Place, round: Round, id: string, file: Buffer): Promise<string> {
  const { controller, lines } = place
  const { cachePath } = (await controller.get(`/recordings/${id}`)) as Recording
  fs.rmSync(path.join(takesOf(place), cachePath!))
  if (round.phase === 'read') lines.set('storage', 'controller', MEASURED)
  const stormy = round.phase === 'read' ? storm(lines, 'storage', 'controller', round) : Promise.resolve()
  let over = false
  const passed = stormy.then(() => {
    over = true
  })
  const said: Record<string, number> = {}
  const middle = [Math.floor(file.length / 3), Math.floor(file.length / 2)] as const
  const readings = async () => {
    for (let n = 0, last = false; !last; n++) {
      last = over
      const part = n % 2 === 1
      const got = await readOnce(controller, id, part ? `${middle[0]}-${middle[1] - 1}` : undefined)
      const word = typeof got === 'string' ? got : 'whole'
      said[word] = (said[word] ?? 0) + 1
      if (typeof got !== 'string')
        assert.ok(got.equals(part ? file.subarray(...middle) : file), 'the bytes of the take')
    }
  }
  await Promise.all([passed, readings()])
  await until('the take to be read', async () => typeof (await readOnce(controller, id, undefined)) !== 'string', 60)
  return Object.entries(said)
    .map(([word, times]) => `${times} ${word}`)
    .join(', ')
}

/** Every event of the agent's log has reached the controller, once. */
async function storyTold({ agent, controller, nodeId }: Place): Promise<void> {
  const own = () => agent.events().map((event) => `${(event as { openedAt?: string }).openedAt} ${event.type}`)
  let missing: string[] = []
  await until('every event to be told', async () => {
    const [told, logged] = [await toldTo(controller, nodeId), own()]
    const twice = beyond(told, logged).filter((line) => logged.includes(line))
    assert.deepEqual(twice, [], 'told twice')
    missing = beyond(logged, told)
    return missing.length === 0
  }).catch((e: Error) => {
    throw new Error(`${e.message}: ${missing.join(', ')}`)
  })
}

/** One round, the whole life of a take; says how it went. */
async function play(place: Place, round: Round, name: string): Promise<string> {
  const before = await place.lines.counts()
  const take = await arrive(place, round, name)
  const file = await verify(place, take)
  await copy(place, round, take.recording.id, file)
  const readings = await readBack(place, round, take.recording.id, file)
  await storyTold(place)
  const after = await place.lines.counts()
  const harm = (['lost', 'crowded', 'duplicated', 'reordered'] as const)
    .map((what) => [after[what] - before[what], what])
    .filter(([count]) => count !== 0)
  return `${harm.map((one) => one.join(' ')).join(', ') || 'no packet harmed'}; read: ${readings}`
}

const told = ({ back, delayMs, forMs, phase, there }: Round): string =>
  `${phase} +${delayMs} ms, for ${forMs} ms, there ${JSON.stringify(there)}, back ${JSON.stringify(back)}`

export async function rounds(kind: Kind, count: number, seed: number, tell: (line: string) => void): Promise<void> {
  const random = mulberry32(seed + KINDS.indexOf(kind))
  const undo: (() => unknown)[] = []
  try {
    const place = await settle(seed, undo)
    // Where they begin is the seed's, so that few rounds of many seeds meet every phase.
    for (let number = 0; number < count; number++) {
      const round = plan(kind, seed + number, random)
      const line = `${number} seed=${seed} ${kind} ${told(round)}`
      const found = await play(place, round, `round-${number}`).catch((e: Error) => {
        const ended = [place.agent, place.controller].map(
          ({ program: { child } }) => child.exitCode ?? child.signalCode,
        )
        e.message = `${line}: ${e.message} (agent, controller ended: ${ended})\n${place.words().slice(-6000)}`
        throw e
      })
      tell(`${line}: ${found}`)
    }
  } finally {
    for (const step of undo.reverse()) await step()
  }
}

if (import.meta.main) await runRounds(KINDS, rounds)
