// Fills a migrated database with years of a busy fleet, table by table. usage: node test/bench/seed.ts FILE [--recordings N]
import { parseArgs } from 'node:util'
import Database from 'better-sqlite3'
import { fillCells, fillTexts } from '../../src/controller/recordings/library/refill.store.ts'
import { Db } from '../../src/controller/store/db.ts'
import { embedded, migrate } from '../../src/controller/store/migrate.ts'
import { seedAudit } from './seed.audit.ts'
import { type FleetSeed, seedDevices, seedSchedules } from './seed.fleet.ts'
import { seedHealth } from './seed.health.ts'

export interface Counts {
  audit: number
  /** All of them; those beyond `schedules` have no recordings. */
  calendar: number
  /** All of them, with a device of 256 channels each; those beyond `nodes` have no recordings. */
  devices: number
  health: number
  jobs: number
  nodes: number
  recordings: number
  rooms: number
  schedules: number
}
export const COUNTS: Counts = {
  audit: 5_000_000,
  calendar: 5000,
  devices: 200,
  health: 1_000_000,
  jobs: 1_000_000,
  nodes: 40,
  recordings: 1_000_000,
  rooms: 30,
  schedules: 200,
}

type Sqlite = Database.Database
type Table = (db: Sqlite, counts: Counts) => void

const numbers = (count: number, from = 1): string =>
  `WITH RECURSIVE k (n) AS (SELECT ${from} UNION ALL SELECT n + 1 FROM k WHERE n < ${from + count - 1})`
const id = (kind: string, n = 'n'): string =>
  `printf('${kind}_%08x-%04x-4%03x-8%03x-%012x', (${n} * 2654435761) & 4294967295, ${n} & 65535, (${n} * 7) & 4095, (${n} * 13) & 4095, ${n} * 40503)`
const FROM = 1_600_000_000
const STEP = 150
const at = (offset = 0): string => `strftime('%Y-%m-%dT%H:%M:%fZ', ${FROM + offset} + n * ${STEP}, 'unixepoch')`
const AT = `'2020-01-01T00:00:00.000Z'`
/** A number below `below` that looks drawn: the same for the same row. */
const drawn = (below: number, salt: number): string => `((n * 1103515245 + ${salt} * 12345) / 65536 % ${below})`
const PLACES = `json_array('Aula', 'Hall', 'Studio', 'Saal', 'Kapelle', 'Lab')`
const SUBJECTS = `json_array('Algebra', 'Anatomie', 'Botanik', 'Chemie', 'Didaktik', 'Ethik', 'Finanzen', 'Geometrie', 'Histologie',
  'Informatik', 'Jura', 'Klinik', 'Logik', 'Musik', 'Neurologie', 'Optik', 'Physik', 'Qualität', 'Russisch', '日本語')`
const subject = (n: string): string => `json_extract(${SUBJECTS}, '$[' || (${n} % 20) || ']')`

const rooms: Table = (db, { rooms }) =>
  db.exec(`${numbers(rooms)} INSERT INTO rooms (id, site, name, created_at, updated_at)
    SELECT 'room_' || n, iif(n % 2, 'North', 'South'), json_extract(${PLACES}, '$[' || (n % 6) || ']') || ' ' || n, ${AT}, ${AT} FROM k`)

const nodes: Table = (db, { nodes, rooms }) =>
  db.exec(`${numbers(nodes)} INSERT INTO nodes (id, alias, hostname, site, room, room_id, status, last_seen_at, created_at, updated_at)
    SELECT 'node_' || n, 'Recorder ' || n, 'recorder-' || n, iif(n % 2, 'North', 'South'), 'Room', 'room_' || (1 + n % ${rooms}), 'online',
      ${AT}, ${AT}, ${AT} FROM k`)

const settings: Table = (db) =>
  db.exec(`INSERT INTO recording_profiles SELECT 'profile_' || value, 'Profile ' || value, codec, bitrate_kbps, vbr, channel_mode,
      silence_detection, silence_skip, NULL, NULL, NULL, ${AT}, ${AT} FROM recording_profiles p, json_each('[1,2]') WHERE p.id = 'voice-mp3-vbr';
    INSERT INTO upload_policies SELECT 'upload_policy_' || value, 'Policy ' || value, NULL, 1, 'manual', 5, NULL, 0, ${AT} FROM json_each('[1,2,3]')`)

const schedules: Table = (db, { nodes, rooms, schedules }) =>
  db.exec(`${numbers(schedules)} INSERT INTO schedules (id, name, node_id, room_id, created_at, updated_at)
    SELECT 'sched_' || n, ${subject('n')} || ' ' || n, 'node_' || (1 + n % ${nodes}), 'room_' || (1 + n % ${rooms}), ${AT}, ${AT} FROM k`)

