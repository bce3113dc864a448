import * as path from 'node:path'
import Database from 'better-sqlite3'
import { bytesOf, load } from './load.ts'
import { median, quantile, type Row } from './measure.ts'
import { stayOn } from './programs.ts'
import { seedAudit } from './seed.audit.ts'
import { type Fleet, fleet, type Place } from './world.ts'

const RECORDINGS = 100_000
const AUDIT = 1_000_000
const SECONDS = 2

const PAGES: [name: string, path: string][] = [
  ['recordings page', '/recordings?limit=50'],
  ['recordings, deep page', `/recordings?limit=50&offset=${RECORDINGS / 2}`],
  ['recordings, search', '/recordings?limit=50&search=77'],
  ['audit page', '/audit-events?limit=50'],
  ['audit, deep page', `/audit-events?limit=50&offset=${AUDIT / 2}`],
  ['audit, one actor', '/audit-events?limit=50&actor=node_42'],
]

/** Pages of long lists, one request at a time: nothing is asserted, the numbers are for who works on them next. */
export async function lists(place: Place): Promise<Row[]> {
  const empty = await fleet(place)
  await empty.controller.stop()
  fill(path.join(empty.data, 'roomtone.db'))
  stayOn(1)
  const world = await fleet(place, 0, empty.data)
  try {
    const rows: Row[] = []
    for (const [name, route] of PAGES) rows.push(await paged(world, name, route))
    return rows
  } finally {
    await world.controller.stop()
    stayOn('any')
  }
}

async function paged({ controller, token }: Fleet, name: string, route: string): Promise<Row> {
  const request = bytesOf({ method: 'GET', path: `/api/v1${route}`, token })
  const { latencies } = await load(controller.url, [request], SECONDS)
  const how = `GET ${route}, one at a time, p99 ${quantile(latencies, 0.99).toFixed(1)} ms`
  return { name, measured: median(latencies), unit: 'ms', bound: 'most', how }
}

function fill(file: string): void {
  const db = new Database(file)
  const numbers = (count: number) =>
    `WITH RECURSIVE k (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM k WHERE n < ${count})`
  const at = `strftime('%Y-%m-%dT%H:%M:%fZ', 1700000000 + n * 37, 'unixepoch')`
  db.exec(`
    ${numbers(RECORDINGS)} INSERT INTO recordings (id, name, folder, source, status, health_status, recorded_at, duration_seconds, updated_at)
      SELECT 'rec_' || n, 'Lecture ' || n, 'Course ' || n % 300, 'ad_hoc', iif(n % 50, 'cached', 'failed'), 'healthy', ${at}, 60 + n % 5400, ${at} FROM k;`)
  seedAudit(db, { rows: AUDIT, recordings: RECORDINGS, recordingId: (n) => `rec_${n}` })
  db.exec('ANALYZE')
  db.close()
}
