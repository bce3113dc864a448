// A small crowd of recordings with everything mixed, and what a list or a facet should say of them by looking at each.

import type { Visibility } from '../../../../src/controller/http/visibility.ts'
import { recordingStore } from '../../../../src/controller/recordings/library/recordings.store.ts'
import type { Facet, Recording, RecordingFilters } from '../../../../src/wire/recordings.ts'
import type { Kit } from '../../../kit/kit.ts'
import { mulberry32 } from '../../../kit/random.ts'
import { takes } from './takes.ts'

/** The same numbers in every run. */
export function dice(seed: number) {
  const next = mulberry32(seed)
  const roll = (below: number): number => Math.floor(next() * below)
  return {
    roll,
    of: <T>(values: readonly T[]): T => values[roll(values.length)] as T,
    some: <T>(values: readonly T[]): T[] => values.filter(() => roll(3) === 0),
  }
}
export type Dice = ReturnType<typeof dice>

const NODES = ['n1', 'n2', 'n3']
const ROOMS = ['a', 'b', 'c']
const SCHEDULES = ['s1', 's2']
const TAGS = ['voice', 'exam', 'Übung', '会議', 'x']
const FOLDERS = ['Ad Hoc/2026', 'ad hoc/2026', 'Kurs/Ärzte', 'Z', 'a']
const NAMES = ['Budget 100%', 'ÉCOLE', 'école du soir', '東京会議', 'straße', 'b', 'B', 'ａbc', 'a_b']
const STATUSES = ['cached', 'failed', 'completed', 'uploaded', 'recording'] as const
const HEALTHS = ['healthy', 'warning', 'critical'] as const

export function crowd(k: Kit, { of, roll, some }: Dice, count: number) {
  const t = takes(k)
  t.node('n1', 'North', 'a')
  t.node('n2', 'South', 'b')
  t.node('n3', 'South', 'c')
  for (const id of SCHEDULES)
    k.sql(
      `INSERT INTO schedules (id, name, node_id, room_id, created_at, updated_at) VALUES (?, ?, 'n2', 'c', '', '')`,
      id,
      id,
    )
  k.sql(`INSERT INTO upload_policies SELECT 'p2', name, destination_id, enabled, trigger_kind, max_attempts, path_override,
    delete_cache_after_upload, updated_at FROM upload_policies WHERE id = 'upload-policy-stub'`)
  let made = 0
  const add = (): void => {
    const id = `rec_${String(++made).padStart(4, '0')}${of(['x', 'y', ''])}`
    const day = String(1 + roll(9))
    t.recording(id, {
      folder: of(FOLDERS),
      name: of(NAMES),
      nodeId: of(NODES),
      recordedAt: `2026-01-0${day}T00:00:00.000Z`,
      recordingProfileId: of(['voice-mp3-vbr', undefined]),
      roomId: of([...ROOMS, undefined]),
      scheduleId: of([...SCHEDULES, undefined]),
      source: of(['ad_hoc', 'schedule']),
      tags: some(TAGS),
      uploadPolicyIds: some(['upload-policy-stub', 'p2']),
    })
    const seconds = 60 * roll(3)
    k.sql(
      'UPDATE recordings SET status = ?, health_status = ?, duration_seconds = ? WHERE id = ?',
      of(STATUSES),
      of(HEALTHS),
      seconds,
      id,
    )
    if (roll(2))
      t.store.edit(
        id,
        { notes: of(['Notiz über Ölfarben', 'quorum\nmet', '会']), transcriptSnippets: some(['Guten Tag', 'ПРИВЕТ']) },
        k.now(),
      )
    if (roll(2)) t.file(id, of(['raw', 'primary']), Buffer.from(id))
  }
  for (let i = 0; i < count; i++) add()
  const ids = () => k.rows<{ id: string }>('SELECT id FROM recordings ORDER BY id').map((row) => row.id)
  /** One random thing that happens to a recording, or to what it belongs to. */
  const happen = (): void => {
    const id = of(ids())
    const deeds = [
      () => add(),
      () => k.sql('DELETE FROM recordings WHERE id = ?', id),
      () => k.sql('UPDATE recordings SET status = ?, health_status = ? WHERE id = ?', of(STATUSES), of(HEALTHS), id),
      () => k.sql('UPDATE recordings SET node_id = ?, room_id = ? WHERE id = ?', of(NODES), of([...ROOMS, null]), id),
      () => void t.store.edit(id, { folder: of(FOLDERS), name: of(NAMES), tags: some(TAGS) }, k.now()),
      () => void t.store.restart(id, k.now()),
      () => void t.file(id, 'enhanced', Buffer.from('e'), 'mp3'),
    ]
    of(deeds)()
  }
  return { add, happen, ids, takes: t }
}

