// What the sweeps of bad input share: one controller, requests that are taken back, and what a refusal must look like.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import * as path from 'node:path'
import { after } from 'node:test'
import * as z from 'zod'
import type { AnyRoute } from '../../src/controller/edge/route.ts'
import { generateSshKey } from '../../src/crypto/sshkey.ts'
import { type Answer, kit } from '../kit/kit.ts'
import { lastRow, requestOf, rowsSince, seed, targetType, things, undone } from './world.ts'

const RUNNER = 'runner-token-0123456789'
export const k = kit({
  env: { SVC_RUNNER_TOKEN: RUNNER, SVC_LOGIN_FAILURE_LIMIT: '1000000', SVC_AUDIT_MACHINE_WINDOW_SECONDS: '0' },
})
after(() => k.close())

const tables = () =>
  k
    .rows<{ name: string }>(
      `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'audit_events' AND name NOT LIKE 'sqlite_%'`,
    )
    .map((t) => k.db.raw.prepare(`SELECT * FROM ${t.name}`))
let dumps: ReturnType<typeof tables> | undefined

/** Everything but the audit, as one hash. */
export function fingerprint(): string {
  dumps ??= tables()
  return createHash('sha256')
    .update(JSON.stringify(dumps.map((t) => t.all())))
    .digest('hex')
}

seed(k)
k.as('owner')
// A credential just used is not touched again: what changes is the request's doing.
k.sql('UPDATE node_credentials SET last_used_at = ?', k.now())
k.sql(
  `INSERT INTO bootstrap_tokens VALUES ('${createHash('sha256').update('svc_bs_good').digest('hex')}', 'svc_bs_good', 'n1', NULL, ?, '2099-01-01T00:00:00.000Z', NULL)`,
  k.now(),
)
k.sql(
  `INSERT INTO recording_files VALUES ('r1', 'primary', 'ad-hoc/r1.wav', 'sha256:00', 1000, 'audio/wav', 7, NULL, ?)`,
  k.now(),
)
/** The bytes of the one take there is: an upload that replaced it and was taken back has unlinked them. */
const restoreTake = (): void => {
  const file = path.join(k.config.SVC_RECORDING_CACHE_DIR, 'ad-hoc', 'r1.wav')
  mkdirSync(path.dirname(file), { recursive: true })
  writeFileSync(file, Buffer.alloc(1000, 7))
}
/** What `fingerprint` gives as long as nothing has changed. */
export const clean = fingerprint()

export const line = (r: AnyRoute): string => `${r.method} ${r.path} (${r.auth})`
export const tokenFor = (r: AnyRoute): string | undefined =>
  ({ user: 'svc_owner', node: 'svc_node_n1', bootstrap: 'svc_bs_good', runner: RUNNER, none: 'svc_owner' })[
    r.auth as string
  ]

export type Sent = {
  body?: string | Uint8Array
  headers?: Record<string, string>
  path?: string
  query?: string
  what: string
}

const LARGEST_ANSWER = 64 * 1024

/** Sends it, takes it back, and says what is wrong with the answer. */
export async function attempt(r: AnyRoute, sent: Sent): Promise<{ answer: Answer; complaints: string[] }> {
  return undone(k, async () => {
    const since = lastRow(k)
    if (/\/(stream|file)$/.test(r.path)) restoreTake()
    const type = targetType(r)
    const url = sent.path ?? requestOf(r, type ? things(type)[0] : undefined, 'n1').path
    const headers = sent.headers ?? {}
    const answer = await k.bearer(tokenFor(r)).send(r.method, `${url}${sent.query ?? ''}`, sent.body, headers)
    const complaints: string[] = []
    const say = (words: string) => complaints.push(`${line(r)} with ${sent.what}: ${words}`)
    const { status } = answer
    if (status >= 500) say(`answers ${status} ${answer.text.slice(0, 200)}`)
    if (status < 400) return { answer, complaints }
    if (typeof answer.json?.error !== 'string' || answer.json.error === '')
      say(`has no error text: ${answer.text.slice(0, 100)}`)
    if (status === 400 && !Array.isArray(answer.json?.issues)) say('is a 400 without issues')
    if (answer.text.length > LARGEST_ANSWER) say(`answers with ${answer.text.length} bytes`)
    // A failed upload opens a health event, which the recording shows: that is all it may leave.
    if (r.path.endsWith('/cache-file')) {
      k.sql(`DELETE FROM health_events WHERE type = 'controller.recording.cache_file_failed'`)
      k.sql(`UPDATE recordings SET health_status = 'unknown', updated_at = recorded_at`)
    }
    if (status < 500 && fingerprint() !== clean) say(`answers ${status} and has changed the database`)
    const told = rowsSince(k, since).some((row) => row.outcome === 'failed' || row.outcome === 'denied')
    if (!told && r.audit !== 'none') say(`answers ${status} and leaves no audit row`)
    return { answer, complaints }
  })
}

