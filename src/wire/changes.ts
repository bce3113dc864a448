/** What `GET /events` tells (docs/contract/api.md: Change stream). */
export type ChangeKind =
  | 'access'
  | 'alert'
  | 'job'
  | 'node'
  | 'recording'
  | 'room'
  | 'schedule'
  | 'settings'
  | 'switcher'
  | 'upload'

/** Data of an event `change`: read the resource again; what is small enough stands in `state`. */
export interface Change {
  at: string
  /** Absent when no single resource is meant: read the list again. */
  id?: string
  kind: ChangeKind
  state?: ChangeState
}

/** Of an alert, a job or a node, as it is when the event is sent. */
export interface ChangeState {
  /** Of the job's stage, 0..100. */
  percent?: number
  severity?: string
  stage?: string
  status: string
}

/** Data of the first event, `hello`: after another `bootId` read everything again. */
export interface Hello {
  bootId: string
  version: string
}
