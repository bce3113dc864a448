// A whole controller in memory, a fresh world per test: the real pipeline, the real schema, a clock that waits.
import { createHash } from 'node:crypto'
import { rmSync } from 'node:fs'
import { createApp } from '../../src/controller/app.ts'
import { readConfig } from '../../src/controller/config.ts'
import type { Running } from '../../src/controller/fleet/releases/repository.own.ts'
import type { Certificates } from '../../src/controller/http/certificates.ts'
import { sealKeys } from '../../src/controller/secrets.ts'
import { Db } from '../../src/controller/store/db.ts'
import { embedded, migrate } from '../../src/controller/store/migrate.ts'
import type { LeaseClient } from '../../src/controller/succession/leaseclient.ts'
import type { ReplicaWatch } from '../../src/controller/succession/replica.ts'
import { iso } from '../../src/kernel/clock.ts'
import { randomIds } from '../../src/kernel/ids.ts'
import type { Role } from '../../src/wire/permissions.ts'
import { scratchDir } from './scratch.ts'

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

export const migrations = embedded()

/** Derived once: that takes as long as all the rest of a world. */
export const keys = sealKeys({ nodeSshKey: 'kit-node-key-0123456789', settingsKey: 'kit-secret-key-0123456789' })

export interface Answer {
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into, not typed
  json: any
  headers: Headers
  status: number
  text: string
}

interface KitOptions {
  /** What HTTPS would be served with. */
  certificates?: Certificates
  env?: Record<string, string>
  /** A database file; in memory when absent. */
  file?: string
  /** A lease it holds. */
  lease?: LeaseClient
  /** What replicates its database. */
  replica?: ReplicaWatch
  /** The executable that runs, where a test is about it. */
  running?: Running
}

const UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

const msOf = (span: string): number => {
  const [, n = '0', unit = 'ms'] = /^(\d+)(ms|s|m|h|d)$/.exec(span) ?? []
  return Number(n) * (UNITS[unit] as number)
}