const recordings: Table = (db, { nodes, recordings, rooms, schedules }) =>
  db.exec(`${numbers(recordings)},
    d AS (SELECT n, ${drawn(10, 1)} < 7 AS planned, 1 + ${drawn(schedules, 2)} AS plan, 1 + ${drawn(nodes, 3)} AS own, ${drawn(1000, 4)} AS luck,
      ${drawn(1000, 5)} AS health, ${at()} AS at FROM k),
    e AS (SELECT *, iif(planned, 1 + plan % ${nodes}, own) AS node, iif(planned, 1 + plan % ${rooms}, 1 + own % ${rooms}) AS room FROM d)
    INSERT INTO recordings (seq, id, name, folder, notes, transcript_snippets, source, status, health_status, recorded_at, duration_seconds,
      node_id, room_id, schedule_id, recording_profile_id, retention_policy_id, updated_at, cached)
    SELECT n, ${id('rec')},
      CASE WHEN n % 5000 = 0 THEN '会議 ' || n WHEN planned THEN ${subject('plan')} || ' lecture ' || (n / 1000)
        ELSE replace(substr(at, 1, 16), 'T', '_') || ' UTC_Ad Hoc_Recorder ' || own END,
      iif(planned, 'Scheduled/' || ${subject('plan')} || ' ' || plan, 'Ad Hoc/' || substr(at, 1, 4) || '/' || substr(at, 6, 2) || '/Room ' || room),
      iif(n % 20 = 0, 'Microphone ' || (n % 7) || ' was moved; Prüfung am ' || substr(at, 1, 10), NULL),
      iif(n % 33 = 0, json_array('welcome to week ' || (n % 50), 'the quorum is met'), NULL),
      iif(planned, 'schedule', 'ad_hoc'),
      CASE WHEN n > ${recordings} - 20 THEN 'recording' WHEN luck < 700 THEN 'cached' WHEN luck < 900 THEN 'uploaded' WHEN luck < 950 THEN 'completed'
        WHEN luck < 970 THEN 'failed' ELSE 'partial' END,
      CASE WHEN health < 900 THEN 'healthy' WHEN health < 970 THEN 'warning' WHEN health < 990 THEN 'critical' ELSE 'unknown' END,
      at, iif(planned, 5400, 60 + ${drawn(7000, 6)}), 'node_' || node, 'room_' || room, iif(planned, 'sched_' || plan, NULL),
      iif(luck % 10 < 8, 'voice-mp3-vbr', 'profile_' || (1 + luck % 2)), 'retention-keep-controller-cache', at,
      n <= ${recordings} - 20 AND luck < 900 OR luck >= 970 FROM e`)

const tags: Table = (db, { recordings }) =>
  db.exec(`${numbers(recordings)} INSERT INTO recording_tags SELECT ${id('rec')}, 0, iif(${drawn(10, 1)} < 7, 'lecture', 'ad-hoc') FROM k;
    ${numbers(recordings)} INSERT INTO recording_tags SELECT ${id('rec')}, 1, ${subject(drawn(997, 7))} FROM k WHERE n % 4 < 2;
    ${numbers(recordings / 10_000)} INSERT INTO recording_tags SELECT ${id('rec', '(n * 9999)')}, 2, 'Rare' FROM k`)

const uploadPolicies: Table = (db, { recordings }) =>
  db.exec(
    `${numbers(recordings)} INSERT INTO recording_upload_policies SELECT ${id('rec')}, 0, 'upload_policy_' || (1 + n % 3) FROM k WHERE n % 5 < 2`,
  )

const files: Table = (db) =>
  db.exec(`INSERT INTO recording_files (recording_id, rendition, path, checksum, size_bytes, mime_type, duration_seconds, job_id, stored_at)
    SELECT id, 'primary', iif(source = 'schedule', 'scheduled/', 'ad-hoc/') || id || '.mp3',
    printf('sha256:%064x', seq), 1000000 + seq, 'audio/mpeg', duration_seconds, NULL, recorded_at FROM recordings WHERE cached`)

