import assert from 'node:assert/strict'
import { test } from 'node:test'
import { advance, claimedJob, type JobEvent } from '../../../src/agent/jobs/job.rules.ts'
import { type Output, TakeState } from '../../../src/agent/spool/state.ts'
import { job } from './kit.ts'

const FORMAT = { channels: 2, format: 'S16_LE', rate: 48_000 } as const
const CLAIMED = claimedJob(job('a'), 1000, { boot: 1, upMs: 2, wallMs: 3 })

const file = (name: string, more: Partial<Output> = {}): Output => ({
  contentType: 'audio/mpeg',
  durationSeconds: 1,
  file: name,
  fileName: name,
  ...more,
})

/** The job after these events, as it comes back from the disk. */
const after = (events: JobEvent[], from: TakeState = CLAIMED): TakeState =>
  TakeState.parse(JSON.parse(JSON.stringify(events.reduce(advance, from))))

const captured: JobEvent[] = [
  { type: 'capturing', format: FORMAT, gaps: [] },
  { type: 'captured', toFrame: 96_000 },
]
const part = (n: number, last = false): JobEvent => ({
  type: 'part_made',
  files: [
    file(`${n}.enhanced.mp3`, { chunk: n, rendition: 'enhanced' }),
    file(`${n}.cut.wav`, { chunk: n, rendition: 'raw' }),
  ],
  last,
  levelled: { gainDb: n, heard: [] },
  part: n,
  partSeconds: 1,
})

test('a job goes from its claim to the controller, and each state is one the disk takes', () => {
  const way: JobEvent[] = [
    ...captured,
    { type: 'part_made', files: [file('take.wav')], last: true, levelled: undefined, part: 0, partSeconds: undefined },
    { type: 'all_made' },
    { type: 'accepted', file: 'take.wav' },
    { type: 'delivered' },
  ]
  const statuses = way.map((_, n) => after(way.slice(0, n + 1)).status)
  assert.deepEqual(statuses, ['capturing', 'captured', 'captured', 'uploading', 'uploading', 'uploaded'])
  const { chunkTotal, outputs, partSeconds, partsMade } = after(way)
  assert.deepEqual(
    [chunkTotal, outputs.map((o) => o.uploaded), partSeconds, partsMade],
    [undefined, [true], undefined, 1],
  )
})

test('a job that has ended is not captured again, and one that is not on its way is not delivered', () => {
  const ended: JobEvent[][] = [
    [{ type: 'failed', reason: 'x' }],
    [{ type: 'cancelled', reason: 'x' }],
    [...captured, { type: 'all_made' }, { type: 'delivered' }],
  ]
  for (const events of ended)
    for (const event of [
      ...captured,
      { type: 'failed', reason: 'y' },
      { type: 'cancelled', reason: 'y' },
    ] as JobEvent[])
      assert.throws(() => after([...events, event]), /unexpected event/)
  for (const event of [part(0), { type: 'accepted', file: 'x' }, { type: 'files_missing', files: [] }] as JobEvent[])
    assert.throws(() => after([...ended[2]!, event]), /unexpected event/)
  assert.throws(
    () => after([captured[0]!, { type: 'mapped', channelMap: undefined! }]),
    /mapped for a job that is capturing/,
  )
  assert.throws(() => after([{ type: 'delivered' }]), /delivered for a job that is claimed/)
  assert.throws(() => after([captured[0]!, { type: 'all_made' }]), /all_made for a job that is capturing/)
})

test('nothing changes the value an event is applied to', () => {
  const before = structuredClone(CLAIMED)
  after([
    ...captured,
    part(0),
    part(1, true),
    { type: 'accepted', file: '0.cut.wav' },
    { type: 'files_missing', files: ['1.cut.wav'] },
  ])
  assert.deepEqual(CLAIMED, before)
})

test('what an event does not say stays: gaps, first frame, test source, reason', () => {
  const gaps = [{ atFrame: 10, seconds: 1 }]
  const state = after([
    { type: 'capturing', format: FORMAT, fromFrame: 480, gaps, test: true },
    { type: 'capturing', format: FORMAT },
    { type: 'captured', reason: 'capture_device_lost', toFrame: 960 },
    { type: 'captured', toFrame: 900 },
  ])
  const { fromFrame, gaps: kept, reason, test: source, toFrame } = state
  assert.deepEqual([fromFrame, kept, reason, source, toFrame], [480, gaps, 'capture_device_lost', true, 900])
})

test('the files of a part that is begun are listed, and not yet for sending', () => {
  const begun: JobEvent = {
    type: 'part_begun',
    files: [file('0.cut.wav', { chunk: 0, rendition: 'raw' })],
    part: 0,
    partSeconds: 1,
  }
  const state = after([...captured, begun])
  assert.deepEqual([state.outputs.map((o) => o.file), state.partsMade, state.levelled], [['0.cut.wav'], 0, undefined])
  const made = after([...captured, begun, part(0)])
  assert.deepEqual([made.outputs.map((o) => o.file), made.partsMade], [['0.enhanced.mp3', '0.cut.wav'], 1])
})

test('the primary file of the last chunk says how many there are', () => {
  const { chunkTotal, levelled, outputs } = after([...captured, part(0), part(1, true)])
  assert.deepEqual([chunkTotal, levelled!.gainDb], [2, 1])
  assert.deepEqual(
    outputs.map((o) => o.chunkTotal),
    [undefined, undefined, 2, undefined],
  )
})

test('a chunk is listed until the controller has all of its files', () => {
  const made = [...captured, part(0), part(1, true)]
  const names = (events: JobEvent[]) => after([...made, ...events]).outputs.map((o) => o.file)
  const accepted = (name: string): JobEvent => ({ type: 'accepted', file: name })
  assert.equal(names([accepted('0.enhanced.mp3')]).length, 4)
  assert.deepEqual(names([accepted('0.enhanced.mp3'), accepted('0.cut.wav')]), ['1.enhanced.mp3', '1.cut.wav'])
  const refused = after([
    ...made,
    accepted('0.enhanced.mp3'),
    { type: 'refused', file: '0.cut.wav', reason: 'file_too_large' },
  ])
  assert.deepEqual(
    refused.outputs.map((o) => o.refused),
    [undefined, 'file_too_large', undefined, undefined],
  )
})

test('files that are missing after a restart are made again, with all behind them that is not listed', () => {
  const state = after([...captured, part(0), part(1), part(2, true), { type: 'files_missing', files: ['1.cut.wav'] }])
  assert.deepEqual([state.chunkTotal, state.partsMade], [undefined, 1])
  assert.deepEqual(
    state.outputs.map((o) => o.file),
    ['0.enhanced.mp3', '0.cut.wav', '1.enhanced.mp3', '2.enhanced.mp3', '2.cut.wav'],
  )
})

test('a take that is missing after a restart begins again while it is captured; later it has failed', () => {
  const again = after([captured[0]!, part(0), { type: 'take_missing', reason: 'x' }])
  assert.deepEqual([again.status, again.outputs, again.partsMade, again.reason], ['claimed', [], 0, undefined])
  const lost = after([...captured, { type: 'take_missing', reason: 'x' }])
  assert.deepEqual([lost.status, lost.reason, lost.toFrame], ['failed', 'x', undefined])
})
