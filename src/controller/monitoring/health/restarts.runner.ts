// What a recorder told before its agent started anew: the agent remembers nothing of it, and cannot say that it is over.
import { iso } from '../../../kernel/clock.ts'
import { ALERTS } from '../../../wire/alerts.en.ts'
import type { HealthEvent } from '../../../wire/health.ts'
import type { Audit } from '../../http/audit.ts'
import { systemActor } from '../../http/principal.ts'
import type { Runner } from '../../scheduler/ticker.ts'
import type { Db } from '../../store/db.ts'
import { type CaptureEvents, UNAVAILABLE } from './capture.store.ts'
import { endedBy } from './ends.rules.ts'
import type { HealthStore } from './health.store.ts'

interface Parts {
  audit: Audit
  captureEvents: CaptureEvents
  db: Db
  health: HealthStore
}

const INTERVAL_SECONDS = 30
/** A fault that lasts is told again within this time after a start: rules need seconds, exchanges up to a minute. */
const SETTLED_MS = 120_000
/** Starts that are older were looked at, but for those just before the controller itself was away. */
const LOOKED_AT_MS = 30 * 60_000
const ACTOR = systemActor('agent-restarts')

/** What an agent tells again after its start while it lasts. A device that is gone is ended by the inventory. */
const CONDITIONS = new Set(Object.keys(ALERTS).flatMap(endedBy))
const isCondition = (type: string): boolean =>
  (CONDITIONS.has(type) || /^agent\..+\.sync_failed$/.test(type)) && type !== UNAVAILABLE

const sameDevice = (a: HealthEvent, b: HealthEvent): boolean =>
  ['device', 'interfaceId'].every((field) => a.details[field] === b.details[field])

/** When it was told last, by the recorder's clock. */
const toldAt = ({ details, openedAt }: HealthEvent): string =>
  typeof details.repeatedAt === 'string' ? details.repeatedAt : openedAt

/** Those of the unresolved events of a recorder that it has not told again since its start. */
export function notToldAgain(standing: readonly HealthEvent[], startedAt: string): HealthEvent[] {
  const again = standing.filter((event) => toldAt(event) >= startedAt)
  return standing.filter(
    (event) =>
      toldAt(event) < startedAt &&
      event.recordingId === undefined &&
      isCondition(event.type) &&
      !again.some((other) => other.type === event.type && sameDevice(other, event)),
  )
}

/** Ends what an agent does not tell again after its start (docs/contract/health.md: Rules of the agent). */
export const restartRunner = ({ audit, captureEvents, db, health }: Parts): Runner => ({
  enabled: true,
  intervalSeconds: INTERVAL_SECONDS,
  name: 'agent-restarts',
  tick(now) {
    const at = Date.parse(now)
    const starts = captureEvents.starts(iso(at - LOOKED_AT_MS), iso(at - SETTLED_MS))
    let ended = 0
    for (const { nodeId, startedAt } of starts)
      ended += db.tx(() => {
        const over = notToldAgain(captureEvents.standing(nodeId), startedAt).map(({ id }) => id)
        const resolved = health.autoResolve(over, { by: ACTOR.id, reason: 'not_told_again' }, now)
        for (const { after, before } of resolved) {
          const target = { id: after.id, name: after.type, type: 'health_event' }
          const row = { actor: ACTOR, after, before, permission: 'health:acknowledge', target } as const
          audit.write({ action: 'health.agent_restart.resolved', outcome: 'succeeded', ...row }, now)
        }
        return resolved.length
      })
    return { ended }
  },
})
