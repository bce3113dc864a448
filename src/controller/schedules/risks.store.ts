import { FORESIGHT, type ForesightKind } from '../../wire/foresight.ts'
import type { AudioDefaults } from '../../wire/nodes.ts'
import { namesDevice, offlineBefore, STATUS } from '../fleet/nodes/status.rules.ts'
import type { Visibility } from '../http/visibility.ts'
import type { Db } from '../store/db.ts'
import { type Condition, Lister } from '../store/filter.ts'
import type { Readiness } from './risks.rules.ts'

/** What schedules that take the same channels of the same device have in common. */
interface Row {
  absent: number | null
  audioDefaults: string | null
  channels: string | null
  deviceId: string | null
  ids: string
  missingChannels: number
  nodeId: string | null
  nodeStatus: string | null
  usable: number
}

// Of the device a schedule takes: the one it names, else the configured one, else the first that is there.
const DEVICE = `coalesce(s.capture_interface_id,
  (SELECT i.id FROM interfaces i WHERE i.node_id = s.node_id AND i.id = @configured),
  (SELECT i.id FROM interfaces i WHERE i.node_id = s.node_id ORDER BY i.absent, i.position LIMIT 1))`

export function riskStore(db: Db, offlineAfterSeconds: number, configured: string | undefined) {
  const read = db.stmt<{ configured: string; ids: string; offlineBefore: string }, Row>(
    `WITH due AS MATERIALIZED (
       SELECT s.ids, s.node_id, s.capture_interface_id, s.capture_channels, ${DEVICE} AS device FROM (
         SELECT json_group_array(x.id) AS ids, x.node_id, x.capture_interface_id, x.capture_channels
           FROM json_each(@ids) wanted CROSS JOIN schedules x ON x.id = wanted.value GROUP BY 2, 3, 4) s)
     SELECT due.ids, due.node_id AS nodeId, due.capture_channels AS channels, due.capture_interface_id AS deviceId,
       ${STATUS} AS nodeStatus, n.audio_defaults AS audioDefaults, i.absent AS absent,
       EXISTS (SELECT 1 FROM interfaces u WHERE u.node_id = due.node_id AND u.absent = 0 AND u.channel_count > 0) AS usable,
       EXISTS (SELECT 1 FROM json_each(due.capture_channels) c WHERE c.value > coalesce(i.channel_count, 0)) AS missingChannels
       FROM due LEFT JOIN nodes n ON n.id = due.node_id LEFT JOIN interfaces i ON i.id = due.device`,
  )
  const standing = new Lister<{ kind: ForesightKind; occurrenceAt: string; scheduleId: string }>(db, {
    columns: `h.schedule_id AS scheduleId, substr(h.type, 11) AS kind, h.details ->> '$.occurrenceAt' AS occurrenceAt`,
    from: 'health_events h INDEXED BY health_foreseen',
  })
  return {
    /** What health events that are not over foresee, by schedule and scheduled start; for one who may read these events. */
    foreseen(visibility: Visibility): Map<string, ForesightKind[]> {
      const all = standing.all([FORESEEN, ...visibility.healthEvents()], 'h.type, h.schedule_id, h.node_id')
      const rows = all.filter(({ kind }) => Object.hasOwn(FORESIGHT, kind))
      const groups = Map.groupBy(rows, ({ occurrenceAt, scheduleId }) => occurrenceKey(scheduleId, occurrenceAt))
      return new Map([...groups].map(([key, group]) => [key, group.map(({ kind }) => kind)]))
    },
    /** What these schedules would record from at `now`, by their ids. */
    readiness(ids: readonly string[], now: string): Map<string, Readiness> {
      const before = offlineBefore(now, offlineAfterSeconds)
      const rows = read.all({ configured: configured ?? '', ids: JSON.stringify(ids), offlineBefore: before })
      return new Map(
        rows.flatMap((row) => {
          const readiness = readinessOf(row)
          return (JSON.parse(row.ids) as string[]).map((id): [string, Readiness] => [id, readiness])
        }),
      )
    },
  }
}

export const occurrenceKey = (scheduleId: string, occurrenceAt: string): string => `${scheduleId} ${occurrenceAt}`

const FORESEEN: Condition = {
  sql: `h.status <> 'resolved' AND substr(h.type, 1, 10) = 'foresight.'
    AND h.type > 'foresight.' AND h.type < 'foresight/' AND h.schedule_id IS NOT NULL`,
  params: {},
}

export type RiskStore = ReturnType<typeof riskStore>

function readinessOf({
  absent,
  audioDefaults,
  channels,
  deviceId,
  missingChannels,
  nodeId,
  nodeStatus,
  usable,
}: Row): Readiness {
  const defaults = audioDefaults === null ? {} : (JSON.parse(audioDefaults) as AudioDefaults)
  // An operator may name a device or program that no inventory lists.
  const missing = deviceId === null ? usable === 0 && !namesDevice(defaults) : absent !== 0
  return {
    channels: channels === null ? null : (JSON.parse(channels) as number[]),
    deviceId,
    deviceMissing: missing,
    missingChannels: missingChannels === 1,
    nodeId,
    nodeStatus,
  }
}
