import { iso } from '../../kernel/clock.ts'
import type { Ids } from '../../kernel/ids.ts'
import type { Outcome } from '../../wire/audit.ts'
import type { Db } from '../store/db.ts'
import { json } from '../store/filter.ts'
import { auditWriter } from './auditwriter.ts'
import type { Actor } from './principal.ts'
import type { Snapshot, Target } from './route.ts'

/** Where a request came from, as audit rows and sessions keep it. */
interface ActorContext {
  ipAddress?: string
  sessionId?: string
  userAgent?: string
}

export interface AuditEntry {
  action: string
  actor: Actor
  after?: Snapshot | null | undefined
  before?: Snapshot | null | undefined
  context?: ActorContext
  correlation?: Record<string, string>
  details?: Record<string, unknown>
  outcome: Outcome
  permission?: string | null
  reason?: string | null
  target: Target
}

export interface Audit {
  /** Writes one row; call it inside the transaction it describes. Never pass it a secret. */
  write(entry: AuditEntry, now: string): void
  /**
   * A machine's success that changed nothing: one row per (node, action) and window, whose details have the number of calls
   * it represents, and since when (ADR-0004). The entry is built only when it is written.
   */
  writeThrottled(actorId: string, action: string, make: () => AuditEntry, now: string): void
}

interface Window {
  count: number
  since: number
}

/** `onWrite` is called for every row but those of machines that changed nothing, within the transaction that writes it. */
export function audit(db: Db, ids: Ids, windowSeconds: number, onWrite?: (entry: AuditEntry) => void): Audit {
  const { append } = auditWriter(db)
  // One entry per node and action: as large as the fleet, not as the traffic.
  const windows = new Map<string, Window>()

  const row = (e: AuditEntry, now: string): void =>
    append({
      id: ids.uuid(),
      now,
      action: e.action.slice(0, 160),
      outcome: e.outcome,
      permission: e.permission ?? '',
      reason: e.reason ?? '',
      actorType: e.actor.type,
      actorId: e.actor.id,
      actorName: e.actor.name,
      actorRoles: JSON.stringify(e.actor.roles),
      ip: e.context?.ipAddress ?? '',
      session: e.context?.sessionId ?? '',
      agent: e.context?.userAgent?.slice(0, 400) ?? '',
      targetType: e.target.type,
      targetId: e.target.id?.slice(0, 400) ?? '',
      targetName: e.target.name?.slice(0, 400) ?? '',
      details: JSON.stringify(e.details ?? {}),
      before: json(e.before),
      after: json(e.after),
      correlation: json(e.correlation),
    })

  const write = (e: AuditEntry, now: string): void => {
    row(e, now)
    onWrite?.(e)
  }

  const quiet: Audit['writeThrottled'] = (actorId, action, make, now) => {
    const key = `${actorId} ${action}`
    const at = Date.parse(now)
    const window = windows.get(key)
    // A clock that was set back also ends a window.
    if (window && at >= window.since && at - window.since < windowSeconds * 1000) {
      window.count++
      return
    }
    windows.set(key, { count: 1, since: at })
    // The calls since the last row, this one included.
    const tally = window ? { count: window.count, since: iso(window.since) } : { count: 1 }
    const e = make()
    row({ ...e, details: { ...e.details, ...tally } }, now)
  }

  return { write, writeThrottled: quiet }
}