export async function sweep(cases: Iterable<[AnyRoute, Sent]>, least: number): Promise<void> {
  const wrong: string[] = []
  let count = 0
  for (const [r, sent] of cases) {
    count++
    wrong.push(...(await attempt(r, sent)).complaints)
  }
  assert.deepEqual(wrong.slice(0, 40), [])
  assert.ok(count >= least, `${count} cases`)
}

interface Json {
  properties?: Record<string, Json>
}
export const fieldsOf = (schema: z.ZodType): string[] =>
  Object.keys((z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Json).properties ?? {})

// One good body per route: a field is wrong alone, everything else is right. Routes not named here have none.
const NODE = { alias: 'A', hostname: 'h', location: { site: 'North', room: 'Hall' } }
export const INTERFACE = { alias: 'A', systemName: 'a', systemRef: 'hw:A', backend: 'alsa', channelCount: 2 }
export const GOOD: Record<string, object> = {
  'POST /auth/login': { email: 'a@example.org', password: 'not-the-password' },
  'POST /auth/users': { email: 'b@example.org', name: 'B', password: 'good-password', roles: ['viewer'] },
  'PATCH /auth/users/:id/access': { roles: ['viewer'], groupIds: [], resourceGrants: [] },
  'PATCH /auth/users/:id/password': { password: 'good-password' },
  'PATCH /auth/users/:id/status': { disabled: true },
  'POST /auth/groups': { name: 'G', memberIds: [] },
  'PATCH /auth/groups/:id': { name: 'G' },
  'PUT /auth/groups/:id/members': { memberIds: ['somebody'] },
  'PATCH /auth/access-policies': {
    policies: [{ effect: 'allow', subjectType: 'everyone', resourceType: 'node', resourceId: 'n1' }],
  },
  'PATCH /nodes/:id': { alias: 'B', tags: ['x'] },
  'PATCH /nodes/:id/interfaces/:iid': { alias: 'B' },
  'POST /nodes/enroll': { ...NODE, interfaces: [INTERFACE] },
  'POST /nodes/:id/bootstrap-token': { ttlSeconds: 60 },
  'POST /nodes/:id/bootstrap': { ...generateSshKey('recorder'), username: 'svc', interfaces: [INTERFACE] },
  'POST /nodes/:id/heartbeat': { agentVersion: '1', hostname: 'h', status: 'online' },
  'POST /nodes/:id/inventory': { interfaces: [INTERFACE] },
  'POST /nodes/:id/health-events': { type: 'capture.failed', severity: 'warning', details: { a: 1 } },
  'POST /recordings': {
    nodeId: 'n3',
    name: 'T',
    durationSeconds: 5,
    captureInterfaceId: 'i4',
    captureChannelSelection: [1],
  },
  'POST /settings/recording-profiles': { name: 'P', codec: 'wav', bitrateKbps: 128 },
  'PATCH /settings/recording-profiles/:id': { name: 'P' },
  'POST /rooms': { name: 'R', site: 'North' },
  'PATCH /rooms/:roomId': { name: 'R' },
  'PUT /rooms/:roomId/roster': { entries: [{ capabilities: ['view'], subjectId: 'somebody', subjectType: 'user' }] },
}
export const good = (r: AnyRoute): Record<string, unknown> => ({ ...GOOD[`${r.method} ${r.path}`] })

export const raw = (body: string | Uint8Array, what: string): Sent => ({ body, what })
