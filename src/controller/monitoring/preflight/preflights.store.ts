import { isoPlus } from '../../../kernel/clock.ts'
import type { ChannelVerdict, Preflight } from '../../../wire/soundreadings.ts'
import type { Db, Params } from '../../store/db.ts'
import { messagesOf } from './preflight.rules.ts'

interface Row {
  channels: string
  eventId: string | null
  fault: string | null
  heardAt: string
  nodeId: string
  scheduleId: string
  startsAt: string
}

/** A preflight that is told of, and whose take is over. */
interface Standing {
  eventId: string
  scheduleId: string
}

const COLUMNS = `p.schedule_id AS scheduleId, p.node_id AS nodeId, p.starts_at AS startsAt, p.heard_at AS heardAt, p.fault,
  p.channels, p.event_id AS eventId`
/** A take that has not begun by then does not begin. */
const NOT_BEGUN_SECONDS = 600

/** What was heard before the last take of each schedule. */
export function preflightStore(db: Db) {
  const find = db.stmt<{ scheduleId: string }, Row>(
    `SELECT ${COLUMNS} FROM preflights p WHERE p.schedule_id = @scheduleId`,
  )
  const record = db.stmt<Params>(
    `INSERT INTO preflights (schedule_id, node_id, starts_at, heard_at, fault, channels)
     VALUES (@scheduleId, @nodeId, @startsAt, @heardAt, @fault, @channels)
     ON CONFLICT (schedule_id) DO UPDATE SET node_id = excluded.node_id, starts_at = excluded.starts_at,
       heard_at = excluded.heard_at, fault = excluded.fault, channels = excluded.channels
      WHERE excluded.starts_at <> preflights.starts_at`,
  )
  const tell = db.stmt<{ eventId: string | null; scheduleId: string }>(
    `UPDATE preflights SET event_id = @eventId WHERE schedule_id = @scheduleId`,
  )
  const over = db.stmt<{ before: string }, Standing>(
    `SELECT p.event_id AS eventId, p.schedule_id AS scheduleId FROM preflights p
      WHERE p.event_id IS NOT NULL AND (NOT EXISTS (SELECT 1 FROM schedules s WHERE s.id = p.schedule_id)
        OR (p.starts_at < @before AND NOT EXISTS (SELECT 1 FROM recordings r
          WHERE r.schedule_id = p.schedule_id AND r.recorded_at >= p.starts_at AND r.status IN ('queued', 'recording'))))`,
  )
  const forget = db.stmt<object>(`DELETE FROM preflights WHERE schedule_id NOT IN (SELECT id FROM schedules)`)
  return {
    /** In its wire format; undefined when nothing was heard yet. */
    last(scheduleId: string): Preflight | undefined {
      const row = find.get({ scheduleId })
      return row && shown(row)
    },
    /** Id of the event that tells of it. */
    eventOf: (scheduleId: string): string | undefined => find.get({ scheduleId })?.eventId ?? undefined,
    heard: (scheduleId: string, startsAt: string): boolean => find.get({ scheduleId })?.startsAt === startsAt,
    /** False when this take was listened for before. */
    record: (p: Omit<Preflight, 'messages'>): boolean =>
      record.run({
        channels: JSON.stringify(p.channels),
        fault: p.fault ?? null,
        heardAt: p.heardAt,
        nodeId: p.nodeId,
        scheduleId: p.scheduleId,
        startsAt: p.startsAt,
      }) === 1,
    /** Which event tells of it; undefined: none any more. */
    tell: (scheduleId: string, eventId: string | undefined): void =>
      void tell.run({ eventId: eventId ?? null, scheduleId }),
    over: (now: string): Standing[] => over.all({ before: isoPlus(now, -NOT_BEGUN_SECONDS) }),
    /** Drops what was heard for schedules that are gone. */
    forgetDeleted: (): void => void forget.run({}),
  }
}
export type PreflightStore = ReturnType<typeof preflightStore>

function shown({ channels, eventId: _, fault, ...row }: Row): Preflight {
  const verdicts = JSON.parse(channels) as ChannelVerdict[]
  const about = { channels: verdicts, ...(fault === null ? {} : { fault }) }
  return { ...row, ...about, messages: messagesOf(about) }
}