export function kit(options: KitOptions = {}) {
  const dir = scratchDir('roomtone-kit-')
  const config = readConfig({ SVC_DATA_DIR: dir, SVC_SECRET_KEY: 'kit-secret-key-0123456789', ...options.env })
  const db = new Db(options.file ?? ':memory:')
  migrate(db, migrations)
  let now = Date.parse('2026-03-02T09:00:00.000Z')
  // The wall clock minus the other one, which never jumps.
  let put = 0
  const counters = new Map<string, number>()
  const next = (kind: string): number => {
    counters.set(kind, (counters.get(kind) ?? 0) + 1)
    return counters.get(kind) as number
  }
  const logged: string[] = []
  const say = (level: string) => (message: string, fields?: object) => {
    logged.push(JSON.stringify({ level, message, ...fields }))
  }
  const controller = createApp({
    certificates: options.certificates,
    clock: { now: () => now + put, monotonic: () => now },
    config,
    db,
    keys,
    lease: options.lease,
    replica: options.replica,
    running: options.running,
    // A file lives on: its next visitor counts from one again.
    ids: options.file
      ? randomIds
      : {
          make: (kind) => `${kind}_${next(kind)}`,
          uuid: () => `00000000-0000-4000-8000-${String(next('uuid')).padStart(12, '0')}`,
        },
    log: { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') },
  })

  const send = async (
    token: string | undefined,
    method: string,
    path: string,
    body?: unknown,
    headers = {},
  ): Promise<Answer> => {
    const raw = typeof body === 'string' || body instanceof Uint8Array
    const full = /^\/(a\/|docs|metrics|healthz|readyz)/.test(path) ? path : `/api/v1${path}`
    const response = await controller.app.request(full, {
      method,
      headers: { ...(token ? { authorization: `Bearer ${token}` } : {}), ...headers },
      body: body === undefined ? undefined : raw ? (body as never) : JSON.stringify(body),
    })
    // Server-sent events have no end: who wants to read them asks the app itself.
    const endless = response.headers.get('content-type') === 'text/event-stream'
    const text = endless ? '' : await response.text()
    if (endless) await response.body?.cancel()
    const isJson = response.headers.get('content-type')?.includes('json')
    return {
      status: response.status,
      headers: response.headers,
      text,
      json: isJson && text ? JSON.parse(text) : undefined,
    }
  }
  const bearer = (token: string | undefined) => ({
    get: (path: string, headers = {}) => send(token, 'GET', path, undefined, headers),
    post: (path: string, body?: unknown, headers = {}) => send(token, 'POST', path, body, headers),
    put: (path: string, body?: unknown, headers = {}) => send(token, 'PUT', path, body, headers),
    patch: (path: string, body?: unknown, headers = {}) => send(token, 'PATCH', path, body, headers),
    delete: (path: string, headers = {}) => send(token, 'DELETE', path, undefined, headers),
    send: (method: string, path: string, body?: unknown, headers = {}) => send(token, method, path, body, headers),
    token,
  })
  const prepared = new Map<string, ReturnType<typeof db.raw.prepare>>()
  const prepare = (text: string) => {
    const statement = prepared.get(text) ?? db.raw.prepare(text)
    prepared.set(text, statement)
    return statement
  }
  const sql = (text: string, ...values: unknown[]) => prepare(text).run(...values)
  const rows = <T = Record<string, unknown>>(text: string, ...values: unknown[]) => prepare(text).all(...values) as T[]

  /** A person with a role (or none) and grants; the session is made behind the door, so that the trail starts empty. */
  const person = (name: string, roles: Role[], grants: [type: string, id: string][] = []) => {
    const token = `svc_${name}`
    if (rows('SELECT 1 FROM users WHERE id = ?', name).length === 0) {
      const at = iso(now + put)
      sql(
        'INSERT INTO users (id, email, name, created_at, updated_at) VALUES (?, ?, ?, ?, ?)',
        name,
        `${name}@example.org`,
        name,
        at,
        at,
      )
      for (const role of roles) sql('INSERT INTO user_roles VALUES (?, ?)', name, role)
      sql(
        'INSERT INTO sessions (id, user_id, token_hash, created_at, last_seen_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)',
        `session-${name}`,
        name,
        sha256(token),
        at,
        at,
        '2099-01-01T00:00:00.000Z',
      )
    }
    for (const [type, id] of grants) sql('INSERT OR IGNORE INTO user_grants VALUES (?, ?, ?)', name, type, id)
    return bearer(token)
  }

  const as = (role: Role) => person(role, [role])

  /** A node with one stereo interface, enrolled by an admin; `agent` speaks with its token. */
  const enroll = async (alias = 'Hall recorder', extra: object = {}) => {
    const answer = await as('admin').post('/nodes/enroll', {
      alias,
      hostname: `${alias.toLowerCase().replaceAll(' ', '-')}.local`,
      location: { site: 'North', room: 'Hall' },
      interfaces: [
        {
          alias: 'Desk',
          systemName: 'USB Desk',
          systemRef: 'hw:CARD=Desk,DEV=0',
          backend: 'alsa',
          channelCount: 2,
          sampleRates: [48000],
        },
      ],
      ...extra,
    })
    const { node, credential } = answer.json.data
    return { id: node.id as string, node, token: credential.token as string, agent: bearer(credential.token) }
  }

  return {
    ...controller,
    as,
    config,
    enroll,
    db,
    dir,
    anonymous: bearer(undefined),
    bearer,
    logged,
    /** The wall clock jumps, and the controller sees it: `'1h'`, `'-10m'`. */
    jump: (span: string): Promise<void> => {
      const [, sign, amount = ''] = /^(-?)(.*)$/.exec(span) ?? []
      put += (sign ? -1 : 1) * msOf(amount)
      return controller.clockWatch.check()
    },
    now: () => iso(now + put),
    person,
    rows,
    sql,
    /** Directory of the stored takes. */
    takes: config.SVC_RECORDING_CACHE_DIR,
    /** `'90s'`, `'16m'`, `'2h'`, `'1d'`. */
    advance: (span: string) => {
      now += msOf(span)
    },
    tick: (runner: string) => controller.ticker.run(runner),
    /** The exact audit trail: `action outcome reason`, oldest first. */
    trail: (): string[] =>
      rows<{ t: string }>(
        `SELECT action || ' ' || outcome || coalesce(' ' || reason, '') AS t FROM audit_events ORDER BY seq`,
      ).map((r) => r.t),
    forget: () => {
      sql("INSERT OR REPLACE INTO audit_retention_gate VALUES (1, '9999')")
      sql('DELETE FROM audit_rows')
      sql('DELETE FROM audit_retention_gate')
    },
    close: async () => {
      await controller.stop()
      db.close()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}
export type Kit = ReturnType<typeof kit>
