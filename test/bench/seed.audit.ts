// The audit of a busy year and a bit, written straight into its tables: what a search has to cope with.
import { randomBytes } from 'node:crypto'
import type Database from 'better-sqlite3'

export interface AuditSeed {
  /** Ids of recordings that exist, by number from 0. */
  recordingId: (n: number) => string
  recordings: number
  rows: number
}

const DAYS = 400
const PLACES = 2048
const PEOPLE = 200
const NODES = 100
const INDEXES = ['audit_time', 'audit_deed', 'audit_target', 'audit_context']

const READS = ['recordings.read', 'nodes.read', 'rooms.read', 'schedules.read', 'health_events.read', 'status.read']
const OTHERS = ['create', 'update', 'delete', 'detail.read', 'actions.read', 'export'].flatMap((verb) =>
  [
    'recordings',
    'nodes',
    'rooms',
    'schedules',
    'health_events',
    'recording_jobs',
    'auth.users',
    'settings.profiles',
    'uploads',
  ].map((family) => `${family}.${verb}`),
)
const ACTIONS = [...READS, ...OTHERS]
const REASONS = [
  'missing_permission',
  'missing_resource_scope',
  'invalid_request',
  'recording_not_found',
  'access_policy_denied',
]
const TYPES: Record<string, string> = {
  recordings: 'recording',
  recording_jobs: 'recording_job',
  nodes: 'node',
  rooms: 'room',
  schedules: 'schedule',
  health_events: 'health_event',
  auth: 'user',
}

/** A number below `n`, small ones far more often: the same at every run. */
function drawer(): (n: number, skew?: number) => number {
  let state = 42
  return (n, skew = 1) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) ** skew * n)
  }
}

/** Fills the audit: two rows per request, some 60 actions, 300 actors, and as many targets as there are recordings. */
export function seedAudit(db: Database.Database, seed: AuditSeed): void {
  const draw = drawer()
  const dropped = INDEXES.map((name) => {
    const { sql } = db.prepare('SELECT sql FROM sqlite_schema WHERE name = ?').get(name) as { sql: string }
    db.exec(`DROP INDEX ${name}`)
    return sql
  })
  const known = dictionaries(db, seed)
  const insert = db.prepare(
    'INSERT INTO audit_rows (id, at, deed, context, target, details, before, after) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
  )
  const from = Date.now() - DAYS * 86_400_000
  const apart = (DAYS * 86_400_000) / (seed.rows / 2)
  const request = (n: number) => {
    const at = Math.floor(from + n * apart) * PLACES
    const action = draw(100) < 45 ? 'recordings.detail.read' : (ACTIONS[draw(ACTIONS.length, 3)] as string)
    const actor = draw(PEOPLE + NODES, 3)
    const target = known.target(action, draw)
    const refused = draw(100) < 4
    const failed = !refused && draw(100) < 3
    const context = known.context(actor, Math.floor((n * apart) / 86_400_000))
    const details = JSON.stringify({
      method: 'GET',
      path: `/api/v1/${action.replaceAll('.', '/')}`,
      requiredPermission: 'recording:read',
      resourceScope: { type: target.type, id: target.name },
      roles: ['operator'],
    })
    const refusal = REASONS[draw(2)] as string
    insert.run(
      randomBytes(16),
      at,
      known.deed(action, refused ? 'denied' : 'allowed', refused ? refusal : '', target, actor),
      context,
      target.row,
      details,
      null,
      null,
    )
    if (refused) return
    const [name, outcome, reason] = failed ? ['failed', 'failed', REASONS[2 + draw(3)]] : ['succeeded', 'succeeded', '']
    const after = action.endsWith('update') ? JSON.stringify({ name: `Lecture ${n}`, notes: 'x'.repeat(80) }) : null
    const told = JSON.stringify({ method: 'GET', path: `/api/v1/${action.replaceAll('.', '/')}` })
    insert.run(
      randomBytes(16),
      at + 1,
      known.deed(`${action}.${name}`, outcome as string, reason as string, target, actor),
      context,
      target.row,
      told,
      after,
      after,
    )
  }
  const slice = 50_000
  const step = (fill: () => void) => (db.inTransaction ? fill() : db.transaction(fill)())
  for (let n = 0; n < seed.rows / 2; n += slice)
    step(() => {
      for (let i = n; i < Math.min(n + slice, seed.rows / 2); i++) request(i)
    })
  for (const sql of dropped) db.exec(sql)
  db.exec(`INSERT INTO audit_target_text (rowid, folded) SELECT id, folded FROM audit_targets WHERE folded <> '';
    UPDATE audit_indexed SET target = (SELECT max(id) FROM audit_targets)`)
}

interface Target {
  name: string
  row: number
  type: string
}

function dictionaries(db: Database.Database, { recordingId, recordings }: AuditSeed) {
  const lazily = (sql: string) => {
    const insert = db.prepare(sql)
    const ids = new Map<string, number>()
    return (...values: (number | string)[]): number => {
      const key = values.join('\n')
      const id = ids.get(key) ?? Number(insert.run(...values).lastInsertRowid)
      ids.set(key, id)
      return id
    }
  }
  const kind = lazily(
    `INSERT INTO audit_kinds (action, outcome, permission, reason, actor_type, target_type, has_target) VALUES (?, ?, ?, ?, ?, ?, ?)`,
  )
  const person = lazily('INSERT INTO audit_actors (actor_id, name, roles, folded) VALUES (?, ?, ?, ?)')
  const pair = lazily('INSERT INTO audit_deeds (kind, actor) VALUES (?, ?)')
  const from = lazily('INSERT INTO audit_contexts (session_id, ip_address, user_agent) VALUES (?, ?, ?)')
  const thing = lazily('INSERT INTO audit_targets (type, target_id, name, folded) VALUES (?, ?, ?, ?)')

  const actor = (n: number): [type: string, row: number] => {
    if (n >= PEOPLE) return ['node', person(`node_${n}`, `node_${n}`, '[]', `node_${n}\nnode_${n}`)]
    const id = `10000000-0000-4000-8000-${String(n).padStart(12, '0')}`
    return ['user', person(id, `Person ${n}`, '["operator"]', `${id}\nperson ${n}`)]
  }
  const target = (action: string, draw: (n: number, skew?: number) => number): Target => {
    const type = TYPES[action.split('.')[0] as string] ?? action.split('.')[0] ?? ''
    if (/(read|export|create)$/.test(action) && !/detail|actions/.test(action))
      return { name: '', row: thing(`${type}_collection`, '', '', ''), type: `${type}_collection` }
    const count = type.startsWith('recording') ? recordings : 500
    const n = draw(count)
    const id = type === 'recording' ? recordingId(n) : `${type}_${n}`
    const name = type === 'recording' ? `Lecture ${n}` : type === 'node' ? `Recorder ${n}` : ''
    return { name: id, row: thing(type, id, name, `${id}\n${name}\n\n`.toLowerCase()), type }
  }
  return {
    context: (n: number, day: number): number =>
      from(`session-${n}-${day}`, `10.0.${n & 255}.7`, 'Mozilla/5.0 (X11; Linux x86_64) Console'),
    deed: (action: string, outcome: string, reason: string, { name, type }: Target, n: number): number => {
      const [actorType, row] = actor(n)
      return pair(kind(action, outcome, 'recording:read', reason, actorType, type, name === '' ? 0 : 1), row)
    },
    target,
  }
}
