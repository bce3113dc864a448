import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { Progress } from '../../../src/agent/jobs/lease.ts'
import { assignedMap } from '../../../src/agent/jobs/maps.rules.ts'
import {
  closedBy,
  detailsOf,
  fileNameOf,
  heardAround,
  neededFrom,
  nextToSend,
  partOf,
} from '../../../src/agent/jobs/parts.rules.ts'
import { type Output, TakeState } from '../../../src/agent/spool/state.ts'
import { Semaphore } from '../../../src/kernel/semaphore.ts'
import { Enhancement } from '../../../src/wire/profiles.ts'
import { job } from './kit.ts'

const RATE = 1000
const FORMAT = { channels: 2, format: 'S16_LE', rate: RATE } as const
const state = (more: object = {}, durationSeconds = 10): TakeState =>
  TakeState.parse({
    claimedAt: 0,
    format: FORMAT,
    job: job('a', { durationSeconds }),
    status: 'capturing',
    version: 1,
    ...more,
  })
const output = (more: Partial<Output>): Output => ({
  contentType: 'audio/wav',
  durationSeconds: 1,
  file: `${more.chunk ?? 'take'}.${more.rendition ?? 'plain'}.wav`,
  fileName: 'x.wav',
  ...more,
})

test('the parts of a take are its frames, each exactly once, whatever its length and its beginning', () => {
  for (const [fromFrame, duration, partSeconds] of [
    [0, 10, 3],
    [1234, 10, 5],
    [7, 1, 3],
    [0, 6, 2],
  ] as const) {
    const taken = { ...state({ fromFrame }, duration), partSeconds }
    let at: number = fromFrame
    let index = 0
    for (; at < fromFrame + duration * RATE; index++) {
      const part = partOf(taken, RATE, index)
      assert.equal(part.from, at)
      assert.ok(part.to > part.from && part.to - part.from <= partSeconds * RATE)
      at = part.to
    }
    assert.equal(at, fromFrame + duration * RATE)
    assert.deepEqual(partOf(taken, RATE, index), { from: at, index, to: at })
  }
  assert.deepEqual(partOf(state({ fromFrame: 5 }), RATE, 0), { from: 5, index: 0, to: 10_005 })
})

test('a part is closed by a frame behind it, never by its own last one: that could be the last of the take', () => {
  const part = { from: 0, index: 0, to: 3000 }
  assert.deepEqual(
    [2999, 3000, 3001].map((frontier) => closedBy(part, frontier, 10_000)),
    [false, false, true],
  )
  // The frames of other members of the capture are none of this job.
  assert.equal(closedBy(part, 9999, 3000), false)
})

test('parts are sent in their order, of each first what is played, and not before it is complete', () => {
  const raw = (chunk: number) => output({ chunk, rendition: 'raw' })
  const fine = (chunk: number) => output({ chunk, rendition: 'enhanced' })
  const outputs = [raw(1), fine(1), raw(0), fine(0), raw(2)]
  const next = (list: Output[], partsMade: number) => nextToSend(state({ outputs: list, partsMade }))?.file
  assert.equal(next(outputs, 2), '0.enhanced.wav')
  assert.equal(next([raw(1), fine(1), raw(0), { ...fine(0), uploaded: true }], 2), '0.raw.wav')
  assert.equal(next([raw(1), fine(1), { ...raw(0), refused: 'no' }], 2), '1.enhanced.wav')
  assert.equal(next([raw(2)], 2), undefined)
})

test('a frame is needed until the controller has all of its part', () => {
  const chunked = (more: object) => neededFrom(state({ partSeconds: 2, ...more }))
  assert.equal(chunked({}), 0)
  assert.equal(chunked({ partsMade: 3 }), 6000)
  assert.equal(chunked({ fromFrame: 100, outputs: [output({ chunk: 1 })], partsMade: 3 }), 2100)
  assert.equal(neededFrom(state({ fromFrame: 50, partsMade: 1 })), 50)
})

test('an enhancement hears a little around its part, but only of the job; so long that is needed', () => {
  const command = { ...job('a').command, durationSeconds: 10, enhancement: Enhancement.parse({}) }
  const taken = state({ fromFrame: 100, job: { ...job('a'), command }, partSeconds: 3 })
  const heard = (index: number) => {
    const { heardFrom, heardTo } = heardAround(taken, RATE, partOf(taken, RATE, index))
    return [heardFrom, heardTo]
  }
  assert.deepEqual([0, 1, 3].map(heard), [
    [100, 3200],
    [1100, 6200],
    [7100, 10_100],
  ])
  assert.deepEqual(
    [0, 1, 2].map((partsMade) => neededFrom({ ...taken, partsMade })),
    [100, 1100, 4100],
  )
})

