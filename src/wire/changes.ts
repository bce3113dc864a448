import * as z from 'zod'
import { query } from './scalars.ts'

const CHANGE_KINDS = ['health', 'job', 'node', 'recording', 'room', 'schedule', 'settings', 'upload', 'user'] as const
export type ChangeKind = (typeof CHANGE_KINDS)[number]

/** `kinds`: names with commas between; all when absent. */
export const ChangeQuery = z.object({
  kinds: query(
    z
      .string()
      .max(200)
      .transform((names) => names.split(','))
      .pipe(z.array(z.enum(CHANGE_KINDS))),
  ),
})

/** Data of an event `change` (docs/contract/api.md: Change stream). */
export interface Change {
  at: string
  /** Absent when no single resource is meant: read the list again. Of settings `<family>/<id>`. */
  id?: string
  kind: ChangeKind
  /** `deleted` also when it has left the sight of whoever is told. */
  op: 'created' | 'deleted' | 'updated'
  state?: ChangeState
}

/** Of a health event, a job, a node, a recording or an upload, as it is when the event is sent. */
export interface ChangeState {
  /** Of a health event: how many the caller sees that are not resolved. */
  counts?: { critical: number; warning: number }
  /** Of the job's stage, or of the file that is sent, 0..100. */
  percent?: number
  /** The node records. */
  recording?: boolean
  severity?: string
  stage?: string
  status: string
}

/** Data of the first event, `hello`: after another `bootId` read everything again. */
export interface Hello {
  at: string
  bootId: string
  version: string
}
