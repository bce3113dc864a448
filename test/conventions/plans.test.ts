import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import * as z from 'zod'
import { kit } from '../kit/kit.ts'
import { requestOf, seed, targetType, things, undone } from './world.ts'

const k = kit()
before(() => seed(k))
after(() => k.close())

const BIG = [
  ...['schedules', 'schedule_runs'],
  ...['nodes', 'interfaces', 'channels', 'recordings', 'recording_jobs', 'recording_files', 'recording_tags'],
  ...['upload_queue', 'chunked_recordings', 'recording_chunks', 'recording_chunk_files'],
  ...[
    'audit_rows',
    'audit_targets',
    'audit_contexts',
    'health_events',
    'sessions',
    'node_credentials',
    'bootstrap_tokens',
  ],
]

interface Json {
  anyOf?: Json[]
  enum?: string[]
  format?: string
  properties?: Record<string, Json>
}

/** Values that pass for a query field, from its schema. */
function samples(name: string, field: Json): string[] {
  const shape = field.anyOf?.[0] ?? field
  if (shape.enum) return shape.enum
  if (name === 'limit' || name === 'offset' || name === 'waitSeconds') return ['1']
  return /from|to$/i.test(name) ? ['2026-01-01T00:00:00Z'] : ['x']
}

/** Every filter alone, every sort both ways, and the empty query. */
function queries(schema: z.ZodType): string[] {
  const { properties = {} } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Json
  const each = Object.entries(properties).flatMap(([name, field]) =>
    samples(name, field).map((value) => `${name}=${encodeURIComponent(value)}`),
  )
  return [
    '',
    ...each.flatMap((one) =>
      one.startsWith('sortBy=')
        ? [one, `${one}&sortOrder=asc`, `${one}&sortOrder=desc`, `${one}&limit=5`]
        : [one, `${one}&limit=1`],
    ),
  ]
}

/** Walks every list with every filter, as one who sees everything, as one in scope, and as one with a refusal. */
async function exercise(): Promise<void> {
  k.sql(`INSERT INTO access_policies VALUES ('p', 0, 'deny', 'user', 'refused', 'site', 'South', NULL)`)
  const callers = [
    k.as('owner'),
    k.person(
      'scoped',
      ['operator', 'auditor'],
      [
        ['site', 'North'],
        ['room', 'hall'],
        ['recording', 'r1'],
        ['schedule', 's1'],
      ],
    ),
    k.person('refused', ['owner']),
  ]
  for (const r of k.routes)
    for (const caller of callers) {
      const type = r.auth === 'user' ? targetType(r) : undefined
      const { path, body } = requestOf(r, type ? things(type)[0] : undefined, 'n1')
      const token = r.auth === 'node' ? 'svc_node_n1' : caller.token
      if (/claim|next/.test(path) && caller !== callers[0]) continue
      for (const query of r.query ? queries(r.query as z.ZodType) : [''])
        await undone(k, () => k.bearer(token).send(r.method, `${path}?${query.replace(/waitSeconds=\d+/, '')}`, body))
    }
}

/** Which table each name of a plan stands for: aliases of the statement and of the views it names. */
function aliases(sql: string): Map<string, string> {
  const views = k.rows<{ name: string; sql: string }>(`SELECT name, sql FROM sqlite_schema WHERE type = 'view'`)
  const text = [sql, ...views.filter((v) => sql.includes(v.name)).map((v) => v.sql)].join('\n')
  const map = new Map(BIG.map((table) => [table, table]))
  for (const [, table = '', alias] of text.matchAll(/\b(?:FROM|JOIN|,|UPDATE|INTO)\s+(\w+)(?:\s+AS)?\s+(\w+)/gi))
    if (BIG.includes(table) && alias && !/^(where|on|order|join|left|cross|group|limit|set|union|using)$/i.test(alias))
      map.set(alias, table)
  return map
}

interface Scan {
  detail: string
  sql: string
  table: string
}

function scans(sql: string): Scan[] {
  const params = Object.fromEntries([...sql.matchAll(/@(\w+)/g)].map(([, name]) => [name, null]))
  const plan = k.db.raw.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(params) as { detail: string }[]
  const named = aliases(sql)
  return plan.flatMap(({ detail }) => {
    const table = named.get(/^SCAN (\w+)/.exec(detail)?.[1] ?? '')
    return table ? [{ detail, sql: sql.replace(/\s+/g, ' '), table }] : []
  })
}

interface Allowed {
  fits: (scan: Scan) => boolean
  why: string
}

/** Shown in the order of an index: the walk ends with the page. */
const page = ({ detail, sql }: Scan): boolean =>
  /USING (COVERING )?INDEX/.test(detail) && sql.endsWith('LIMIT @limit OFFSET @offset')
