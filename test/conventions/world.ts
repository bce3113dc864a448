// A seeded world for the matrices: two sites, rooms, nodes whose channels belong to different rooms, recordings,
// jobs, schedules, health events. What each thing expands to is written here by hand, from the contract, not from src.
import type { AnyRoute } from '../../src/controller/http/route.ts'
import { type Kit, sha256 } from '../kit/kit.ts'

/** `type id`, as grants name things. */
export type Thing = string

export const thing = (text: Thing): { type: string; id: string } => {
  const [type = '', ...id] = text.split(' ')
  return { type, id: id.join(' ') }
}

/** What a grant, policy or roster entry may name to reach the thing (the thing itself included). */
export const EXPANDS: Record<Thing, Thing[]> = {
  // n1: interface i1 has a channel in hall and one in booth; i2 inherits, and the node has no default room.
  'node n1': ['node n1', 'site North', 'room hall', 'room booth'],
  'interface i1': ['interface i1', 'node n1', 'site North', 'room hall', 'room booth'],
  'interface i2': ['interface i2', 'node n1', 'site North'],
  'channel i1:1': ['channel i1:1', 'interface i1', 'node n1', 'site North', 'room hall'],
  'channel n1:i1:2': ['channel n1:i1:2', 'interface i1', 'node n1', 'site North', 'room booth'],
  // n2: default room cellar; one channel inherits, one is in attic, so the default still counts.
  'node n2': ['node n2', 'site South', 'room cellar', 'room attic'],
  'interface i3': ['interface i3', 'node n2', 'site South', 'room cellar', 'room attic'],
  'channel i3:1': ['channel i3:1', 'interface i3', 'node n2', 'site South', 'room cellar'],
  // n3: default room hall, but its only channel is in booth: the default has dropped out.
  'node n3': ['node n3', 'site North', 'room booth'],
  'interface i4': ['interface i4', 'node n3', 'site North', 'room booth'],
  // n4: no interface at all, so its default room counts.
  'node n4': ['node n4', 'site South', 'room attic'],
  'schedule s1': ['schedule s1', 'room booth', 'site North', 'node n2', 'site South'],
  'schedule s2': ['schedule s2', 'room cellar', 'site South'],
  // A recording belongs to the room it was made in, never to all rooms of its node.
  'recording r1': ['recording r1', 'room hall', 'node n1', 'site North'],
  'recording r2': [
    'recording r2',
    'room hall',
    'node n1',
    'site North',
    'schedule s1',
    'room booth',
    'node n2',
    'site South',
  ],
  'recording r3': ['recording r3', 'node n2', 'site South'],
  'recording r4': ['recording r4', 'room attic', 'schedule s2', 'room cellar', 'site South'],
  'recording_job j1': ['recording_job j1', 'recording r1', 'room hall', 'node n1', 'site North'],
  'recording_job j2': [
    ...['recording_job j2', 'recording r2', 'room hall', 'node n1', 'site North'],
    ...['schedule s1', 'room booth', 'node n2', 'site South'],
  ],
  // Made by another node than the one the recording names now: that node and its site reach it too.
  'recording_job j3': ['recording_job j3', 'recording r3', 'node n2', 'site South', 'node n3', 'site North'],
  'health_event h1': ['health_event h1', 'node n1', 'site North', 'room hall', 'room booth'],
  'health_event h2': ['health_event h2', 'recording r1', 'room hall', 'node n1', 'site North'],
  'health_event h3': ['health_event h3', 'schedule s1', 'room booth', 'site North', 'node n2', 'site South'],
  // A room is part of its site.
  'room hall': ['room hall', 'site North'],
  'room booth': ['room booth', 'site North'],
  'room cellar': ['room cellar', 'site South'],
  'room attic': ['room attic', 'site South'],
  'recording_profile voice-mp3-vbr': ['recording_profile voice-mp3-vbr'],
  'retention_policy retention-keep-controller-cache': ['retention_policy retention-keep-controller-cache'],
  'recording_profile plain': ['recording_profile plain'],
  'upload_destination bucket': ['upload_destination bucket'],
  'notification_channel phones': ['notification_channel phones'],
  'notification_rule everything': ['notification_rule everything'],
  'notification told': ['notification told'],
  'upload_policy nightly': ['upload_policy nightly'],
  'upload_policy upload-policy-stub': ['upload_policy upload-policy-stub'],
  'channel_map_template map': ['channel_map_template map'],
  'channel_map_template map-old': ['channel_map_template map-old'],
  // A map belongs to what has it: a1 to interface i3, a2 to node n1.
  'channel_map_assignment a1': [
    ...['channel_map_assignment a1', 'interface i3', 'node n2', 'site South', 'room cellar', 'room attic'],
  ],
  'channel_map_assignment a2': ['channel_map_assignment a2', 'node n1', 'site North', 'room hall', 'room booth'],
  'channel_map_assignment_plan p1': ['channel_map_assignment_plan p1'],
  'watchdog_policy scheduled-voice-watchdog': ['watchdog_policy scheduled-voice-watchdog'],
  // One of its inputs is the hall.
  'switcher n1': ['switcher n1', 'room hall', 'site North'],
  'user somebody': ['user somebody'],
  'group crew': ['group crew'],
}

