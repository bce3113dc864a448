import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { UserPrincipal } from '../../../../src/controller/http/principal.ts'
import { visibilities } from '../../../../src/controller/http/visibility.ts'
import { recordingStore } from '../../../../src/controller/recordings/library/recordings.store.ts'
import { HEALTHS, RECORDING_SORTS, type RecordingFilters } from '../../../../src/wire/recordings.ts'
import { kit } from '../../../kit/kit.ts'
import { counted, crowd, type Dice, dice, expected, seen } from './crowd.ts'

const WORDS = [
  'école',
  'ÉCOLE',
  '会議',
  '会',
  '東京',
  '100%',
  'STRASSE',
  'straße',
  'ölf',
  'привет',
  'b',
  'a_b',
  'abc',
  'rec_',
  'rec_0003',
  'fail',
  'sched',
  'n2',
  'p2',
  'übung',
  '\\',
  '"',
  '%',
  'met',
  'zzzz',
]

function filters({ of, roll }: Dice): RecordingFilters {
  const maybe = <T>(odds: number, value: T): T | undefined => (roll(odds) === 0 ? value : undefined)
  return {
    cacheState: maybe(5, of(['cached', 'missing'])),
    folder: maybe(5, of(['2026', 'AD HOC', 'ärzte', 'nowhere'])),
    healthStatus: maybe(6, of(HEALTHS)),
    nodeId: maybe(5, of(['n1', 'n2', 'none'])),
    recordedFrom: maybe(6, '2026-01-04T00:00:00.000Z'),
    recordedTo: maybe(6, '2026-01-06T00:00:00.000Z'),
    recordingProfileId: maybe(6, 'voice-mp3-vbr'),
    scheduleId: maybe(6, 's1'),
    search: maybe(2, of(WORDS)),
    sortBy: maybe(1, of(RECORDING_SORTS)),
    sortOrder: maybe(2, of(['asc', 'desc'])),
    status: maybe(6, of(['cached', 'failed'])),
    tag: maybe(5, of(['VOICE', 'übung', '会議'])),
    uploadPolicyId: maybe(6, 'p2'),
  }
}

const PAIRS = [
  'room a',
  'room b',
  'node n1',
  'site South',
  'schedule s1',
  'recording rec_0003x',
  'recording rec_0007',
  'recording rec_0011y',
  '* *',
  'recording *',
]

/** Callers of every kind: grants, refusals, single recordings, owners. */
function caller({ of, roll, some }: Dice): UserPrincipal {
  const pair = (text: string) => ({ type: text.split(' ')[0] as string, id: text.split(' ')[1] as string })
  return {
    kind: 'user',
    allow: some(PAIRS).map(pair),
    deny: roll(2) ? some(PAIRS.slice(0, 8)).map(pair) : [],
    email: '',
    id: 'u',
    name: 'u',
    permissions: new Set(['recording:read']),
    roles: roll(3) === 0 ? ['owner'] : ['viewer'],
    rooms: new Map(roll(3) === 0 ? [[of(['a', 'b']), new Set(['view'])]] : []),
    sessionId: 's',
  }
}

test('whichever way a list takes, it holds what looking at each recording finds, in order, whole and in pages', async () => {
  const k = kit()
  const d = dice(7)
  const { happen } = crowd(k, d, 70)
  const visibility = visibilities(k.db)
  // All in sets, all on walks and merges, and in between.
  const stores = [4000, 0, 6].map((small) => recordingStore(k.db, small))
  for (let round = 0; round < 500; round++) {
    if (round % 5 === 0) happen()
    const principal = visibility(caller(d), 'recording:read')
    const f = filters(d)
    const want = expected(seen(k, principal), f)
    const why = JSON.stringify({ f, principal: principal.recordings().map((c) => c.params) })
    const offset = d.roll(want.length + 3)
    const limit = 1 + d.roll(30)
    for (const store of stores) {
      const page = store.list(principal, f, limit, { after: undefined, offset })
      assert.deepEqual(
        page.rows.map((row) => row.id),
        want.slice(offset, offset + limit),
        why,
      )
      if (page.exact) assert.equal(page.total, want.length, why)
      else assert.ok(page.total <= want.length && page.total >= Math.min(want.length, offset + page.rows.length), why)
      const whole = [...store.walk(principal, f, 1 + d.roll(9), { after: undefined, offset })].flat()
      assert.deepEqual(
        whole.map((row) => row.id),
        want.slice(offset),
        why,
      )
    }
  }
  await k.close()
})

test('facets count exactly what the caller sees, after every kind of change', async () => {
  const k = kit()
  const d = dice(11)
  const { happen, takes } = crowd(k, d, 50)
  const visibility = visibilities(k.db)
  const agree = (): void => {
    for (let i = 0; i < 3; i++) {
      const principal = visibility(caller(d), 'recording:read')
      const all = seen(k, principal)
      assert.deepEqual(takes.store.facets(principal), {
        folders: counted(all.map((r) => r.folder)),
        nodes: counted(all.flatMap((r) => r.nodeId ?? [])),
        recordingProfiles: counted(all.flatMap((r) => r.recordingProfileId ?? [])),
        tags: counted(all.flatMap((r) => r.tags)),
        trackGroups: [],
        uploadPolicies: counted(all.flatMap((r) => r.uploadPolicyIds)),
      })
    }
  }
  for (let round = 0; round < 150; round++) {
    happen()
    agree()
  }
  for (const gone of [
    `DELETE FROM schedules WHERE id = 's1'`,
    `DELETE FROM upload_policies WHERE id = 'p2'`,
    `DELETE FROM rooms WHERE id = 'a'`,
  ]) {
    k.sql(gone)
    agree()
  }
  k.sql('DELETE FROM recordings')
  for (const table of ['recording_cells', 'recording_facets', 'recording_facet_totals', 'recording_texts'])
    assert.deepEqual(k.rows(`SELECT * FROM ${table}`), [], table)
  assert.deepEqual(k.rows(`SELECT rowid FROM recording_grams WHERE recording_grams MATCH '"a"'`), [])
  await k.close()
})
