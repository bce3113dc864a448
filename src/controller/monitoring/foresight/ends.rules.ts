/** What has become of the occurrence that an event speaks of. */
export interface End {
  /** A recorder has begun its recording. */
  began: number
  enabled: number | null
  /** Of the schedule; null when it is gone. */
  id: string | null
  nodeId: string | null
  nodeStatus: string | null
  outcome: 'missed' | 'skipped' | 'started' | null
  /** An exception leaves its date out. */
  excepted: number
  /** An alarm of the schedule says why it does not start. */
  refused: number
  /** It is due, and its recorder has not begun. */
  waiting: number
  slotAt: string | null
}

const OUTCOMES = { missed: 'slot_ended', skipped: 'occurrence_skipped', started: 'take_began' } as const

export interface Occurrence {
  /** Its local date. */
  date: string
  nodeId: string | undefined
  occurrenceAt: string
  /** Start of its recording, ISO. */
  startAt: string
}

/** Why what was foreseen of this occurrence is over, whether or not the risk is; undefined while it waits for its start. */
export function overBecause(end: End, { nodeId, occurrenceAt, startAt }: Occurrence, now: string): string | undefined {
  if (end.id === null) return 'schedule_deleted'
  if (end.waiting === 1) return undefined
  if (end.outcome === 'started' && end.began === 0) return 'take_never_began'
  if (end.outcome !== null) return OUTCOMES[end.outcome]
  if (end.nodeStatus === 'retired') return 'node_retired'
  if (end.enabled !== 1) return 'schedule_disabled'
  if (end.excepted === 1) return 'occurrence_skipped'
  if ((end.nodeId ?? undefined) !== nodeId || end.slotAt !== occurrenceAt) return 'schedule_changed'
  // It is being started, or was refused: then the alarm of the schedule goes on from here.
  if (startAt <= now) return end.refused === 1 ? 'start_refused' : undefined
  return 'not_due_yet'
}

/** Whether the occurrence itself is over: what stands against the next one is told anew. */
export const isOver = ({ excepted, outcome }: End): boolean => outcome !== null || excepted === 1