/** Rooms seen through full authority over a node (the node itself, its site): its room union. */
export const NODE_ROOMS: Record<Thing, Thing[]> = {
  'node n1': ['room hall', 'room booth'],
  'node n2': ['room cellar', 'room attic'],
  'node n3': ['room booth'],
  'node n4': ['room attic'],
}

const AT = '2026-03-02T08:00:00.000Z'

export const things = (type: string): Thing[] => Object.keys(EXPANDS).filter((t) => thing(t).type === type)

/** Fills a fresh kit; node tokens are `svc_node_<id>`. */
export function seed(k: Kit): void {
  k.person('somebody', ['viewer'])
  k.sql('INSERT INTO access_groups VALUES (?, ?, NULL, ?, ?)', 'crew', 'Crew', AT, AT)
  for (const [id, site] of [
    ['hall', 'North'],
    ['booth', 'North'],
    ['cellar', 'South'],
    ['attic', 'South'],
  ])
    k.sql('INSERT INTO rooms VALUES (?, ?, ?, NULL, NULL, NULL, NULL, ?, ?)', id, site, `Room ${id}`, AT, AT)
  for (const [id, site, room] of [
    ['n1', 'North', null],
    ['n2', 'South', 'cellar'],
    ['n3', 'North', 'hall'],
    ['n4', 'South', 'attic'],
  ] as const)
    node(k, id, site, room)
  interfaces(k)
  recordings(k)
  // Named as what fills paths whose target has no id; nobody listens there.
  k.sql(
    `INSERT INTO switchers (id, display_name, host, port, model, enabled, mode, created_at, updated_at)
     VALUES ('n1', 'Foyer', '127.0.0.1', 1, 'avpro-ac-max', 1, 'observe', ?, ?)`,
    AT,
    AT,
  )
  k.sql(`INSERT INTO switcher_inputs VALUES ('n1', 1, 'hall')`)
  maps(k)
  uploads(k)
  notifications(k)
  k.sql(
    `INSERT INTO recording_profiles SELECT 'plain', 'Plain', codec, bitrate_kbps, vbr, channel_mode, 0, 0, NULL, NULL, NULL,
       created_at, updated_at FROM recording_profiles WHERE id = 'voice-mp3-vbr'`,
  )
}

// An item is asked for by its own id and judged as its recording: each has the id of its recording here.
function uploads(k: Kit): void {
  k.sql(
    `INSERT INTO upload_destinations (id, display_name, kind, enabled, created_at, updated_at)
     VALUES ('bucket', 'Bucket', 's3', 0, ?, ?)`,
    AT,
    AT,
  )
  k.sql(`INSERT INTO upload_policies VALUES ('nightly', 'Nightly', 'bucket', 1, 'manual', 5, NULL, 0, ?)`, AT)
  for (const id of ['r1', 'r2', 'r3', 'r4'])
    k.sql(
      `INSERT INTO upload_queue (id, recording_id, upload_policy_id, destination_id, provider, status, max_attempts,
         next_attempt_at, cache_path, checksum, file_name, created_at, updated_at)
       VALUES (?, ?, 'nightly', 'bucket', 's3', 'failed', 5, ?, 'ad-hoc/none.wav', 'sha256:00', 'none.wav', ?, ?)`,
      ...[id, id, AT, AT, AT],
    )
}

