import type { SoundPrint, SoundVerdict } from '../../../wire/soundreadings.ts'
import type { Db } from '../../store/db.ts'
import { REMEMBERED, usualAfter } from './preflight.rules.ts'

/** A take that has ended, as far as it says whether its room sounded as it should. */
interface TakeRow {
  command: string
  good: number
  nodeId: string | null
  roomId: string | null
  scheduleId: string | null
}

interface Heard {
  heardAt: string
  interfaceId: string
  recordingId: string
  roomId: string | null
}

// Good: delivered whole, no alarm, no gap, no test tone.
const GOOD = `r.status IN ('cached', 'uploaded') AND j.status = 'completed' AND j.failure_reason IS NULL
  AND NOT EXISTS (SELECT 1 FROM health_events h WHERE h.recording_id = r.id AND substr(h.type, 1, 9) = 'watchdog.')
  AND NOT EXISTS (SELECT 1 FROM recording_files f WHERE f.recording_id = r.id
    AND (json_extract(f.details, '$.source') = 'test' OR json_extract(f.details, '$.gapCount') > 0))`

/** What each channel sounded like in its last good takes. */
export function printStore(db: Db) {
  const take = db.stmt<{ id: string }, TakeRow>(
    `SELECT r.node_id AS nodeId, r.room_id AS roomId, r.schedule_id AS scheduleId, j.command, ${GOOD} AS good
       FROM recordings r JOIN recording_jobs j ON j.recording_id = r.id WHERE r.id = @id ORDER BY j.created_at DESC LIMIT 1`,
  )
  // Of another room, or of other hardware at the same place: forgotten.
  const known = db.stmt<{ channels: string; interfaceId: string }, { channel: number; print: string }>(
    `SELECT p.channel, p.print FROM json_each(@channels) wanted
       JOIN sound_prints p ON p.interface_id = @interfaceId AND p.channel = wanted.value
       JOIN interfaces i ON i.id = p.interface_id JOIN nodes n ON n.id = i.node_id
       LEFT JOIN channels c ON c.interface_id = p.interface_id AND c.idx = p.channel
      WHERE p.room_id IS coalesce(c.room_id, n.room_id) AND p.device = coalesce(i.serial_number, i.match_key)
      ORDER BY p.channel, p.heard_at DESC`,
  )
  const insert = db.stmt<Heard & { channel: number; print: string }>(
    `INSERT INTO sound_prints (interface_id, channel, heard_at, recording_id, room_id, device, print)
     SELECT id, @channel, @heardAt, @recordingId, @roomId, coalesce(serial_number, match_key), @print
       FROM interfaces WHERE id = @interfaceId ON CONFLICT DO NOTHING`,
  )
  const has = db.stmt<{ channel: number; interfaceId: string; recordingId: string }, { n: number }>(
    `SELECT 1 AS n FROM sound_prints
      WHERE interface_id = @interfaceId AND channel = @channel AND recording_id = @recordingId LIMIT 1`,
  )
  const prune = db.stmt<{ channel: number; interfaceId: string; keep: number }>(
    `DELETE FROM sound_prints WHERE interface_id = @interfaceId AND channel = @channel AND heard_at NOT IN
       (SELECT heard_at FROM sound_prints WHERE interface_id = @interfaceId AND channel = @channel
         ORDER BY heard_at DESC LIMIT @keep)`,
  )
  return {
    /** The take of a recording; undefined when there is none. */
    take: (id: string): TakeRow | undefined => take.get({ id }),
    /** Prints of these channels by their number, the newest first. */
    known(interfaceId: string, channels: readonly number[]): Map<number, SoundPrint[]> {
      const rows = known.all({ channels: JSON.stringify(channels), interfaceId })
      const prints = rows.map(({ channel, print }) => ({ channel, print: JSON.parse(print) as SoundPrint }))
      return new Map(
        [...Map.groupBy(prints, ({ channel }) => channel)].map(([channel, of]) => [channel, of.map((p) => p.print)]),
      )
    },
    /** Keeps the print of a good take. False when it is known, or teaches nothing. */
    keep(heard: Heard, print: SoundPrint, before: readonly SoundPrint[], verdict: SoundVerdict): boolean {
      const { channelIndex: channel } = print
      const { interfaceId, recordingId } = heard
      const after = usualAfter(before, print, verdict)
      if (after[0] !== print || has.get({ channel, interfaceId, recordingId })) return false
      if (after.length === 1) prune.run({ channel, interfaceId, keep: 0 })
      insert.run({ ...heard, channel, print: JSON.stringify(print) })
      prune.run({ channel, interfaceId, keep: REMEMBERED })
      return true
    },
  }
}
export type PrintStore = ReturnType<typeof printStore>