test('the gaps of a part are those inside it, from its own beginning; of many only the first are listed', () => {
  const gaps = [
    { atFrame: 500, seconds: 1 },
    { atFrame: 2500, seconds: 1 },
  ]
  const { gapCount, gapSeconds, gaps: told } = detailsOf(state({ gaps }), { from: 1000, index: 1, to: 3000 })
  assert.deepEqual([gapCount, gapSeconds], [2, 1])
  assert.deepEqual(told, [
    { atSeconds: 0, seconds: 0.5 },
    { atSeconds: 1.5, seconds: 0.5 },
  ])
  const many = Array.from({ length: 100 }, (_, i) => ({ atFrame: i * 10, seconds: 0.001 }))
  const all = detailsOf(state({ gaps: many }), { from: 0, index: 0, to: 10_000 })
  assert.deepEqual([all.gapCount, all.gaps!.length], [100, 64])
  assert.deepEqual(detailsOf(state(), { from: 0, index: 0, to: 1 }), {
    capture: { channels: 2, format: 'S16_LE', sampleRate: RATE },
  })
})

test('a detail that cannot be read costs the detail, not the state of the take', () => {
  const silent = { ...output({}), details: { loudness: { integratedLufs: null, truePeakDbtp: null } } }
  const [read] = state({ outputs: [silent] }).outputs
  assert.deepEqual([read!.file, read!.details], ['take.plain.wav', undefined])
  assert.equal(state({ levelled: { gainDb: null, heard: [] } }).levelled, undefined)
})

test('names for an operator', () => {
  assert.equal(fileNameOf('rec_a.mp3', 'mp3', undefined), 'rec_a.mp3')
  assert.equal(fileNameOf('rec_a.mp3', 'wav', 12), 'rec_a.chunk-0012.wav')
  assert.equal(fileNameOf('rec.a.mp3', 'flac', 3, 'raw'), 'rec.a.chunk-0003.raw.flac')
})

test('progress goes forward only', () => {
  const progress = new Progress()
  const after = (...steps: Parameters<Progress['at']>[]) => {
    for (const step of steps) progress.at(...step)
    return [progress.now.stage, progress.now.percent]
  }
  assert.deepEqual(after(['capturing', 40], ['capturing', 30]), ['capturing', 40])
  assert.deepEqual(after(['uploading', 5], ['rendering', 50], ['uploading', 120]), ['uploading', 100])
})

test('a few have their turn at once; then the oldest that waits, unless it gives up', async () => {
  const turns = new Semaphore(2)
  const { signal } = new AbortController()
  const began: number[] = []
  const take = (rank: number, own = signal) =>
    turns.take(rank, own).then((done) => {
      began.push(rank)
      return done
    })
  const first = await take(9)
  const second = await take(8)
  const gone = new AbortController()
  const leaving = assert.rejects(take(1, gone.signal), /abort/i)
  const third = take(7)
  const fourth = take(3)
  gone.abort()
  await leaving
  first()
  first()
  const done = await fourth
  await turn()
  assert.deepEqual(began, [9, 8, 3])
  second()
  done()
  ;(await third)()
  await take(5)
  assert.deepEqual(began, [9, 8, 3, 7, 5])
})

const assigned = (targetType: string, targetId: string, sources: number[]) => ({
  assignment: { id: 'x', targetId, targetType },
  template: {
    channelMode: 'mono',
    entries: sources.map((n) => ({
      included: n > 0,
      label: '',
      outputChannelIndex: null,
      sourceChannelIndex: Math.abs(n),
    })),
    id: 't',
    name: 'T',
  },
})

test('of the assigned maps the interface counts before the node; what cannot be read is none', () => {
  const own = job('a', { captureDevice: 'hw:1', captureInterfaceId: 'i1' })
  const sourcesOf = (...answers: unknown[]) => assignedMap(answers, own)?.sourceChannels
  const node = assigned('node', 'node_1', [1, -4, 2])
  assert.equal(sourcesOf(node, assigned('interface', 'i1', [3])), 3)
  assert.equal(sourcesOf(node, assigned('interface', 'hw:1', [5])), 5)
  assert.equal(sourcesOf(assigned('interface', 'i2', [3]), { nonsense: true }, node), 2)
  assert.equal(sourcesOf(assigned('node', 'node_2', [1]), assigned('interface', 'i1', [-1])), undefined)
})
