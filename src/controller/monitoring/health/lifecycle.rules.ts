import type { HealthEvent, HealthMove } from '../../../wire/health.ts'

/** Who moves an event, when, and with which note. */
export interface Move {
  by: string
  /** What a person is called. */
  byName?: string | undefined
  note?: string | undefined
  now: string
  /** End of a suppression; null or absent: until somebody ends it. */
  suppressedUntil?: string | null | undefined
}

/**
 * The event after a move (docs/contract/health.md: States of an event). Undefined when the state forbids it: a resolved event
 * can only be reopened. Suppressing an event also acknowledges it.
 */
export function transition(event: HealthEvent, action: HealthMove, move: Move): HealthEvent | undefined {
  if (event.status === 'resolved' && action !== 'reopen') return undefined
  const details = move.note === undefined ? event.details : { ...event.details, [`${action}Note`]: move.note }
  return { ...event, details, ...CHANGES[action](event, move) }
}

const named = (field: 'acknowledgedByName' | 'resolvedByName', name: string | undefined) =>
  name === undefined ? {} : { [field]: name }

const acknowledgement = (event: HealthEvent, { by, byName, now }: Move): Partial<HealthEvent> =>
  event.acknowledgedAt === null
    ? { acknowledgedAt: now, acknowledgedBy: by, ...named('acknowledgedByName', byName) }
    : {}

const CHANGES: Record<HealthMove, (event: HealthEvent, move: Move) => Partial<HealthEvent>> = {
  acknowledge: (event, move) => ({
    ...acknowledgement(event, move),
    status: event.status === 'suppressed' ? 'suppressed' : 'acknowledged',
  }),
  suppress: (event, move) => ({
    ...acknowledgement(event, move),
    status: 'suppressed',
    suppressedAt: move.now,
    suppressedBy: move.by,
    suppressedUntil: move.suppressedUntil ?? null,
  }),
  resolve: (_, { by, byName, now }) => ({
    status: 'resolved',
    resolvedAt: now,
    resolvedBy: by,
    ...named('resolvedByName', byName),
  }),
  reopen: () => ({
    status: 'open',
    resolvedAt: null,
    resolvedBy: undefined as never,
    resolvedByName: undefined as never,
    suppressedAt: null,
    suppressedBy: undefined as never,
    suppressedUntil: null,
  }),
}

/** Why `/actions` shows a move as blocked; stricter than the routes, which accept a repeat. */
export function blocked({ status }: HealthEvent, action: HealthMove): string | false {
  if (action === 'reopen') return status !== 'resolved' && 'health_event_not_resolved'
  if (status === 'resolved') return 'health_event_resolved'
  if (action === 'acknowledge') return status !== 'open' && 'health_event_not_open'
  return action === 'suppress' && status === 'suppressed' && 'health_event_already_suppressed'
}

// An opening time beyond this comes from a broken clock; it is shown as sent and sorted last.
const LATEST = Date.UTC(2200, 0)
const SLOTS = 1024

/** Least `seq` of events opened at an instant: 1024 per millisecond, within exact numbers until the year 2200. */
export const firstSeq = (at: string): number => Math.min(Math.max(Date.parse(at), 0), LATEST) * SLOTS

/** Greatest `seq` of events opened at an instant. */
export const lastSeq = (at: string): number => firstSeq(at) + SLOTS - 1

/** Position of an event in the order of opening, then id: ten bits of its UUID decide within a millisecond. */
export const seqOf = (openedAt: string, id: string): number =>
  firstSeq(openedAt) + (Number.parseInt(id.slice(0, 3), 16) >> 2 || 0)

/** The ids that an event's audit rows are correlated with. */
export const correlationOf = ({ id, nodeId, recordingId, scheduleId }: HealthEvent): Record<string, string> => ({
  healthEventId: id,
  ...(nodeId ? { nodeId } : {}),
  ...(recordingId ? { recordingId } : {}),
  ...(scheduleId ? { scheduleId } : {}),
})

/** What the audit row of a watcher's change to an event holds besides who and what; `before` is absent for a new event. */
export const changeOf = (after: HealthEvent, before?: HealthEvent) =>
  ({
    after,
    ...(before ? { before } : {}),
    correlation: correlationOf(after),
    outcome: 'succeeded',
    permission: 'health:acknowledge',
    target: { type: 'health_event', id: after.id, name: after.type },
  }) as const
