// What the sweeps of bad input share: one controller, requests that are taken back, and what a refusal must look like.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import * as path from 'node:path'
import { after } from 'node:test'
import * as z from 'zod'
import type { AnyRoute } from '../../src/controller/http/route.ts'
import { generateSshKey } from '../../src/crypto/sshkey.ts'
import { lastRow, requestOf, rowsSince, seed, targetType, things, undone } from '../conventions/world.ts'
import { type Answer, kit } from '../kit/kit.ts'

const RUNNER = 'runner-token-0123456789'
export const k = kit({
  env: { SVC_RUNNER_TOKEN: RUNNER, SVC_LOGIN_FAILURE_LIMIT: '1000000', SVC_AUDIT_MACHINE_WINDOW_SECONDS: '0' },
})
after(() => k.close())

const tables = () =>
  k
    .rows<{ name: string }>(
      // What a search index keeps for itself may differ and mean the same.
      `SELECT name FROM pragma_table_list WHERE type = 'table' AND schema = 'main' AND name NOT LIKE 'audit%' AND name NOT LIKE 'sqlite_%'`,
    )
    .map((t) => k.db.raw.prepare(`SELECT * FROM ${t.name}`).raw())
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
  `INSERT INTO bootstrap_tokens (token_hash, token_prefix, node_id, created_by, created_at, expires_at, consumed_at) VALUES ('${createHash('sha256').update('svc_bs_good').digest('hex')}', 'svc_bs_good', 'n1', NULL, ?, '2099-01-01T00:00:00.000Z', NULL)`,
  k.now(),
)
k.sql(
  `INSERT INTO recording_files VALUES ('r1', 'primary', 'ad-hoc/r1.wav', 'sha256:00', 1000, 'audio/wav', 7, NULL, 0, ?, NULL, 1)`,
  k.now(),
)
/** The bytes of the one take there is: an upload that replaced it and was taken back has unlinked them. */
const restoreTake = (): void => {
  const file = path.join(k.config.SVC_RECORDING_CACHE_DIR, 'ad-hoc', 'r1.wav')
  mkdirSync(path.dirname(file), { recursive: true })
  writeFileSync(file, Buffer.alloc(1000, 7))
}
// What a calibration needs: a little history of one node.
for (let frames = 0; frames < 3; frames++) {
  const levels = [{ channelIndex: 1, clipping: false, label: 'Input 1', peakDbfs: -12, rmsDbfs: -27 }]
  await k
    .bearer('svc_node_n1')
    .post('/nodes/n1/meter-frame', { capturedAt: k.now(), interfaceId: 'hw:i1', levels, nodeId: 'n1' })
}
const CUSTODY = [
  'recording_files',
  'chunked_recordings',
  'recording_chunks',
  'recording_chunk_files',
  'recording_jobs',
  'upload_queue',
]

/** What an upload may change, without what is said of it. */
const custody = (): string =>
  JSON.stringify([
    ...CUSTODY.map((table) => k.rows(`SELECT * FROM ${table}`)),
    k.rows('SELECT id, status, duration_seconds FROM recordings'),
    k.rows(`SELECT type FROM health_events WHERE type <> 'controller.recording.cache_file_failed'`),
  ])
const kept = custody()

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

