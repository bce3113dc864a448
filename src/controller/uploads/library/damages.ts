// A copy at a destination is lost or another object: the row, the audit, the alert and the next upload, in one transaction.
import { type Clock, iso } from '../../../kernel/clock.ts'
import type { Audit, AuditEntry } from '../../http/audit.ts'
import { systemActor } from '../../http/principal.ts'
import type { HealthApi } from '../../monitoring/health/api.ts'
import type { Db } from '../../store/db.ts'
import type { Copy, CopyStore, FileId, Kept } from '../copies.store.ts'

const TYPE = 'recording.remote_copy_damaged'
const ACTOR = systemActor('library')

interface Parts {
  audit: Audit
  clock: Clock
  copies: CopyStore
  db: Db
  health: HealthApi['health']
}

export function damages({ audit, clock, copies, db, health }: Parts) {
  const open = db.stmt<{ id: string }, { id: string; severity: string }>(
    `SELECT id, severity FROM health_events WHERE recording_id = @id AND type = '${TYPE}' AND status <> 'resolved'`,
  )
  const nodeOf = db.stmt<{ id: string }, { nodeId: string | null }>(
    `SELECT node_id AS nodeId FROM recordings WHERE id = @id`,
  )
  const row = (copy: Copy, what: 'damaged' | 'left_behind' | 'sound', details: object): AuditEntry => ({
    action: `recordings.library.copy_${what}`,
    actor: ACTOR,
    correlation: { recordingId: copy.recordingId },
    details: { checksum: copy.checksum, destinationId: copy.destinationId, ...details },
    outcome: what === 'sound' ? 'succeeded' : 'failed',
    permission: 'recording:playback',
    reason: what === 'sound' ? null : 'remote_copy_damaged',
    target: { type: 'recording', id: copy.recordingId },
  })

  /** Resolves the alert once all copies of a take are sound again. */
  const settle = (recordingId: string, now: string): void => {
    if (copies.faults(recordingId) > 0) return
    const events = open.all({ id: recordingId }).map(({ id }) => id)
    health.autoResolve(events, { by: ACTOR.id, reason: 'copy_sound' }, now)
  }

  /** False when an alert stands that says as much; a warning makes way for what is critical. */
  const makesWay = (recordingId: string, severity: string, now: string): boolean => {
    const standing = open.all({ id: recordingId })
    if (standing.some((event) => event.severity === severity || event.severity === 'critical')) return false
    const ids = standing.map(({ id }) => id)
    health.autoResolve(ids, { by: ACTOR.id, reason: 'last_copy_lost' }, now)
    return true
  }

  return {
    /**
     * `why`: what is wrong with it, for people. Known damage is not told twice. `moved`: it was looked for at the new place of its
     * destination, and not being there is an alarm only where nothing else has it.
     */
    found(copy: Copy, why: string, { moved = false } = {}): void {
      const now = iso(clock.now())
      db.tx(() => {
        if (!copies.damage(copy, now)) return
        const left = copies.left(copy)
        const again = left > 0 && copies.reopen(copy, now)
        const details = { ...(again ? { uploadedAgain: true } : {}), copiesLeft: left, why }
        audit.write(row(copy, moved && left > 0 ? 'left_behind' : 'damaged', details), now)
        if (moved && left > 0) return
        const nodeId = nodeOf.get({ id: copy.recordingId })?.nodeId ?? undefined
        const { destinationId, recordingId } = copy
        const severity = left > 0 ? 'warning' : 'critical'
        if (!makesWay(recordingId, severity, now)) return
        health.open(
          { type: TYPE, severity, details: { ...details, destinationId }, nodeId, openedAt: now, recordingId },
          now,
        )
      })
    },
    /** It is there after all. */
    healed(copy: Copy): void {
      const now = iso(clock.now())
      db.tx(() => {
        if (!copies.heal(copy, now)) return
        audit.write(row(copy, 'sound', {}), now)
        settle(copy.recordingId, now)
      })
    },
    settle,
    /** A destination was seen to hold a file; call it within the transaction that says so. */
    kept(copy: Kept, now: string): void {
      copies.keep(copy, now)
      settle(copy.recordingId, now)
    },
    here: (file: FileId): void => db.tx(() => copies.here(file)),
    notHere: (file: FileId): void => db.tx(() => copies.notHere(file)),
  }
}
export type Damages = ReturnType<typeof damages>
