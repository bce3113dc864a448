import assert from 'node:assert/strict'
import { test } from 'node:test'
import { joinedDetails, parseDetails } from '../../../../src/controller/recordings/library/renditions.rules.ts'
import type { RenditionDetails } from '../../../../src/wire/recordings.ts'
import { kit } from '../../../kit/kit.ts'
import { sound } from '../../../kit/sound.ts'
import { chunked, counted, wav } from '../chunks/world.ts'

const encoded = (value: unknown): string => encodeURIComponent(JSON.stringify(value))
const capture = { channels: 2, format: 'S16_LE', sampleRate: 48_000 }
const raw: RenditionDetails = { capture, gapCount: 1, gapSeconds: 1.5, gaps: [{ atSeconds: 2.25, seconds: 1.5 }] }
const enhanced: RenditionDetails = {
  ...raw,
  denoiser: { engine: 'rnnoise', model: 'built-in' },
  loudness: { integratedLufs: -16.1, truePeakDbtp: -1.6 },
}

test('a header is read leniently, and never further than its limit', () => {
  assert.deepEqual(parseDetails(undefined), {})
  assert.deepEqual(parseDetails('  '), {})
  assert.deepEqual(parseDetails(encoded(enhanced)), { details: enhanced })
  assert.deepEqual(parseDetails(encoded({ ...raw, mood: 'good' })), { details: raw })
  assert.deepEqual(parseDetails(encoded({ mood: 'good' })), {})
  const bad = ['%', '{', encoded(null), encoded([]), encoded({ gapSeconds: -1 }), encoded({ source: 'air' })]
  for (const header of bad) assert.deepEqual(parseDetails(header), { fault: 'details_unreadable' }, header)
  assert.deepEqual(parseDetails(encoded({ mood: 'x'.repeat(9000) })), { fault: 'details_too_long' })
})

test('a gap that goes on in the next chunk is one, however many it spans', () => {
  const until = (seconds: number): RenditionDetails => ({
    capture,
    gapCount: 1,
    gapSeconds: 60 - seconds,
    gaps: [{ atSeconds: seconds, seconds: 60 - seconds }],
  })
  const pieces = [
    { at: 0, details: until(55.75) },
    { at: 60, details: until(0) },
    {
      at: 120,
      details: {
        capture,
        gapCount: 2,
        gapSeconds: 4,
        gaps: [
          { atSeconds: 0, seconds: 3 },
          { atSeconds: 30, seconds: 1 },
        ],
      },
    },
  ]
  assert.deepEqual(joinedDetails(pieces), {
    ...{ capture, gapCount: 2, gapSeconds: 68.25 },
    gaps: [
      { atSeconds: 55.75, seconds: 67.25 },
      { atSeconds: 150, seconds: 1 },
    ],
  })
})

test('of chunks, gaps move to their place, what differs is left out and loudness is not made up', () => {
  const second: RenditionDetails = { ...enhanced, gapCount: 2, gapSeconds: 0.2, gaps: [{ atSeconds: 0, seconds: 0.1 }] }
  assert.deepEqual(
    joinedDetails([
      { at: 0, details: enhanced },
      { at: 5, details: second },
    ]),
    {
      capture,
      denoiser: enhanced.denoiser,
      gapCount: 3,
      gapSeconds: 1.7,
      gaps: [
        { atSeconds: 2.25, seconds: 1.5 },
        { atSeconds: 5, seconds: 0.1 },
      ],
    },
  )
  assert.deepEqual(joinedDetails([{ at: 0, details: enhanced }]), enhanced)
  const other = { capture: { ...capture, channels: 1 }, enhancementFailure: 'no model', source: 'test' } as const
  assert.deepEqual(
    joinedDetails([
      { at: 0, details: { capture } },
      { at: 5, details: undefined },
      { at: 10, details: other },
    ]),
    {
      enhancementFailure: 'no model',
      source: 'test',
    },
  )
  assert.equal(joinedDetails([{ at: 0, details: undefined }]), undefined)
  const many = { gaps: Array.from({ length: 64 }, (_, i) => ({ atSeconds: i, seconds: 0.01 })) }
  const joined = joinedDetails([
    { at: 0, details: many },
    { at: 100, details: many },
  ])
  assert.deepEqual([joined?.gapCount, joined?.gapSeconds, joined?.gaps?.length], [128, 1.28, 64])
})

test('what was told of each rendition is shown with the one recording, and goes with its file', async () => {
  const k = kit()
  const t = await chunked(k, { codec: 'wav', enhancement: { loudnorm: { enabled: true } } })
  const put = (rendition: string, details: string, bytes = rendition) =>
    t.agent.put(`${t.path}?rendition=${rendition}`, sound(bytes), { ...t.headers, 'x-svc-rendition-details': details })
  assert.equal((await put('raw', encoded(raw))).status, 201)
  assert.equal((await put('enhanced', encoded(enhanced))).status, 201)
  assert.deepEqual((await t.recording()).renditions, { enhanced, raw })
  assert.equal((await k.as('admin').get('/recordings')).json.data[0].renditions, undefined)
  assert.equal((await t.agent.put(`${t.path}?rendition=raw`, sound('raw'), t.headers)).status, 201)
  assert.deepEqual((await t.recording()).renditions.raw, raw, 'the same bytes again keep what is known of them')
  assert.equal((await put('raw', '%', 'other bytes')).status, 201, 'audio is not refused because of a comment on it')
  assert.deepEqual((await t.recording()).renditions, { enhanced })
  const told = k.rows<{ fault: string | null }>(
    `SELECT details ->> '$.renditionDetails' AS fault FROM audit_events WHERE action = 'recordings.cache_file.attach.succeeded' ORDER BY seq DESC`,
  )
  assert.equal(told[0]?.fault, 'details_unreadable')
  await k.close()
})