/** Who asks for somebody else's answer (a switcher's, the lifecycle runner's) is told that there was none. */
export const peerless = (r: AnyRoute, status: number): boolean =>
  status === 502 && /restore|config-snapshot|lifecycle\/:action/.test(r.path)

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
    if (status >= 500 && !peerless(r, status)) say(`answers ${status} ${answer.text.slice(0, 200)}`)
    if (status < 400) return { answer, complaints }
    // A person who follows a link is shown a page.
    const isPage = r.refusalPage !== undefined || (r.path.startsWith('/a/') && answer.text.includes('<h1>'))
    if (!isPage && (typeof answer.json?.error !== 'string' || answer.json.error === ''))
      say(`has no error text: ${answer.text.slice(0, 100)}`)
    if (status === 400 && !Array.isArray(answer.json?.issues)) say('is a 400 without issues')
    if (answer.text.length > LARGEST_ANSWER) say(`answers with ${answer.text.length} bytes`)
    // A failed upload opens a health event, which the recording shows and others count: it must leave no more.
    const same = r.path.endsWith('/cache-file') ? custody() === kept : fingerprint() === clean
    if (status < 500 && !same) say(`answers ${status} and has changed the database`)
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
  'PATCH /auth/me/password': { currentPassword: 'the old password', newPassword: 'another password' },
  'POST /auth/login': { email: 'a@example.org', password: 'not-the-password' },
  'POST /auth/display-links': { name: 'Foyer', site: 'North' },
  'POST /auth/display-session': { token: 'svc_display_none' },
  'POST /auth/sign-in-link': { token: 'svc_link_none' },
  'POST /auth/users': { email: 'b@example.org', name: 'B', password: 'good-password', roles: ['viewer'] },
  'PATCH /auth/users/:id/access': { roles: ['viewer'], groupIds: [], resourceGrants: [] },
  'PATCH /auth/users/:id/password': { password: 'good-password' },
  'PATCH /auth/users/:id/status': { disabled: true },
  'POST /auth/groups': { name: 'G', memberIds: [] },
  'POST /nodes/:id/recording-jobs/offer': { note: 'enc.v1:none:none:none' },
  'PATCH /auth/groups/:id': { name: 'G' },
  'PUT /auth/groups/:id/members': { memberIds: ['somebody'] },
  'PATCH /auth/access-policies': {
    policies: [{ effect: 'allow', subjectType: 'everyone', resourceType: 'node', resourceId: 'n1' }],
  },
  'PATCH /nodes/:id': { alias: 'B', tags: ['x'] },
  'PATCH /nodes/:id/interfaces/:iid': { alias: 'B' },
  'POST /audit-events/export': { eventIds: ['00000000-0000-4000-8000-000000000001'] },
  'POST /nodes/enroll': { ...NODE, interfaces: [INTERFACE] },
  'POST /nodes/:id/bootstrap-token': { ttlSeconds: 60 },
  'POST /nodes/:id/pairing-code': { ttlSeconds: 60 },
  'POST /nodes/pair': { code: 'AAAA-AAAA' },
  'POST /nodes/bootstrap-config': {
    controllerUrl: 'https://controller.example',
    nodes: [{ alias: 'New', site: 'North', room: 'Hall' }, { nodeId: 'n1' }],
  },
  'POST /nodes/:id/bootstrap': { ...generateSshKey('recorder'), username: 'svc', interfaces: [INTERFACE] },
  'POST /nodes/:id/listen': { enhance: true },
  'POST /nodes/:id/doctor-report': {
    report: { checks: [{ id: 'ffmpeg', message: 'ffmpeg 7', status: 'ok' }], ok: true, role: 'agent' },
    requestId: 'r1',
  },
  'POST /nodes/:id/meter-frame': {
    capturedAt: '2026-03-02T08:00:00.000Z',
    interfaceId: 'hw:i1',
    nodeId: 'n1',
    levels: [{ channelIndex: 1, clipping: false, label: 'Input 1', peakDbfs: -12, rmsDbfs: -27.1 }],
  },
  'POST /nodes/:id/meter-frames': {
    frames: [
      {
        capturedAt: '2026-03-02T08:00:00.000Z',
        interfaceId: 'hw:i1',
        nodeId: 'n1',
        levels: [{ channelIndex: 1, clipping: false, label: 'Input 1', peakDbfs: -12, rmsDbfs: -27.1 }],
      },
    ],
  },
  'POST /nodes/:id/sound-readings': {
    heardAt: '2026-03-02T08:00:00.000Z',
    kind: 'take',
    prints: [
      {
        bandsDbfs: [-60, -62, -66, -70, -75, -80, -84, -88],
        channelIndex: 1,
        clippedSeconds: 0,
        flat: false,
        floorDbfs: -58,
        humDbfs: -90,
        humHz: 50,
        offset: 0,
        peakDbfs: -20,
      },
    ],
    recordingId: 'r1',
    seconds: 60,
  },
  'POST /nodes/:id/heartbeat': { agentVersion: '1', hostname: 'h', status: 'online' },
  'POST /nodes/:id/inventory': { interfaces: [INTERFACE] },
  'POST /nodes/:id/health-events': { type: 'capture.failed', severity: 'warning', details: { a: 1 } },
  'POST /recordings/export': { recordingIds: ['r1', 'r3'] },
  'PATCH /recordings/:id/metadata': { name: 'N', notes: 'Loud', tags: ['x'], transcriptSnippets: ['said'] },
  'PATCH /recordings/bulk-metadata': { recordingIds: ['r1', 'r3'], addTags: ['x'], removeTags: ['y'], folder: 'F' },
  'POST /recordings/bulk-delete': { recordingIds: ['r3'] },
  'POST /recordings': {
    nodeId: 'n3',
    name: 'T',
    durationSeconds: 5,
    captureInterfaceId: 'i4',
    captureChannelSelection: [1],
  },
  'POST /schedules': {
    ...{ name: 'S', nodeId: 'n3', captureInterfaceId: 'i4', captureChannelSelection: [1], channelMode: 'mono' },
    ...{ room: 'R', timezone: 'Europe/Berlin', titleTemplate: '{{date}}', folderTemplate: 'F', tags: ['x'] },
    ...{ recordingProfileId: 'voice-mp3-vbr', watchdogPolicyId: 'scheduled-voice-watchdog' },
    recurrence: { mode: 'weekly', interval: 1, daysOfWeek: ['monday'], startTime: '09:00', endTime: '10:00' },
  },
  'PATCH /schedules/:id': { name: 'S' },
  'POST /schedules/:id/move-occurrence': {
    newStartAt: '2026-03-03T15:00:00.000Z',
    occurrenceStartAt: '2026-03-02T12:00:00.000Z',
  },
  'POST /schedules/:id/undo-move': { movedTo: 's2', updatedAt: '2026-03-02T08:00:00.000Z' },
  'POST /schedules/export': { scheduleIds: ['s1'] },
  'POST /recording-jobs/export': { jobIds: ['j1'] },
  'POST /recording-jobs/bulk-retry': { jobIds: ['j3'] },
  'POST /recording-jobs/bulk-stop': { jobIds: ['j1', 'j2'] },
  'POST /settings/retention-policies': { name: 'R', action: 'delete_cache', maxAgeDays: 30, maxBytes: null },
  'PATCH /settings/retention-policies/:id': { name: 'R', minFreeDiskPercent: 5 },
  'POST /settings/recording-profiles': { name: 'P', codec: 'wav', bitrateKbps: 128 },
  'PATCH /settings/recording-profiles/:id': { name: 'P' },
  'POST /recordings/:id/upload-queue': { reason: 'for the archive', uploadPolicyId: 'nightly' },
  'POST /recordings/bulk-upload-queue': { recordingIds: ['r1'], uploadPolicyId: 'nightly' },
  'POST /settings/upload-destinations': {
    displayName: 'D',
    kind: 's3',
    s3: { accessKeyId: 'k', bucket: 'takes', endpoint: 'http://127.0.0.1:9', region: 'eu' },
    s3SecretAccessKey: 'secret-of-the-bucket',
    smb: { path: 'a', server: 'nas', share: 'takes', username: 'u' },
    smbPassword: 'secret-of-the-share',
  },
  'PATCH /settings/upload-destinations/:id': {
    displayName: 'D',
    smb: { server: 'nas', port: 445 },
    smbPassword: 'secret',
  },
  'POST /settings/upload-policies': { destinationId: 'bucket', name: 'P', pathOverride: 'a/b' },
  'PATCH /settings/upload-policies/:id': { name: 'P', destinationId: 'bucket' },
  'POST /settings/notification-channels': {
    kind: 'ntfy',
    name: 'Phones',
    ntfy: { topic: 'rooms', url: 'https://ntfy.example' },
    secret: 'tk_secret',
  },
  'PATCH /settings/notification-channels/:id': { name: 'Phones' },
  'POST /settings/notification-rules': { channelId: 'phones', minSeverity: 'warning', name: 'Everything' },
  'PATCH /settings/notification-rules/:id': { name: 'Everything' },
  'POST /settings/notification-rules/preview': { minSeverity: 'warning' },
  'PATCH /auth/me/notifications': { email: { enabled: true } },
  'POST /nodes/export': { nodeIds: ['n1'] },
  'PUT /nodes/:id/ssh-credential/host-keys': { hostKeys: [] },
  'PUT /nodes/:id/channel-rooms': { assignments: [{ interfaceId: 'i1', channelIndexes: [1], roomId: 'booth' }] },
  'POST /nodes/:id/lifecycle/:action': { agentVersion: 'agent-v2026.03.01-1', sshUser: 'svc' },
  'POST /settings/channel-map-templates': {
    name: 'M',
    entries: [{ included: true, label: 'Left', outputChannelIndex: 1, sourceChannelIndex: 1 }],
    tags: ['x'],
  },
  'PATCH /settings/channel-map-templates/:id': { name: 'M', channelMode: 'mono' },
  'PUT /settings/channel-map-assignments': { targetId: 'i1', targetType: 'interface', templateId: 'map' },
  'PUT /settings/channel-map-assignments/bulk': {
    targets: [{ targetId: 'n1', targetType: 'node' }],
    templateId: 'map',
  },
  'POST /settings/channel-map-assignments/rollback': { targetId: 'i3', targetType: 'interface' },
  'POST /settings/channel-map-assignment-plans': {
    note: 'tonight',
    targets: [{ targetId: 'n1', targetType: 'node' }],
    templateId: 'map',
  },
  'PATCH /settings/foresight': { kinds: { clash: { enabled: false, leadMinutes: 60, severity: 'info' } } },
  'PATCH /settings/controller': { controllerName: 'C', siteName: '', weekStartsOn: 'sunday' },
  'POST /health-events': { type: 'room.remark', severity: 'warning', nodeId: 'n1', details: { a: 1 } },
  'POST /health-events/bulk-lifecycle': { action: 'suppress', eventIds: ['h1'], note: 'known' },
  'POST /health-events/export': { eventIds: ['h1'] },
  'POST /health-events/:id/acknowledge': { note: 'seen' },
  'POST /health-events/:id/suppress': { note: 'known', suppressedUntil: '2026-03-02T12:00:00.000Z' },
  'POST /health-events/:id/resolve': { note: 'repaired' },
  'POST /health-events/:id/reopen': { note: 'again' },
  'POST /settings/watchdog-policies': { name: 'W', thresholdDbfs: -50 },
  'PATCH /settings/watchdog-policies/:id': { graceSeconds: 0, minSpeechScore: null },
  'POST /settings/watchdog-policies/:id/calibrations': { apply: true, minFrames: 3, nodeId: 'n1' },
  'POST /settings/switchers': { displayName: 'S', host: '127.0.0.1', port: 1 },
  'PATCH /settings/switchers/:id': { displayName: 'S' },
  'POST /settings/switchers/:id/restore': { snapshot: 'SET OUT1 AS IN1' },
  'PUT /settings/switchers/:id/mappings': { inputs: [{ input: 1, roomId: 'hall' }], outputs: [] },
  'POST /rooms': { name: 'R', site: 'North' },
  'PATCH /rooms/:roomId': { name: 'R' },
  'PUT /rooms/:roomId/roster': { entries: [{ capabilities: ['view'], subjectId: 'somebody', subjectType: 'user' }] },
}
export const good = (r: AnyRoute): Record<string, unknown> => ({ ...GOOD[`${r.method} ${r.path}`] })

export const raw = (body: string | Uint8Array, what: string): Sent => ({ body, what })