function notifications(k: Kit): void {
  k.sql(
    `INSERT INTO notification_channels (id, name, kind, enabled, options, created_at, updated_at)
     VALUES ('phones', 'Phones', 'ntfy', 0, '{"topic":"rooms","url":"https://ntfy.example"}', ?, ?)`,
    AT,
    AT,
  )
  k.sql(
    `INSERT INTO notification_rules (id, name, enabled, channel_id, choice, reported_until, created_at, updated_at)
     VALUES ('everything', 'Everything', 1, 'phones', '{"includeResolved":true,"minSeverity":"info","throttleSeconds":0,"types":["*"]}', ?, ?, ?)`,
    ...[AT, AT, AT],
  )
  k.sql(
    `INSERT INTO notifications (id, channel_id, kind, status, next_attempt_at, due_at, content, created_at)
     VALUES ('told', 'phones', 'test', 'failed', ?, ?, '{}', ?)`,
    ...[AT, AT, AT],
  )
}

function node(k: Kit, id: string, site: string, room: string | null): void {
  k.sql(
    `INSERT INTO nodes (id, alias, hostname, site, room, room_id, last_seen_at, created_at, updated_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...[id, `Node ${id}`, `${id}.local`, site, room ?? 'none', room, AT, AT, AT],
  )
  k.sql(
    `INSERT INTO node_credentials (id, node_id, token_hash, token_prefix, state, created_at) VALUES (?, ?, ?, ?, 'active', ?)`,
    ...[`credential-${id}`, id, sha256(`svc_node_${id}`), `svc_node_${id}`.slice(0, 12), AT],
  )
}

function interfaces(k: Kit): void {
  const channels: [id: string, node: string, rooms: (string | null)[]][] = [
    ['i1', 'n1', ['hall', 'booth']],
    ['i2', 'n1', [null, null]],
    ['i3', 'n2', [null, 'attic']],
    ['i4', 'n3', ['booth']],
  ]
  for (const [id, nodeId, rooms] of channels) {
    k.sql(
      `INSERT INTO interfaces (id, node_id, match_key, position, system_ref, system_name, alias, backend, channel_count, sample_rates)
       VALUES (?, ?, ?, 0, ?, ?, ?, 'alsa', ?, '[48000]')`,
      ...[id, nodeId, id, `hw:${id}`, id, `Interface ${id}`, rooms.length],
    )
    for (const [i, room] of rooms.entries())
      k.sql('INSERT INTO channels VALUES (?, ?, ?, ?)', id, i + 1, `Channel ${i + 1}`, room)
  }
}

function maps(k: Kit): void {
  const entries = JSON.stringify([{ included: true, label: 'One', sourceChannelIndex: 1 }])
  for (const id of ['map', 'map-old'])
    k.sql(
      `INSERT INTO channel_map_templates (id, name, channel_mode, entries, created_at, updated_at) VALUES (?, ?, 'mono', ?, ?, ?)`,
      ...[id, id, entries, AT, AT],
    )
  k.sql(`INSERT INTO channel_map_assignments VALUES ('a1', 'interface', 'i3', NULL, 'map', ?)`, AT)
  k.sql(`INSERT INTO channel_map_assignments VALUES ('a2', 'node', NULL, 'n1', 'map', ?)`, AT)
  k.sql(
    `INSERT INTO channel_map_assignment_events (id, assignment_id, changed_at, previous_template_id, next_template_id, reason)
     VALUES ('e1', 'a1', ?, 'map-old', 'map', 'assigned')`,
    AT,
  )
  k.sql(
    `INSERT INTO channel_map_plans (id, template_id, targets, created_at) VALUES ('p1', 'map', ?, ?)`,
    JSON.stringify([{ targetId: 'n1', targetType: 'node' }]),
    AT,
  )
}

function recordings(k: Kit): void {
  for (const [id, nodeId, room] of [
    ['s1', 'n2', 'booth'],
    ['s2', null, 'cellar'],
  ])
    k.sql(
      'INSERT INTO schedules (id, name, node_id, room_id, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?)',
      id,
      id,
      nodeId,
      room,
      AT,
      AT,
    )
  k.sql(
    `UPDATE schedules SET capture_interface_id = 'i3', capture_channels = '[1]', next_run_at = @at, slot_at = @at, slot_date = '2026-03-02',
       recurrence = '{"mode":"daily","interval":1,"startTime":"12:00","endTime":"13:00",
         "exceptions":[{"action":"skip","date":"2026-03-04","movedTo":"s2","reason":"moved"}]}' WHERE id = 's1'`,
    { at: '2026-03-02T12:00:00.000Z' },
  )
  k.sql(
    `UPDATE schedules SET next_run_at = @at, slot_at = @at, slot_date = '2026-03-05',
       recurrence = '{"mode":"once","startsAt":"2026-03-05T12:00:00.000Z","durationSeconds":3600}' WHERE id = 's2'`,
    { at: '2026-03-05T12:00:00.000Z' },
  )
  for (const [id, nodeId, room, schedule, status] of [
    ['r1', 'n1', 'hall', null, 'recording'],
    ['r2', 'n1', 'hall', 's1', 'recording'],
    ['r3', 'n2', null, null, 'failed'],
    ['r4', null, 'attic', 's2', 'cached'],
  ])
    k.sql(
      `INSERT INTO recordings (id, name, folder, source, status, recorded_at, node_id, room_id, schedule_id, updated_at)
       VALUES (?, ?, 'Ad Hoc', ?, ?, ?, ?, ?, ?, ?)`,
      ...[id, `Take ${id}`, schedule ? 'schedule' : 'ad_hoc', status, AT, nodeId, room, schedule, AT],
    )
  const command = {
    ...{ captureChannels: 2, captureDevice: 'hw:i1', captureFormat: 'S16_LE', captureSampleRate: 48_000 },
    ...{ durationSeconds: 60, outputFileName: 'take.mp3', type: 'alsa_capture' },
  }
  for (const [id, recording, nodeId, status] of [
    ['j1', 'r1', 'n1', 'queued'],
    ['j2', 'r2', 'n1', 'running'],
    ['j3', 'r3', 'n3', 'failed'],
  ])
    k.sql(
      'INSERT INTO recording_jobs (id, recording_id, node_id, status, command, created_at) VALUES (?, ?, ?, ?, ?, ?)',
      ...[id, recording, nodeId, status, JSON.stringify(command), AT],
    )
  for (const [id, nodeId, recording, schedule] of [
    ['h1', 'n1', null, null],
    ['h2', 'n2', 'r1', null],
    ['h3', 'n1', null, 's1'],
  ])
    k.sql(
      'INSERT INTO health_events (id, type, severity, node_id, recording_id, schedule_id, opened_at) VALUES (?, ?, ?, ?, ?, ?, ?)',
      ...[id, 'capture.failed', 'critical', nodeId, recording, schedule, AT],
    )
}