test('a joined take has the details of its chunks', async () => {
  const k = kit()
  const t = await chunked(k)
  const piece = (n: number) => wav(counted(n * 2000, 2000))
  const told = (details: RenditionDetails) => ({ 'x-svc-rendition-details': encoded(details) })
  await t.put(1, piece(1), '&chunkTotal=2', told({ capture, gapCount: 1, gaps: [{ atSeconds: 1, seconds: 2 }] }))
  await t.put(0, piece(0), '', told({ capture, gapCount: 0, gapSeconds: 0 }))
  await k.tick('chunk-join')
  assert.deepEqual((await t.recording()).renditions, {
    primary: { capture, gapCount: 1, gapSeconds: 2, gaps: [{ atSeconds: 6, seconds: 2 }] },
  })
  await k.close()
})

const ENHANCING = { enhancement: { loudnorm: { enabled: true } } }

test('raw and enhanced in either order: the master is supplementary beside an enhanced take', async () => {
  const k = kit()
  const t = await chunked(k, { codec: 'wav', ...ENHANCING })
  const put = async (query: string, bytes: string) =>
    (await t.agent.put(`${t.path}${query}`, sound(bytes), t.headers)).status
  const played = async (query = '') =>
    (await k.as('admin').get(`/recordings/${t.recordingId}/stream${query}`)).text.slice(12)
  const now = async () => [(await t.state()).status, (await t.recording()).status]
  assert.equal(await put('?rendition=raw', 'master'), 201)
  assert.deepEqual([await now(), await played()], [['running', 'recording'], 'master'])
  assert.equal(await put('?rendition=enhanced', 'voice'), 201)
  assert.deepEqual([await now(), await played()], [['completed', 'cached'], 'voice'])
  assert.deepEqual([await played('?rendition=raw'), await played('?rendition=enhanced')], ['master', 'voice'])
  assert.equal(await put('?rendition=raw', 'later master'), 201)
  assert.deepEqual([await now(), await played('?rendition=raw')], [['completed', 'cached'], 'later master'])
  await k.close()
})

const MASTERS: [string, object, object, [string, string]][] = [
  ['of a job without enhancement', {}, {}, ['completed', 'cached']],
  ['of a job whose enhancement is to come', ENHANCING, {}, ['running', 'recording']],
  [
    'that says why there is no enhanced one',
    ENHANCING,
    { 'x-svc-rendition-details': encoded({ enhancementFailure: 'no model' }) },
    ['completed', 'cached'],
  ],
]
for (const [what, profile, headers, [job, recording]] of MASTERS) {
  test(`a master alone ${what}: the job is ${job}`, async () => {
    const k = kit()
    const t = await chunked(k, { codec: 'wav', ...profile })
    const put = () => t.agent.put(`${t.path}?rendition=raw`, sound('master'), { ...t.headers, ...headers })
    assert.equal((await put()).status, 201)
    assert.equal((await put()).status, 201, 'again, because our answer was lost')
    assert.deepEqual([(await t.state()).status, (await t.recording()).status], [job, recording])
    assert.equal((await t.recording()).durationSeconds, job === 'completed' ? 5 : 0)
    assert.equal((await k.as('admin').get(`/recordings/${t.recordingId}/stream?rendition=raw`)).status, 200)
    assert.equal(t.files().length, 1)
    k.advance('1h')
    await k.tick('job-lease')
    assert.equal((await t.state()).status, job === 'completed' ? 'completed' : 'failed')
    await k.close()
  })

  test(`masters in chunks ${what}: the job is ${job}`, async () => {
    const k = kit()
    const t = await chunked(k, { codec: 'wav', ...profile })
    const put = (n: number, total = '') => t.put(n, wav(counted(n * 800, 800)), `&rendition=raw${total}`, headers)
    assert.equal((await put(0)).status, 201)
    assert.equal((await put(1, '&chunkTotal=2')).status, 201)
    assert.equal((await put(1, '&chunkTotal=2')).status, 201, 'again, because our answer was lost')
    assert.deepEqual([(await t.state()).status, (await t.recording()).status], [job, recording])
    await k.tick('chunk-join')
    assert.equal(t.files().length, job === 'completed' ? 3 : 2)
    await k.close()
  })
}

test('the same take again, because our answer was lost, changes nothing of what has become of it', async () => {
  const k = kit()
  const t = await chunked(k)
  const put = (query: string) => t.agent.put(`${t.path}${query}`, sound('take'), t.headers)
  const first = await put('')
  k.sql(`UPDATE recordings SET status = 'uploaded'`)
  const again = await put('')
  assert.deepEqual([again.status, again.json.data.file], [201, first.json.data.file])
  assert.equal((await t.recording()).status, 'uploaded')
  assert.equal(t.files().length, 1)
  await t.agent.put(t.path, sound('another take'), t.headers)
  assert.equal((await t.recording()).status, 'cached')
  await k.close()
})

test('a chunk again, because our answer was lost, is answered alike', async () => {
  const k = kit()
  const t = await chunked(k)
  const piece = (n: number) => wav(counted(n * 2000, 2000))
  for (const [n, query] of [
    [0, '&rendition=raw'],
    [0, '&rendition=enhanced'],
    [1, '&rendition=enhanced&chunkTotal=2'],
    [1, '&rendition=raw'],
  ] as const) {
    const first = await t.put(n, piece(n), query)
    const again = await t.put(n, piece(n), query)
    const told = ({ json, status }: typeof first) => [status, json.data.chunk, json.data.file]
    assert.deepEqual(told(again), told(first))
  }
  assert.equal(t.files().filter((name) => name.includes('part00')).length, 4)
  await k.close()
})
