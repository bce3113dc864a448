import { iso } from '../../kernel/clock.ts'
import { DAY_MS } from '../../kernel/zones.ts'
import type { Severity } from '../../wire/health.ts'
import type { RulePreview, RulePreviewRequest } from '../../wire/notifications.ts'
import type { Visibility } from '../http/visibility.ts'
import { firstSeq } from '../monitoring/health/lifecycle.rules.ts'
import type { Db } from '../store/db.ts'
import { type Condition, Lister } from '../store/filter.ts'
import { concerns, isAtLeast, isRecovery, patienceFor, topicOf } from './rules.rules.ts'

const DAYS = 30
/** Newest events that are examined: a few milliseconds. */
const EXAMINED = 3000

interface Past {
  nodeId: string | null
  openedAt: string
  recordingId: string | null
  resolvedAt: string | null
  roomId: string | null
  scheduleId: string | null
  severity: Severity
  site: string | null
  type: string
}

/** What a rule would have told of the past. */
export function previewStore(db: Db) {
  const past = new Lister<Past>(db, {
    columns: `h.type, h.severity, h.opened_at AS openedAt, h.resolved_at AS resolvedAt, h.node_id AS nodeId, h.recording_id AS recordingId,
      h.schedule_id AS scheduleId,
      coalesce(r.room_id, s.room_id, n.room_id) AS roomId, coalesce(m.site, n.site) AS site`,
    from: `health_events h LEFT JOIN recordings r ON r.id = h.recording_id LEFT JOIN schedules s ON s.id = h.schedule_id
      LEFT JOIN nodes n ON n.id = coalesce(h.node_id, r.node_id, s.node_id)
      LEFT JOIN rooms m ON m.id = coalesce(r.room_id, s.room_id, n.room_id)`,
  })
  return {
    /** Of the events the caller may read. */
    of(rule: RulePreviewRequest, visible: Visibility, now: string): RulePreview {
      const since: Condition = {
        params: { since: firstSeq(iso(Date.parse(now) - DAYS * DAY_MS)) },
        sql: 'h.seq >= @since',
      }
      const rows = past.rows([since, ...visible.healthEvents()], 'h.seq DESC', EXAMINED, 0)
      const told = rows.filter((event) => isMeant(rule, event)).reverse()
      return {
        days: DAYS,
        events: told.length,
        ...(rows.length === EXAMINED ? { isLowerBound: true } : {}),
        messages: throttled(told, (rule.throttleSeconds ?? 0) * 1000),
      }
    },
  }
}
export type PreviewStore = ReturnType<typeof previewStore>

function isMeant({ minSeverity, types = ['*'], ...rule }: RulePreviewRequest, event: Past): boolean {
  const places = [
    { id: event.nodeId, type: 'node' },
    { id: event.roomId, type: 'room' },
    { id: event.site, type: 'site' },
  ].filter((place): place is { id: string; type: string } => place.id !== null)
  const lists = { nodeIds: rule.nodeIds ?? undefined, roomIds: rule.roomIds ?? undefined }
  return (
    isAtLeast(event.severity, minSeverity) &&
    !isRecovery(event.type) &&
    hasLasted(event) &&
    concerns({ ...lists, siteNames: rule.siteNames ?? undefined, types }, event.type, places)
  )
}

/** What may pass by itself and did is told to nobody. */
const hasLasted = ({ openedAt, resolvedAt, type }: Past): boolean =>
  patienceFor(type) === 0 || resolvedAt === null || Date.parse(resolvedAt) - Date.parse(openedAt) >= patienceFor(type)

/** Of events on one topic within the throttle, only the last is told, and only if it is still open then: at most one each. */
function throttled(events: readonly Past[], throttleMs: number): number {
  const last = new Map<string, number>()
  let messages = 0
  for (const event of events) {
    const topic = topicOf(event)
    const at = Date.parse(event.openedAt)
    if (at - (last.get(topic) ?? Number.NEGATIVE_INFINITY) < throttleMs) continue
    last.set(topic, at)
    messages++
  }
  return messages
}