const counts = ({ sql }: Scan): boolean => /^SELECT count\(\*\)/.test(sql)
const unfiltered = ({ sql }: Scan): boolean =>
  !/\bWHERE\b(?! j\.status)/.test(sql.replace(/FILTER \(WHERE [^)]*\)+/g, ''))
const freeText = ({ sql }: Scan): boolean => sql.includes(' LIKE @')
const refusal = ({ sql }: Scan): boolean => sql.includes('NOT coalesce(')
const of = (table: string, fits: (scan: Scan) => boolean) => (scan: Scan) => scan.table === table && fits(scan)

const ALLOWED: Allowed[] = [
  {
    fits: of('schedules', (s) => s.sql.includes('instr(s.search, @search)')),
    why: 'a search for schedules walks the one index that holds order and text',
  },
  {
    fits: of('schedules', (s) => / AS walk0, .* ORDER BY s\.created_at DESC, s\.id DESC LIMIT @limit$/.test(s.sql)),
    why: 'an export of all schedules walks their order, slice by slice',
  },
  {
    fits: of('schedules', (s) => s.sql === 'SELECT id FROM schedules'),
    why: 'a grant on every schedule, asked of things that are judged by theirs',
  },
  { fits: (scan) => page(scan) && unfiltered(scan), why: 'the first page of everything is a walk of its order' },
  {
    fits: (scan) => counts(scan) && unfiltered(scan),
    why: 'the total of everything is one walk of the smallest index',
  },
  {
    fits: of('health_events', (s) => s.sql.endsWith('ORDER BY h.seq DESC LIMIT @limit') && unfiltered(s)),
    why: 'an export of everything goes along the table itself, slice by slice',
  },
  { fits: freeText, why: 'free text finds words inside of any column: it looks at every row in scope' },
  { fits: refusal, why: 'a refusal takes a few rows from everything: what is left is most of it' },
  { fits: of('nodes', () => true), why: 'a fleet has hundreds of nodes; lists, counts and metrics look at each' },
  {
    fits: of('recordings', (s) => s.sql.includes('AND (0)') || s.sql.includes('WHERE (0)')),
    why: 'no row can match: nothing is read',
  },
  {
    fits: of('recording_jobs', (s) => s.sql.startsWith('SELECT count(*)') && s.sql.includes('LIMIT 10000) j')),
    why: 'what cells cannot count is counted among the newest ten thousand jobs',
  },
  {
    fits: of(
      'recording_jobs',
      (s) => / (INDEXED BY|INDEX) jobs_created/.test(s.sql + s.detail) && /LIMIT @limit/.test(s.sql),
    ),
    why: 'jobs are walked from the newest on when many match: the walk ends with the page or the slice',
  },
  {
    fits: of('audit_rows', (s) => s.sql.endsWith('FROM audit_rows ORDER BY seq DESC LIMIT 1')),
    why: 'the newest row: one step',
  },
  {
    fits: of('schedules', (s) => s.sql.includes("x.outcome = 'missed' AND x.ends_at > @now")),
    why: 'when the clock is put back, once, each schedule is asked for what it missed in a time to come',
  },
  {
    fits: of('upload_queue', (s) => s.detail.includes('upload_queue_release')),
    why: 'the partial index holds the few files that wait to be deleted',
  },
  {
    fits: of('upload_queue', (s) => s.detail.includes('upload_queue_due') && s.sql.includes('LIMIT 1)')),
    why: 'the first destination in the index of waiting uploads, then the next: one step each',
  },
  {
    fits: of('upload_queue', (s) => counts(s) && s.sql.includes('LIMIT 10000) q')),
    why: 'who sees many uploads has them counted among the first rows of the list',
  },
]

test('no statement scans a table that grows with the fleet or with time', async () => {
  await exercise()
  const found = [...k.db.prepared].flatMap(scans)
  const refused = found.filter((scan) => !ALLOWED.some((a) => a.fits(scan)))
  assert.deepEqual(
    refused.map(({ detail, sql }) => `${detail}: ${sql}`),
    [],
  )
  // Reasons that excuse nothing any more are taken off the list.
  assert.deepEqual(
    ALLOWED.filter((a) => !found.some(a.fits)).map((a) => a.why),
    [],
  )
})

test('no page is sorted by hand that an index could give in order', async () => {
  const sorted = [...k.db.prepared].filter((sql) =>
    /FROM (recordings r|recording_jobs j|audit_rows a) ORDER BY .* LIMIT/s.test(sql),
  )
  for (const sql of sorted) {
    const params = Object.fromEntries([...sql.matchAll(/@(\w+)/g)].map(([, name]) => [name, null]))
    const plan = k.db.raw.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(params) as { detail: string }[]
    assert.ok(!plan.some(({ detail }) => detail === 'USE TEMP B-TREE FOR ORDER BY'), sql)
  }
})