/** The type of thing a route's target names by id, or undefined for collections and singletons. */
export function targetType(r: AnyRoute): string | undefined {
  // A new schedule is judged by the room of the channels it names (schedules/scope.test.ts, acceptance/deeds.test.ts).
  if (r.method === 'POST' && r.path === '/schedules') return undefined
  const probe = new Proxy({}, { get: (_, name) => `:${String(name)}` })
  const target = r.target(probe as never, { nodeId: 'x' })
  return target.id === undefined ? undefined : target.type
}

// A path may name more than its target.
const PARENT: Record<Thing, string> = {
  'interface i1': 'n1',
  'interface i2': 'n1',
  'interface i3': 'n2',
  'interface i4': 'n3',
}

/** A request of this route on this thing; what is left over in the path gets `fallback`. */
export function requestOf(r: AnyRoute, on: Thing | undefined, fallback = 'x'): { path: string; body?: unknown } {
  const id = on === undefined ? fallback : thing(on).id
  const parent = (on && PARENT[on]) ?? id
  const path = r.path.replace(':iid', id).replace(/:\w+/g, parent)
  if (r.method === 'POST' && r.path === '/recordings') return { path, body: { nodeId: id } }
  return r.body ? { path, body: {} } : { path }
}

/** Runs `step` and takes back everything it did to the database. */
export async function undone<T>(k: Kit, step: () => Promise<T>): Promise<T> {
  const nested = k.db.raw.inTransaction
  k.db.raw.exec(nested ? 'SAVEPOINT guard' : 'BEGIN IMMEDIATE')
  try {
    return await step()
  } finally {
    k.db.raw.exec(nested ? 'ROLLBACK TO guard; RELEASE guard' : 'ROLLBACK')
  }
}

export interface Row {
  action: string
  actor: string
  outcome: string
  permission: string | null
  reason: string | null
}

/** Audit rows with a sequence number above `since`. */
export const rowsSince = (k: Kit, since: number): Row[] =>
  k.rows<Row>(
    'SELECT action, outcome, reason, permission, actor_id AS actor FROM audit_events WHERE seq > ? ORDER BY seq',
    since,
  )

export const lastRow = (k: Kit): number =>
  k.rows<{ n: number }>('SELECT coalesce(max(seq), 0) AS n FROM audit_events')[0]?.n ?? 0
