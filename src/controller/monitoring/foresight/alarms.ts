import type { ForesightKind } from '../../../wire/foresight.ts'
import type { HealthEvent, Severity } from '../../../wire/health.ts'
import type { Audit } from '../../http/audit.ts'
import { systemActor } from '../../http/principal.ts'
import type { HealthStore } from '../health/health.store.ts'
import { changeOf } from '../health/lifecycle.rules.ts'

const ACTOR = systemActor('foresight')

/** What is told of a risk. */
export interface Telling {
  details: Record<string, unknown>
  /** It need not be watched for a while: its nature is to have lasted. */
  hasLasted?: boolean | undefined
  kind: ForesightKind
  nodeId: string | undefined
  /** Absent for a risk of the controller itself. */
  scheduleId: string | undefined
  severity: Severity
}

export const typeOf = (kind: ForesightKind): string => `foresight.${kind}`

/** Health events of what is foreseen: every opening, rise and end writes its audit row. Call in a transaction. */
export function foresightAlarms(health: HealthStore, audit: Audit) {
  const note = (
    kind: ForesightKind,
    what: 'created' | 'raised' | 'resolved',
    before: HealthEvent | undefined,
    after: HealthEvent,
    now: string,
  ): void => audit.write({ action: `health.foresight.${kind}.${what}`, actor: ACTOR, ...changeOf(after, before) }, now)
  return {
    open({ details, kind, nodeId, scheduleId, severity }: Telling, now: string): void {
      const { event } = health.open({ details, nodeId, openedAt: now, scheduleId, severity, type: typeOf(kind) }, now)
      note(kind, 'created', undefined, event, now)
    },
    /** What is known by now; people are told again only when it becomes more severe. */
    update(id: string, { details, kind, severity }: Telling, now: string): void {
      // Read in the transaction that writes: somebody may have moved or annotated it since the pass began.
      const before = health.find(id)
      if (!before || before.status === 'resolved') return
      const after = { ...before, details: { ...before.details, ...details }, severity }
      health.refresh(before, after, false, now)
      if (RANK[severity] > RANK[before.severity]) note(kind, 'raised', before, after, now)
    },
    resolve(kind: ForesightKind, id: string, reason: string, now: string): void {
      for (const { after, before } of health.autoResolve([id], { by: ACTOR.id, reason }, now))
        note(kind, 'resolved', before, after, now)
    },
  }
}
export type ForesightAlarms = ReturnType<typeof foresightAlarms>

const RANK: Record<Severity, number> = { info: 0, warning: 1, critical: 2 }
