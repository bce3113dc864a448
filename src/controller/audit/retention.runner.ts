import { setImmediate as nextTurn } from 'node:timers/promises'
import { isoPlus } from '../../kernel/clock.ts'
import type { Audit } from '../http/audit.ts'
import { systemActor } from '../http/principal.ts'
import { certainlyBefore, type Doubted, type Stretch } from '../monitoring/clock/trust.rules.ts'
import type { Runner } from '../scheduler/ticker.ts'
import type { Db } from '../store/db.ts'
import type { AuditRetention } from './retention.store.ts'

// A batch is one short transaction; a pass is bounded so that a stop need not wait for the whole backlog.
const BATCH = 200
const BATCHES = 500
const DAY_SECONDS = 86_400

interface Parts {
  audit: Audit
  db: Db
  days: number
  /** Stamps that say more age than there is. */
  doubted: () => readonly Doubted[]
  enabled: boolean
  intervalSeconds: number
  retention: AuditRetention
  /** Whether the clock can be trusted to tell how old a row is. */
  trusted: () => boolean
}

/** Deletes audit rows older than the retention (ADR-0004); each batch writes one row with the number. */
export const auditRetentionRunner = (parts: Parts): Runner => {
  const { audit, db, days, doubted, enabled, intervalSeconds, retention, trusted } = parts
  const batch = (stretches: readonly Stretch[], cutoff: string, now: string): number =>
    db.tx(() => {
      let deleted = 0
      for (const stretch of stretches) if (deleted < BATCH) deleted += retention.sweep(stretch, BATCH - deleted)
      if (deleted > 0)
        audit.write(
          {
            action: 'audit.retention.completed',
            actor: systemActor('audit-retention'),
            details: { cutoff, deleted, retentionDays: days },
            outcome: 'succeeded',
            target: { type: 'audit_event' },
          },
          now,
        )
      return deleted
    })
  return {
    name: 'audit-retention',
    enabled,
    intervalSeconds,
    tick: async (now) => {
      const cutoff = isoPlus(now, -days * DAY_SECONDS)
      const stretches = certainlyBefore(Date.parse(cutoff), doubted())
      let deleted = 0
      for (let n = 0; trusted() && n < BATCHES; n++) {
        const gone = batch(stretches, cutoff, now)
        deleted += gone
        if (gone < BATCH) break
        await nextTurn()
      }
      return { cutoff, deleted }
    },
  }
}
