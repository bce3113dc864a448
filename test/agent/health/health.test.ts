import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { type TestContext, test } from 'node:test'
import { Health } from '../../../src/agent/health/health.ts'
import { createHealthStore } from '../../../src/agent/health/store.ts'
import { LinkError } from '../../../src/agent/link/link.ts'
import { systemClock } from '../../../src/kernel/clock.ts'
import { jsonLog } from '../../../src/kernel/log.ts'
import type { AgentHealthEvent } from '../../../src/wire/nodes.ts'
import { smallDisk } from '../../kit/disk.ts'
import { until } from '../jobs/kit.ts'
import { tempDir } from '../server.ts'

type Answer = (event: AgentHealthEvent) => LinkError | undefined

interface Rig {
  /** Events the controller took. */
  taken: AgentHealthEvent[]
  answer: Answer
  attempts: number
  file: string
  lines: string[]
  make(): Health
  /** Resolves when the controller was asked this often. */
  asked(count: number): Promise<void>
}

interface RigOptions {
  file?: string
  maxBytes?: number
  retainedFiles?: number
  rewriteMs?: number
}

function rig(t: TestContext, options: RigOptions = {}): Rig {
  const waiting: { count: number; resolve: () => void }[] = []
  const made: Health[] = []
  // Before the directory goes.
  t.after(() => Promise.all(made.map((health) => health.stop(0))))
  const file = options.file ?? path.join(tempDir(t), 'health.jsonl')
  const rigged: Rig = {
    answer: () => undefined,
    asked: (count) =>
      new Promise((resolve) => (rigged.attempts >= count ? resolve() : waiting.push({ count, resolve }))),
    attempts: 0,
    file,
    lines: [],
    make: () => {
      const health = new Health({
        clock: systemClock,
        cursorFile: `${file}.sent`,
        link: { healthEvent },
        log: jsonLog((line) => rigged.lines.push(line)),
        nodeId: 'node_1',
        online: () => true,
        rewriteMs: options.rewriteMs ?? 3_600_000,
        store: createHealthStore({
          file,
          maxBytes: options.maxBytes ?? 1_000_000,
          retainedFiles: options.retainedFiles ?? 3,
        }),
      })
      made.push(health)
      return health
    },
    taken: [],
  }
  const healthEvent = async (event: AgentHealthEvent): Promise<void> => {
    const refused = rigged.answer(event)
    if (!refused) rigged.taken.push(event)
    rigged.attempts++
    for (const waiter of waiting) if (rigged.attempts >= waiter.count) waiter.resolve()
    if (refused) throw refused
  }
  return rigged
}

const stored = (n: number) => ({
  details: {},
  id: `e_${n}`,
  openedAt: '2026-11-21T00:00:00.000Z',
  severity: 'info' as const,
  type: `agent.${n}`,
})

const away: Answer = () => new LinkError('no answer')
const types = (events: AgentHealthEvent[]) => events.map((event) => event.type)

test('an event is in the local log and at the controller, with an id of its own', async (t) => {
  const r = rig(t)
  const health = r.make()
  health.report({ severity: 'info', type: 'agent.early' })
  await health.start()
  health.report({ details: { n: 1 }, recordingId: 'rec_1', severity: 'critical', type: 'agent.late' })
  await r.asked(2)
  assert.deepEqual(types(r.taken), ['agent.early', 'agent.late'])
  const [, late] = r.taken
  assert.match(late?.id ?? '', /^node_event_node_1_\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z_2$/)
  assert.deepEqual([late?.recordingId, late?.details, late?.severity], ['rec_1', { n: 1 }, 'critical'])
})