/** Every recording a caller sees, by the conditions of the scope alone. */
export function seen(k: Kit, visibility: Visibility): Recording[] {
  const conditions = visibility.recordings()
  const where = conditions.map((c) => ` AND (${c.sql})`).join('')
  const params = Object.assign({}, ...conditions.map((c) => c.params))
  const store = recordingStore(k.db)
  const rows = k.db.raw.prepare<[object], { id: string }>(`SELECT r.id FROM recordings r WHERE 1 ${where}`).all(params)
  return rows.map(({ id }) => store.get(id))
}

const fold = (text: string): string => text.normalize('NFKC').toLowerCase()
const nocase = (text: string): string => text.replace(/[A-Z]/g, (c) => c.toLowerCase())

/** What a list should hold, in its order. */
export function expected(all: Recording[], f: RecordingFilters): string[] {
  const has = (value: string | undefined, part: string | undefined) =>
    part === undefined || fold(value ?? '').includes(fold(part))
  const is = <T>(value: T, wanted: T | undefined) => wanted === undefined || value === wanted
  const words = (r: Recording) => [
    ...[r.folder, r.id, r.name, r.notes, r.nodeId, r.recordingProfileId, r.scheduleId, r.source, r.status],
    ...[...r.uploadPolicyIds, ...r.tags, ...(r.transcriptSnippets ?? [])],
  ]
  const matching = all.filter(
    (r) =>
      (f.search === undefined || words(r).some((word) => word !== undefined && has(word, f.search))) &&
      has(r.folder, f.folder) &&
      is(r.status, f.status) &&
      is(r.healthStatus, f.healthStatus) &&
      (f.cacheState === undefined || r.cached === (f.cacheState === 'cached')) &&
      is(r.nodeId, f.nodeId) &&
      is(r.scheduleId, f.scheduleId) &&
      is(r.recordingProfileId, f.recordingProfileId) &&
      (f.uploadPolicyId === undefined || r.uploadPolicyIds.includes(f.uploadPolicyId)) &&
      (f.tag === undefined || r.tags.some((tag) => fold(tag) === fold(f.tag as string))) &&
      (f.recordedFrom === undefined || r.recordedAt >= f.recordedFrom) &&
      (f.recordedTo === undefined || r.recordedAt <= f.recordedTo),
  )
  const { sortBy = 'recordedAt' } = f
  const sign = (f.sortOrder ?? (/recordedAt|durationSeconds/.test(sortBy) ? 'desc' : 'asc')) === 'desc' ? -1 : 1
  const key = (r: Recording) => (/name|folder/.test(sortBy) ? Buffer.from(nocase(String(r[sortBy]))) : r[sortBy])
  const compare = (a: unknown, b: unknown): number =>
    Buffer.isBuffer(a)
      ? Buffer.compare(a, b as Buffer)
      : (a as number) < (b as number)
        ? -1
        : (a as number) > (b as number)
          ? 1
          : 0
  return matching.sort((a, b) => sign * compare(key(a), key(b)) || (a.id < b.id ? -1 : 1)).map((r) => r.id)
}

/** Counts by looking at each: most first, then by value. */
export function counted(values: string[]): Facet[] {
  const counts = new Map<string, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return [...counts]
    .map(([value, count]) => ({ count, value }))
    .sort((a, b) => b.count - a.count || Buffer.compare(Buffer.from(a.value), Buffer.from(b.value)))
}
