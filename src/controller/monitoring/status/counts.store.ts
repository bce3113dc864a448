import type { HealthStatus, Severity } from '../../../wire/health.ts'
import type { JobStatus, RecordingStatus } from '../../../wire/recordings.ts'
import type { UploadItem } from '../../../wire/uploads.ts'
import type { Visibility } from '../../http/visibility.ts'
import type { Db, Params, Stmt } from '../../store/db.ts'
import type { Condition } from '../../store/filter.ts'
import { type Counted, HEALTH, JOBS, type Kind, merged, RECORDINGS, UPLOADS } from './counts.rules.ts'

export interface RecordingCount {
  cached: 0 | 1
  n: number
  /** Empty for a deleted node. */
  nodeId: string
  status: RecordingStatus
}
export interface JobCount {
  n: number
  nodeId: string
  status: JobStatus
}
export interface HealthCount {
  /** In this status now. */
  n: number
  /** The node the event itself names, or empty. */
  nodeId: string
  severity: Severity
  status: HealthStatus
  /** How many ever had this status, as far as the scope allows to count. */
  total: number
  /** `other` beyond the types that are counted by name. */
  type: string
}
export interface UploadCount {
  /** Attempts of all that ever failed for good. */
  failures: number
  n: number
  /** When the first of them is due. */
  oldestAt: string | null
  provider: UploadItem['provider']
  status: UploadItem['status']
}

interface CountScope {
  /** The caller's scope as conditions on cells, and on the things themselves. */
  cells: Condition[]
  visible: Condition[]
  /** Ids that a grant or refusal names individually: of the kind itself, and of recordings. */
  named: string[]
  recordings: string[]
}

/**
 * Exact counts within a caller's scope, at a cost independent of the number of recordings, jobs, events and uploads:
 * maintained cells are summed, and only individually named things are examined.
 */
export function countStore(db: Db) {
  const ask = groupedCounts(db)
  const counted = <R extends Omit<Counted, 'sign'>>({ byCell, cells, keys, visible }: Kind, asked: CountScope): R[] => {
    const params = { named: JSON.stringify(asked.named), namedRecordings: JSON.stringify(asked.recordings) }
    const rows = (of: Kind['cells'], conditions: Condition[], sign: 1 | -1): (R & Counted)[] =>
      ask<R>(of, conditions, keys.length, params).map((row) => ({ ...row, sign }))
    if (asked.named.length + asked.recordings.length === 0) return merged(rows(cells, asked.cells, 1), keys)
    const named = [...rows(visible, asked.visible, 1), ...rows(byCell, asked.cells, -1)]
    return merged([...rows(cells, asked.cells, 1), ...named], keys)
  }
  const ofRecordings = (visibility: Visibility): CountScope => ({
    cells: visibility.recordings(),
    visible: visibility.recordings(),
    named: [],
    recordings: visibility.named('recording'),
  })
  return {
    recordings: (visibility: Visibility): RecordingCount[] => counted(RECORDINGS, ofRecordings(visibility)),
    uploads: (visibility: Visibility): UploadCount[] => counted(UPLOADS, ofRecordings(visibility)),
    jobs: (visibility: Visibility): JobCount[] =>
      counted(JOBS, {
        cells: visibility.jobCells(),
        visible: visibility.jobs(),
        named: visibility.named('recording_job'),
        recordings: visibility.named('recording'),
      }),
    health: (visibility: Visibility): HealthCount[] =>
      counted(HEALTH, {
        cells: visibility.healthCells(),
        visible: visibility.healthEvents(),
        named: visibility.named('health_event'),
        recordings: visibility.named('recording'),
      }),
  }
}
export type CountStore = ReturnType<typeof countStore>

/** Grouped by the first columns; one statement per combination of scope conditions. */
function groupedCounts(db: Db) {
  const statements = new Map<string, Stmt<Params, unknown>>()
  return <R>({ columns, from }: Kind['cells'], conditions: Condition[], keys: number, more: Params): R[] => {
    const where = conditions.length > 0 ? ` WHERE ${conditions.map((c) => `(${c.sql})`).join(' AND ')}` : ''
    const groups = Array.from({ length: keys }, (_, i) => i + 1).join(', ')
    const sql = `SELECT ${columns} FROM ${from}${where} GROUP BY ${groups}`
    const statement = statements.get(sql) ?? db.stmt<Params, unknown>(sql)
    statements.set(sql, statement)
    const given = Object.fromEntries(Object.entries(more).filter(([name]) => sql.includes(`@${name})`)))
    return statement.all(Object.assign(given, ...conditions.map((c) => c.params))) as R[]
  }
}