const jobs: Table = (db, { jobs, recordings }) =>
  db.exec(`${numbers(Math.min(jobs, recordings))} INSERT INTO recording_jobs (id, recording_id, node_id, status, command, created_at, claimed_by, started_at, completed_at, failure_reason)
    SELECT ${id('job')}, ${id('rec')}, r.node_id, CASE WHEN r.status = 'recording' THEN 'running' WHEN r.status = 'failed' THEN 'failed' ELSE 'completed' END,
      json_object('captureBackend', 'alsa', 'captureDevice', 'hw:CARD=USB,DEV=0', 'captureFormat', 'S16_LE', 'captureInterfaceId', 'interface-' || substr(r.node_id, 6),
        'outputFileName', r.id || '.mp3', 'durationSeconds', 3600), r.recorded_at, r.node_id, r.recorded_at,
      iif(r.status = 'recording', NULL, r.recorded_at), iif(r.status = 'failed', 'lease_expired', NULL)
    FROM k CROSS JOIN recordings r ON r.seq = n`)

const cells: Table = (db) => fillCells(db)
const texts: Table = (db) => fillTexts(db)

/** In this order; those of a group are filled without their indexes and triggers, which are made again after. */
const audit: Table = (db, { audit: rows, recordings }) => {
  const ids = db.prepare<[], string>('SELECT id FROM recordings').pluck().all()
  seedAudit(db, { rows, recordings, recordingId: (n) => ids[n] as string })
}

const health: Table = (db, { health: events, nodes, schedules }) => seedHealth(db, { events, nodes, schedules })

const fleetOf = ({ calendar, devices, nodes, rooms, schedules }: Counts): FleetSeed => ({
  // Where the clock of the kit begins.
  now: Date.parse('2026-03-02T09:00:00.000Z'),
  nodes: { from: nodes + 1, to: devices },
  rooms,
  schedules: { from: schedules + 1, to: calendar },
})
const wideDevices: Table = (db, counts) => seedDevices(db, fleetOf(counts))
const calendar: Table = (db, counts) => seedSchedules(db, fleetOf(counts))

const TABLES: { bulk: string[]; fill: Record<string, Table> }[] = [
  { bulk: [], fill: { rooms, nodes, settings, schedules } },
  {
    bulk: [
      'recordings',
      'recording_tags',
      'recording_upload_policies',
      'recording_files',
      'recording_jobs',
      'recording_facets',
    ],
    fill: { recordings, tags, uploadPolicies, files, cells },
  },
  { bulk: ['recording_jobs'], fill: { jobs } },
  { bulk: [], fill: { texts } },
  { bulk: [], fill: { audit } },
  { bulk: ['health_events'], fill: { health } },
  { bulk: [], fill: { wideDevices, calendar } },
]

/** Fills the database file, which is made when it is not there. */
export function seed(file: string, counts: Counts = COUNTS, say: (line: string) => void = () => {}): void {
  const made = new Db(file)
  migrate(made, embedded())
  made.close()
  const db = new Database(file)
  db.exec(
    'PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -400000; PRAGMA temp_store = MEMORY; PRAGMA foreign_keys = OFF',
  )
  for (const { bulk, fill } of TABLES) {
    const restore = bared(db, bulk)
    for (const [name, table] of Object.entries(fill)) {
      const from = performance.now()
      db.transaction(() => table(db, counts))()
      say(`${name} ${((performance.now() - from) / 1000).toFixed(1)} s`)
    }
    restore(say)
  }
  db.exec('ANALYZE; PRAGMA journal_mode = WAL')
  db.close()
}

/** Without their indexes and triggers tables fill several times as fast; gives what makes them again. */
function bared(db: Sqlite, tables: string[]): (say: (line: string) => void) => void {
  const parts = db
    .prepare<[string], { name: string; sql: string; type: string }>(
      `SELECT type, name, sql FROM sqlite_schema WHERE type IN ('index', 'trigger') AND sql IS NOT NULL
        AND tbl_name IN (SELECT value FROM json_each(?))`,
    )
    .all(JSON.stringify(tables))
  for (const { name, type } of parts) db.exec(`DROP ${type} ${name}`)
  return (say) => {
    const from = performance.now()
    for (const { sql } of parts.sort((a, b) => a.type.localeCompare(b.type))) db.exec(sql)
    if (parts.length > 0) say(`indexes and triggers ${((performance.now() - from) / 1000).toFixed(1)} s`)
  }
}

if (import.meta.filename === process.argv[1]) {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { recordings: { type: 'string', default: '1000000' } },
  })
  const recordings = Number(values.recordings)
  const [file] = positionals
  if (!file || !(recordings > 0)) throw new Error('usage: seed.ts FILE [--recordings N]')
  seed(file, { ...COUNTS, audit: 5 * recordings, health: recordings, jobs: recordings, recordings }, (line) =>
    process.stderr.write(`${line}\n`),
  )
}