test('events reported while the disk works are all kept', async (t) => {
  const r = rig(t)
  const health = r.make()
  await health.start()
  for (let n = 0; n < 200; n++) {
    health.report({ severity: 'info', type: `agent.${n}` })
    if (n % 10 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  await r.asked(200)
  assert.deepEqual(
    types(r.taken),
    Array.from({ length: 200 }, (_, n) => `agent.${n}`),
  )
})

test('a controller that has had enough for a minute gets the rest later: each once, in order', async (t) => {
  const r = rig(t)
  const health = r.make()
  const limited = new LinkError('rate limited', 429, 'rate_limited', 30)
  r.answer = () => (r.attempts % 3 === 2 ? limited : undefined)
  await health.start()
  for (let n = 0; n < 7; n++) health.report({ severity: 'info', type: `agent.${n}` })
  await r.asked(10)
  assert.deepEqual(
    types(r.taken),
    Array.from({ length: 7 }, (_, n) => `agent.${n}`),
  )
})

test('after an outage and a restart every event is sent exactly once, in order', async (t) => {
  const r = rig(t)
  const first = r.make()
  await first.start()
  first.report({ severity: 'info', type: 'agent.a' })
  await r.asked(1)
  r.answer = away
  for (const name of ['b', 'c', 'd']) first.report({ severity: 'info', type: `agent.${name}` })
  await r.asked(2)
  await first.stop(0)
  r.answer = () => undefined
  const before = r.attempts
  const second = r.make()
  await second.start()
  second.report({ severity: 'info', type: 'agent.e' })
  await r.asked(before + 4)
  await second.stop(1000)
  const third = r.make()
  await third.start()
  third.report({ severity: 'info', type: 'agent.f' })
  await r.asked(before + 5)
  assert.deepEqual(types(r.taken), ['agent.a', 'agent.b', 'agent.c', 'agent.d', 'agent.e', 'agent.f'])
  assert.equal(new Set(r.taken.map((event) => event.id)).size, 6)
})

test('a controller that is back is told at once, not after the pause', async (t) => {
  const r = rig(t)
  r.answer = away
  const health = r.make()
  await health.start()
  health.report({ severity: 'info', type: 'agent.a' })
  for (let n = 1; n <= 4; n++) {
    await r.asked(n)
    health.nudge()
  }
  r.answer = () => undefined
  health.nudge()
  await r.asked(5)
  assert.deepEqual(types(r.taken), ['agent.a'])
})

test('an event that the controller refuses for good is left out with a log line', async (t) => {
  const r = rig(t)
  r.answer = (event) => (event.type === 'agent.bad' ? new LinkError('Invalid node health event', 400) : undefined)
  const health = r.make()
  await health.start()
  health.report({ severity: 'info', type: 'agent.bad' })
  health.report({ severity: 'info', type: 'agent.good' })
  await r.asked(2)
  assert.deepEqual(types(r.taken), ['agent.good'])
  assert.ok(r.lines.some((line) => line.includes('health event refused')))
})

test('an event about a recording that is gone still arrives, without naming it', async (t) => {
  const r = rig(t)
  r.answer = (event) => (event.recordingId ? new LinkError('Recording not found', 404) : undefined)
  const health = r.make()
  await health.start()
  health.report({ recordingId: 'rec_gone', severity: 'info', type: 'agent.a' })
  await r.asked(2)
  assert.deepEqual([r.taken[0]?.recordingId, r.taken[0]?.details], [undefined, { recordingId: 'rec_gone' }])
})

test('the log rotates by size, and delivery follows it through the rotated files', async (t) => {
  const r = rig(t, { maxBytes: 600, retainedFiles: 20 })
  const store = createHealthStore({ file: r.file, maxBytes: 600, retainedFiles: 20 })
  for (let n = 1; n <= 20; n++) await store.append([stored(n)])
  const health = r.make()
  await health.start()
  health.report({ severity: 'info', type: 'agent.21' })
  await r.asked(21)
  assert.deepEqual(
    types(r.taken),
    Array.from({ length: 21 }, (_, n) => `agent.${n + 1}`),
  )
  assert.ok(fs.existsSync(`${r.file}.2`))
})

test('no more rotated files than asked for are kept; none at all when that is asked for', async (t) => {
  for (const [retainedFiles, expected] of [
    [2, ['h', 'h.1', 'h.2']],
    [0, ['h']],
  ] as const) {
    const dir = tempDir(t)
    const store = createHealthStore({ file: path.join(dir, 'h'), maxBytes: 1, retainedFiles })
    await store.open()
    for (let n = 1; n <= 6; n++) await store.append([stored(n)])
    assert.deepEqual(fs.readdirSync(dir).sort(), expected)
  }
})

test('a line torn by a power cut costs that line only', async (t) => {
  const r = rig(t)
  fs.writeFileSync(r.file, `${JSON.stringify(stored(1))}\n{"details":{},"id":"e_2`)
  const health = r.make()
  await health.start()
  health.report({ severity: 'info', type: 'agent.next' })
  await r.asked(2)
  assert.deepEqual(types(r.taken), ['agent.1', 'agent.next'])
})

test('a disk that takes nothing does not keep an event from the controller', async (t) => {
  const r = rig(t)
  fs.mkdirSync(r.file)
  const health = r.make()
  await health.start()
  health.report({ severity: 'critical', type: 'agent.recording_job.disk_space_exhausted' })
  await r.asked(1)
  assert.deepEqual(types(r.taken), ['agent.recording_job.disk_space_exhausted'])
})

test('a line that a full disk tore swallows no event', async (t) => {
  const dir = smallDisk(t, 65_536)
  if (!dir) return
  const store = createHealthStore({ file: path.join(dir, 'health.jsonl'), maxBytes: 0, retainedFiles: 0 })
  await store.open()
  await store.append([stored(1)])
  const filler = path.join(dir, 'filler')
  fs.writeFileSync(filler, Buffer.alloc(40_000))
  const long = { ...stored(2), details: { text: 'x'.repeat(30_000) } }
  await assert.rejects(store.append([long, stored(3)]), { code: 'ENOSPC' })
  await assert.rejects(store.append([long, stored(3), stored(4)]), { code: 'ENOSPC' })
  fs.rmSync(filler)
  await store.append([long, stored(3), stored(4)])
  const ids = (await store.after(0, 10)).map(({ id }) => id)
  assert.deepEqual(ids, ['e_1', 'e_2', 'e_3', 'e_4'])
})

test('a torn line on a disk that is full at the start does not number events twice', async (t) => {
  const dir = smallDisk(t, 65_536)
  if (!dir) return
  const r = rig(t, { file: path.join(dir, 'health.jsonl') })
  const head = `${JSON.stringify(stored(1))}\n{"details":"`
  fs.writeFileSync(r.file, `${head}${'x'.repeat(4096 - head.length)}`)
  assert.throws(() => fs.writeFileSync(path.join(dir, 'filler'), Buffer.alloc(100_000)), { code: 'ENOSPC' })
  const health = r.make()
  await health.start()
  health.report({ severity: 'info', type: 'agent.next' })
  await r.asked(2)
  assert.deepEqual(types(r.taken), ['agent.1', 'agent.next'])
  assert.match(r.taken[1]?.id ?? '', /_2$/)
})

const unwritten = ({ lines }: Rig) => lines.filter((line) => line.includes('could not be written')).length
const inLog = (file: string) => (fs.statSync(file).isFile() ? fs.readFileSync(file, 'utf8') : '')

test('what the disk did not take is written once it does, with nothing else reported', async (t) => {
  const r = rig(t, { rewriteMs: 5 })
  fs.mkdirSync(r.file)
  const health = r.make()
  await health.start()
  health.report({ severity: 'info', type: 'agent.a' })
  await until(() => unwritten(r) > 0)
  fs.rmdirSync(r.file)
  await until(() => fs.existsSync(r.file) && inLog(r.file).includes('agent.a'))
  assert.equal(unwritten(r), 1)
})

test('what was neither sent nor written is written at the end, where there is room by then', async (t) => {
  const r = rig(t)
  r.answer = away
  fs.mkdirSync(r.file)
  const health = r.make()
  await health.start()
  health.report({ severity: 'info', type: 'agent.a' })
  await until(() => unwritten(r) > 0)
  fs.rmdirSync(r.file)
  await health.stop(0)
  assert.match(inLog(r.file), /agent\.a/)
})

test('details that are no JSON do not stop the event', async (t) => {
  const r = rig(t)
  const health = r.make()
  await health.start()
  health.report({ details: { n: 1n }, severity: 'info', type: 'agent.a' })
  health.report({ details: { text: 'x'.repeat(100_000) }, severity: 'info', type: 'agent.b' })
  await r.asked(2)
  assert.deepEqual(r.taken[0]?.details, { unreadable: true })
  assert.ok(JSON.stringify(r.taken[1]).length < 2000)
})
