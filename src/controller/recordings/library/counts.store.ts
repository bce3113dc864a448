import type { RecordingFilters } from '../../../wire/recordings.ts'
import type { Visibility } from '../../http/visibility.ts'
import type { Db } from '../../store/db.ts'
import { type Condition, Lister, when } from '../../store/filter.ts'

/** Cells that match; `ids` is a JSON array. */
export interface Picked {
  /** How many cells. */
  cells: number
  ids: string
  /** How many recordings are in them. */
  n: number
  /** The range of values in each order that cells cover, which bounds a walk. */
  healthFrom: string | null
  healthTo: string | null
  sourceFrom: string | null
  sourceTo: string | null
  statusFrom: string | null
  statusTo: string | null
}

/** Recordings named individually by grants or denials, where that differs from the visibility of their cell. */
export interface Exceptions {
  /** Visible although their cell is not. */
  also: number[]
  /** Not visible although their cell is. */
  not: number[]
}

// A scope as `r`: it has the columns by which a recording is visible, except its id.
const SCOPES = `(SELECT id AS scope_id, NULL AS id, nullif(node_id, '') AS node_id, nullif(room_id, '') AS room_id,
  nullif(schedule_id, '') AS schedule_id FROM recording_scopes) r`
const PICKED = `count(*) AS cells, json_group_array(c.id) AS ids, coalesce(sum(c.n), 0) AS n, min(c.health) AS healthFrom,
  max(c.health) AS healthTo, min(c.source) AS sourceFrom, max(c.source) AS sourceTo, min(c.status) AS statusFrom, max(c.status) AS statusTo`
const NAMED = `(SELECT value FROM json_each(@named))`

/** Which cells of the library a caller and a filter pick (0011_search.sql): their sums are exact totals. */
export function recordingCounts(db: Db) {
  const cells = new Lister<Picked>(db, {
    columns: PICKED,
    from: `${SCOPES} CROSS JOIN recording_cells c ON c.scope_id = r.scope_id`,
  })
  const scopes = new Lister<{ id: number }>(db, { columns: 'r.scope_id AS id', from: SCOPES })
  const recordings = new Lister<{ seq: number }>(db, { columns: 'r.seq', from: 'recordings r' })
  const unnamed = new Lister<{ seq: number }>(db, {
    columns: 'r.seq',
    from: `(SELECT seq, NULL AS id, node_id, room_id, schedule_id FROM recordings WHERE id IN ${NAMED}) r`,
  })
  return {
    pick: (conditions: Condition[]): Picked => cells.aggregate(PICKED, conditions),
    /** Visible scopes, without recordings named individually. */
    scopes: (visibility: Visibility): number[] =>
      scopes.all(visibility.recordings(), 'r.scope_id').map((row) => row.id),
    exceptions(visibility: Visibility): Exceptions {
      const ids = visibility.named('recording')
      if (ids.length === 0) return { also: [], not: [] }
      const named = { named: JSON.stringify(ids) }
      const within = visibility.recordings()
      const visible = recordings.all([{ sql: `r.id IN ${NAMED}`, params: named }, ...within], 'r.seq')
      const byCell = unnamed.all([{ sql: '1', params: named }, ...within], 'r.seq')
      const [open, scoped] = [visible, byCell].map((rows) => new Set(rows.map((row) => row.seq))) as [
        Set<number>,
        Set<number>,
      ]
      return { also: [...open.difference(scoped)], not: [...scoped.difference(open)] }
    },
  }
}
export type RecordingCounts = ReturnType<typeof recordingCounts>

/** The filters that cells can answer. */
export const cellConditions = (f: RecordingFilters): Condition[] => [
  ...when(f.status, 'c.status = @status', (status) => ({ status })),
  ...when(f.healthStatus, 'c.health = @healthStatus', (healthStatus) => ({ healthStatus })),
  ...when(f.cacheState, 'c.cached = @cached', (state) => ({ cached: state === 'cached' ? 1 : 0 })),
  ...when(f.nodeId, 'r.node_id = @nodeId', (nodeId) => ({ nodeId })),
  ...when(f.recordingProfileId, 'c.profile_id = @profileId', (profileId) => ({ profileId })),
  ...when(f.scheduleId, 'r.schedule_id = @scheduleId', (scheduleId) => ({ scheduleId })),
]

/** The same on a recording itself, for the few that are examined one by one. */
export const ownConditions = (f: RecordingFilters): Condition[] => [
  ...when(f.status, 'r.status = @status', (status) => ({ status })),
  ...when(f.healthStatus, 'r.health_status = @healthStatus', (healthStatus) => ({ healthStatus })),
  ...when(f.cacheState, 'r.cached = @cached', (state) => ({ cached: state === 'cached' ? 1 : 0 })),
  ...when(f.nodeId, 'r.node_id = @nodeId', (nodeId) => ({ nodeId })),
  ...when(f.recordingProfileId, 'r.recording_profile_id = @profileId', (profileId) => ({ profileId })),
  ...when(f.scheduleId, 'r.schedule_id = @scheduleId', (scheduleId) => ({ scheduleId })),
]

// Fields that all recordings of a cell share: free text is searched in them without reading recordings.
const CELL_FIELDS = ['c.status', 'c.source', 'r.node_id', 'c.profile_id', 'r.schedule_id']

/** Cells whose own fields contain a folded text. */
export const cellsSaying = (text: string): Condition => ({
  sql: CELL_FIELDS.map((field) => `instr(lower(${field}), @text) > 0`).join(' OR '),
  params: { text },
})
