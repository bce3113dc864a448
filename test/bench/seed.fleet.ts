// A thousand rooms' worth of schedules and devices of 256 channels: what the calendar and the list of nodes have to cope with.
import type Database from 'better-sqlite3'
import { pendingOf, planOf } from '../../src/controller/schedules/planning.rules.ts'
import { nextSlot } from '../../src/controller/schedules/recurrence.rules.ts'
import { zoneBook } from '../../src/kernel/zones.ts'
import type { Recurrence } from '../../src/wire/schedules.ts'

export interface FleetSeed {
  /** The instant from which schedules wait for their next occurrence, Unix ms. */
  now: number
  nodes: { from: number; to: number }
  rooms: number
  schedules: { from: number; to: number }
}

const AT = '2020-01-01T00:00:00.000Z'
const CHANNELS = 256
const DAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const
const ZONES = ['Europe/Berlin', 'UTC', 'America/New_York']

/** Nodes without recordings, each with one device of 256 channels; the others get such a device, too. */
export function seedDevices(db: Database.Database, { nodes, rooms }: FleetSeed): void {
  const numbers = (from: number) =>
    `WITH RECURSIVE k (n) AS (SELECT ${from} UNION ALL SELECT n + 1 FROM k WHERE n < ${nodes.to})`
  db.exec(`
    ${numbers(nodes.from)} INSERT INTO nodes (id, alias, hostname, site, room, room_id, status, last_seen_at, created_at, updated_at)
      SELECT 'node_' || n, 'Recorder ' || n, 'recorder-' || n, iif(n % 2, 'North', 'South'), 'Room', 'room_' || (1 + n % ${rooms}), 'online',
        '${AT}', '${AT}', '${AT}' FROM k;
    ${numbers(1)} INSERT INTO interfaces (id, node_id, match_key, position, system_ref, system_name, alias, backend, channel_count, sample_rates)
      SELECT 'interface-' || n, 'node_' || n, 'hw:CARD=USB,DEV=0', 0, 'hw:CARD=USB,DEV=0', 'USB', 'Stage box ' || n, 'alsa', ${CHANNELS},
        '[44100,48000,96000]' FROM k;
    WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < ${CHANNELS})
      INSERT INTO channels (interface_id, idx, alias, room_id)
        SELECT x.id, i, 'Input ' || i, iif(i % 64 = 0, 'room_' || (1 + i % ${rooms}), NULL) FROM interfaces x, c`)
}

/** Weekly and daily lectures, some every other week, with exceptions in one of ten. */
export function seedSchedules(db: Database.Database, { now, rooms, schedules }: FleetSeed): void {
  const insert =
    db.prepare(`INSERT INTO schedules (id, name, node_id, room, room_id, timezone, recurrence, next_run_at, slot_at, slot_date, search,
    created_at, updated_at) VALUES (@id, @name, @nodeId, @room, @roomId, @timezone, @recurrence, @nextRunAt, @slotAt, @slotDate, @search, @at, @at)`)
  const zones = zoneBook()
  for (let n = schedules.from; n <= schedules.to; n++) {
    const timezone = ZONES[n % 10 < 8 ? 0 : n % 3] as string
    const recurrence = recurrenceOf(n)
    const slot = nextSlot(planOf({ anchorDate: '1970-01-05', recurrence, timezone }, zones), now)
    if (!slot) continue
    const room = `room_${1 + (n % rooms)}`
    const name = `Lecture ${n}`
    const search = `${name}\n${room}\nsched_${n}`.toLowerCase()
    const plain = {
      at: AT,
      id: `sched_${n}`,
      name,
      nodeId: `node_${1 + (n % 40)}`,
      room: `Hall ${n}`,
      roomId: room,
      search,
      timezone,
    }
    insert.run({ ...plain, ...pendingOf(slot), recurrence: JSON.stringify(recurrence) })
  }
}

function recurrenceOf(n: number): Recurrence {
  const hour = 7 + (n % 12)
  const times = {
    endTime: `${String(hour + 1).padStart(2, '0')}:30`,
    startTime: `${String(hour).padStart(2, '0')}:00`,
    stopLateSeconds: 300,
  }
  const exceptions = n % 10 === 0 ? [{ action: 'skip' as const, date: '2026-04-06' }] : []
  if (n % 7 === 0) return { mode: 'daily', interval: 1, ...times, exceptions }
  const [first, second] = [DAYS[n % 5], DAYS[(n + 2) % 5]] as [(typeof DAYS)[number], (typeof DAYS)[number]]
  return {
    mode: 'weekly',
    interval: n % 11 === 0 ? 2 : 1,
    daysOfWeek: n % 3 ? [first] : [first, second],
    ...times,
    exceptions,
  }
}
