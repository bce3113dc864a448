// What a recorder told before its agent started anew: the agent remembers nothing of it, and cannot say that it is over.
import { iso } from '../../../kernel/clock.ts'
import { DAY_MS } from '../../../kernel/zones.ts'
import { ALERTS } from '../../../wire/alerts.en.ts'
import type { Audit } from '../../http/audit.ts'
import { systemActor } from '../../http/principal.ts'
import type { Runner } from '../../scheduler/ticker.ts'
import type { Db } from '../../store/db.ts'
import { UNAVAILABLE } from './capture.store.ts'
import { endedBy } from './ends.rules.ts'
import type { Fault, ForgottenStore, Start } from './forgotten.store.ts'
import type { HealthStore } from './health.store.ts'

interface Parts {
  audit: Audit
  db: Db
  health: HealthStore
  store: ForgottenStore
}

const INTERVAL_SECONDS = 30
/** A fault that lasts is told again within this time after a start: rules need seconds, exchanges up to a minute. */
const SETTLED_MS = 120_000
const ACTOR = systemActor('forgotten-faults')

/** What an agent tells again after its start while it lasts. A device that is gone is ended by the inventory. */
const CONDITIONS = [...new Set(Object.keys(ALERTS).flatMap(endedBy))].filter((type) => type !== UNAVAILABLE)

const sameDevice = (a: Fault, b: Fault): boolean => a.device === b.device && a.interfaceId === b.interfaceId

/**
 * Those of the standing faults of a recorder that it has not told again since its start. Judged by the order of arrival and by the
 * controller's clock: that of a box that boots may be anywhere.
 */
function notToldAgain(faults: readonly Fault[], start: Pick<Start, 'doc' | 'heardAt'>): Fault[] {
  const isAgain = ({ doc, repeatedAt }: Fault) =>
    doc > start.doc || (repeatedAt !== null && repeatedAt >= start.heardAt)
  const again = faults.filter(isAgain)
  return faults.filter(
    (fault) => !isAgain(fault) && !again.some((other) => other.type === fault.type && sameDevice(other, fault)),
  )
}

/** Ends what an agent does not tell again after its start (docs/contract/health.md: Rules of the agent). */
export function forgottenRunner({ audit, db, health, store }: Parts): Runner {
  const end = (ids: readonly string[], now: string): void => {
    for (const { after, before } of health.autoResolve(ids, { by: ACTOR.id, reason: 'not_told_again' }, now)) {
      const target = { id: after.id, name: after.type, type: 'health_event' }
      const row = { actor: ACTOR, after, before, permission: 'health:acknowledge', target } as const
      audit.write({ action: 'health.forgotten_fault.resolved', outcome: 'succeeded', ...row }, now)
    }
  }
  /** Up to here the starts have been looked at. */
  let lookedTo: string | undefined
  return {
    enabled: true,
    intervalSeconds: INTERVAL_SECONDS,
    name: 'forgotten-faults',
    tick(now) {
      const to = iso(Date.parse(now) - SETTLED_MS)
      // Each start once; those of a day after a start of the controller, or when its clock was set back.
      const from = lookedTo !== undefined && lookedTo <= to ? lookedTo : iso(Date.parse(to) - DAY_MS)
      const over = store
        .starts(from, to)
        .flatMap((start) => notToldAgain(store.faults(start.nodeId, CONDITIONS), start))
        .map(({ id }) => id)
      if (over.length > 0) db.tx(() => end(over, now))
      lookedTo = to
      return { ended: over.length }
    },
  }
}
