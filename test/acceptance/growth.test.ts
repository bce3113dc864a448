// Nobody gives away what is not theirs: whatever one writes, no person reaches by it more than the writer reached before.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { toJSONSchema, type ZodType } from 'zod'
import type { UserPrincipal } from '../../src/controller/http/principal.ts'
import type { AnyRoute } from '../../src/controller/http/route.ts'
import { verdict } from '../../src/controller/http/scope.ts'
import { PERMISSIONS } from '../../src/wire/permissions.ts'
import { undone } from '../conventions/world.ts'
import { ofTurn, shareOf } from '../kit/turn.ts'
import { type Caller, callers } from './callers.ts'
import { ok, type World, world } from './world.ts'

let w: World
let people: Map<string, Caller>
before(async () => {
  w = await world()
  people = await callers(w)
  // Somebody with roles and nothing in sight, alone and as the member of a group.
  ok(await w.owner.post('/auth/groups', { memberIds: ['op-nothing'], name: 'Nothings' }), 201)
})
after(() => w.k.close())

type Write = [method: string, path: string, body?: object]
const SUBJECTS = (self: string): object[] => [
  { assignedUserIds: [self] },
  { assignedUserIds: ['op-nothing', self] },
  { assignedGroupIds: ['nothings'] },
]

/** Where a schedule or take may be: node, device and channel of each room, and what lies in none. */
const places = (): object[] => {
  const { desk, devices, loose, vault } = w.nodes
  const at = (nodeId: string, captureInterfaceId: string, channel: number) => ({
    ...{ captureChannelSelection: [channel], captureInterfaceId, nodeId },
  })
  return [
    ...[at(desk.id, devices.main, 1), at(desk.id, devices.main, 3), at(desk.id, devices.spare, 1)],
    ...[at(vault.id, devices.cellar, 1), at(vault.id, devices.cellar, 2), at(loose.id, devices.free, 1)],
  ]
}

const plan = {
  ...{ folderTemplate: 'f', name: 'n', recordingProfileId: 'voice-mp3-vbr', room: 'r', timezone: 'UTC' },
  ...{ recurrence: { mode: 'manual' }, titleTemplate: 't', watchdogPolicyId: 'scheduled-voice-watchdog' },
}
const ROOMS = ['hall', 'booth', 'cellar', 'attic']

/** Schedules: made, changed, moved, assigned, all of it at once. */
function planned(self: string): Write[] {
  const changes = [
    ...SUBJECTS(self),
    ...places(),
    ...places().flatMap((p) => SUBJECTS(self).map((s) => ({ ...p, ...s }))),
  ]
  const again = { enabled: true, recurrence: { mode: 'once', startsAt: '2026-03-09T10:00:00Z' } }
  const ever = { enabled: true, recurrence: { mode: 'manual' } }
  return [
    ...Object.values(w.schedules).flatMap((id): Write[] => [
      ...[...changes, again, ever].map((body): Write => ['PATCH', `/schedules/${id}`, body]),
      [
        'POST',
        `/schedules/${id}/move-occurrence`,
        { newStartAt: '2026-03-04T12:00Z', occurrenceStartAt: '2026-03-03T10:00Z' },
      ],
    ]),
    ...places().flatMap((place) =>
      [{}, ...SUBJECTS(self)].map((subjects): Write => ['POST', '/schedules', { ...plan, ...place, ...subjects }]),
    ),
  ]
}

/** Rooms, nodes, channels and switchers: what lies where. */
function moved(self: string): Write[] {
  const { desk, devices, loose, vault } = w.nodes
  const nodes = [desk.id, vault.id, loose.id]
  const channel = (interfaceId: string, roomId: string) => ({
    assignments: [{ channelIndexes: [1], interfaceId, roomId }],
  })
  const on = (nodeId: string) => ({ targetId: nodeId, targetType: 'node', templateId: w.maps.templateId })
  return [
    ...ROOMS.flatMap((room): Write[] => [
      ['PATCH', `/rooms/${room}`, { site: 'South' }],
      ['PUT', `/rooms/${room}/roster`, { entries: [{ capabilities: ['view'], subjectId: self, subjectType: 'user' }] }],
      ['PUT', `/nodes/${desk.id}/channel-rooms`, channel(devices.spare, room)],
      ['PUT', `/nodes/${vault.id}/channel-rooms`, channel(devices.cellar, room)],
      ['PUT', `/nodes/${loose.id}/channel-rooms`, channel(devices.free, room)],
      ...nodes.map((id): Write => ['PATCH', `/nodes/${id}`, { location: { room: 'r', site: 'South' }, roomId: room }]),
      ...Object.values(w.switchers).map(
        (id): Write => [
          ...(['PUT', `/settings/switchers/${id}/mappings`] as const),
          { inputs: [{ input: 1, roomId: room }], outputs: [{ output: 1, userId: self }] },
        ],
      ),
    ]),
    ['POST', '/rooms', { name: 'New', site: 'North' }],
    ['POST', '/nodes/bootstrap-config', { controllerUrl: 'https://c.test', nodes: [{ nodeId: loose.id }] }],
    ['POST', '/nodes/enroll', { alias: 'New', hostname: 'new', location: { room: 'r', site: 'North' } }],
    ...nodes.flatMap((id): Write[] => [
      ['POST', '/settings/watchdog-policies/scheduled-voice-watchdog/calibrations', { nodeId: id }],
      ['PUT', '/settings/channel-map-assignments', on(id)],
      ['PUT', '/settings/channel-map-assignments/bulk', { targets: [on(id)], templateId: w.maps.templateId }],
      ['POST', '/settings/channel-map-assignments/rollback', { targetId: id, targetType: 'node' }],
      ['POST', '/settings/channel-map-assignment-plans', { targets: [on(id)], templateId: w.maps.templateId }],
    ]),
  ]
}

/** Takes, their jobs, uploads and events, each named by its own and by others. */
function made(): Write[] {
  const ids = Object.values(w.library).map(({ id }) => id)
  const jobs = Object.values(w.library).map(({ jobId }) => jobId)
  const event = { severity: 'info', type: 'x' }
  const nodes = [w.nodes.desk.id, w.nodes.vault.id, w.nodes.loose.id]
  return [
    ...places().map((place): Write => ['POST', '/recordings', place]),
    ...ids.flatMap((id): Write[] => [
      ['PATCH', `/recordings/${id}/metadata`, { folder: 'hall', tags: ['room hall'], trackGroup: 'x' }],
      ['POST', '/recordings/bulk-delete', { recordingIds: [id] }],
      ['PATCH', '/recordings/bulk-metadata', { addTags: ['x'], recordingIds: [id] }],
      ['POST', '/recordings/bulk-upload-queue', { recordingIds: [id], uploadPolicyId: w.uploads.policyId }],
      ['POST', '/health-events', { ...event, recordingId: id }],
      ...Object.values(w.schedules).map(
        (scheduleId): Write => ['POST', '/health-events', { ...event, recordingId: id, scheduleId }],
      ),
    ]),
    ...nodes.flatMap((nodeId) =>
      ids.map((recordingId): Write => ['POST', '/health-events', { ...event, nodeId, recordingId }]),
    ),
    ...jobs.flatMap((id): Write[] => [
      ['POST', '/recording-jobs/bulk-retry', { jobIds: [id] }],
      ['POST', '/recording-jobs/bulk-stop', { jobIds: [id] }],
    ]),
  ]
}

/** Access itself: for those who administer it, and nobody else. */
const RULE = { channelId: 'notification_channel_1', minSeverity: 'info', name: 'Mine' }

function administered(self: string): Write[] {
  const resourceGrants = [{ resourceId: '*', resourceType: '*' }]
  const policy = { effect: 'allow', resourceId: '*', resourceType: '*', subjectId: self, subjectType: 'user' }
  const access = { groupIds: ['nothings'], resourceGrants, roles: ['admin'] }
  return [
    ['POST', '/auth/users', { ...access, email: 'new@example.org', name: 'New', password: 'long-enough-1' }],
    ['PATCH', `/auth/users/${self}/access`, access],
    ['PATCH', '/auth/users/owner/password', { password: 'long-enough-1' }],
    ['PATCH', `/auth/users/${self}/status`, { disabled: false }],
    ['POST', '/auth/groups', { memberIds: [self], name: 'Mine' }],
    ['PATCH', '/auth/groups/nothings', { name: 'Mine' }],
    ['PUT', '/auth/groups/nothings/members', { memberIds: [self] }],
    ['PATCH', '/auth/access-policies', { policies: [policy] }],
    ['POST', '/settings/notification-rules', { ...RULE, roomIds: [...ROOMS] }],
    ['POST', '/settings/notification-rules/preview', { minSeverity: 'info', roomIds: [...ROOMS] }],
    ['PATCH', '/settings/notification-rules/notification_rule_1', { roomIds: [...ROOMS] }],
    ['POST', '/auth/display-links', { name: 'Foyer', site: 'North' }],
    ...ROOMS.map((room): Write => ['POST', '/auth/display-links', { name: 'Foyer', roomIds: [room] }]),
  ]
}

const writes = (self: string): Write[] => [...planned(self), ...moved(self), ...made(), ...administered(self)]

const whoOf = (id: string): UserPrincipal => {
  const { client } = people.get(id) as Caller
  return w.k.pipeline.principals.authenticate('user', client.token as string, {})?.principal as UserPrincipal
}

/** What somebody reaches of what there was: `permission type id`, by the same decision as the gate's. */
function reached(principal: UserPrincipal): Set<string> {
  const open = w.things.flatMap((thing) => {
    const pairs = w.k.pipeline.scope.expand(thing)
    const allowed = PERMISSIONS.filter((permission) => verdict(principal, permission, pairs).allowed)
    return allowed.map((permission) => `${permission} ${thing.type} ${thing.id}`)
  })
  return new Set(open)
}

/**
 * The writer with the rooms of the nodes they hold in full, which is what they may let others into (docs/contract/access.md:
 * Visible sets).
 */
function giver(principal: UserPrincipal): UserPrincipal {
  const nodes = w.things.filter(({ type }) => type === 'node')
  const full = nodes.filter(({ reachedBy }) => {
    const own = reachedBy.filter((name) => !name.startsWith('room ')).map(pairOf)
    return verdict(principal, 'recording:control', own).allowed
  })
  const rooms = full.flatMap(({ reachedBy }) => reachedBy.map(pairOf).filter(({ type }) => type === 'room'))
  return { ...principal, allow: [...principal.allow, ...rooms] }
}
const pairOf = (name: string) => ({ type: name.split(' ')[0] as string, id: name.split(' ').slice(1).join(' ') })

test('every write that names people or places is tried', () => {
  const named =
    /^(assigned\w+|captureInterfaceId|groupIds?|interfaceId|jobIds?|location|memberIds|nodeIds?|recordingIds?|resource\w+|roles|roomIds?|scheduleIds?|site|subject\w+|target(Id|Type|s)|userIds?)$/
  const tried = writes('op-hall').map(([method, path]) => ({ method, parts: path.split('/') }))
  const isTried = (r: AnyRoute): boolean => {
    const parts = r.path.split('/')
    const fits = (to: string[]) => parts.every((part: string, i: number) => part.startsWith(':') || part === to[i])
    return tried.some((t) => t.method === r.method && t.parts.length === parts.length && fits(t.parts))
  }
  const names = (r: AnyRoute): string[] => {
    const schema = toJSONSchema(r.body as ZodType, { io: 'input', unrepresentable: 'any' })
    return [...JSON.stringify(schema).matchAll(/"(\w+)":\{/g)].map(([, name]) => name as string)
  }
  const reads = /\/export$/
  const left = w.k.routes
    .filter((r) => r.auth === 'user' && r.method !== 'GET' && r.body && !reads.test(r.path))
    .filter((r) => names(r).some((name) => named.test(name)) && !isTried(r))
  assert.deepEqual(
    left.map((r) => `${r.method} ${r.path}`),
    [],
  )
})

// Every write by everybody, or by a fifth of them in turn: minutes on a busy machine.
test('by a write neither its writer nor whom it names reaches more than the writer did', {
  timeout: 900_000,
}, async () => {
  const grown: string[] = []
  let done = 0
  const nobody = reached(whoOf('op-nothing'))
  for (const c of ofTurn(people.values())) {
    const principal = giver(whoOf(c.id))
    // What is refused to the writer is not refused to those who are let into a room.
    const [own, given] = [reached(principal), reached({ ...principal, deny: [] })]
    const administers = c.role === 'owner' || c.role === 'admin'
    for (const [method, path, body] of writes(c.id)) {
      // Whoever manages access may give it.
      if (administers && (path.startsWith('/auth/') || path.endsWith('/roster'))) continue
      await undone(w.k, async () => {
        const { status } = await c.client.send(method, path, body)
        assert.ok(status < 500, `${c.id} ${method} ${path} ${JSON.stringify(body)}: ${status}`)
        if (status >= 300) return
        done++
        const more = [...reached(whoOf(c.id))].filter((one) => !own.has(one))
        const others = [...reached(whoOf('op-nothing'))].filter((one) => !nobody.has(one) && !given.has(one))
        const what = `${c.id} ${method} ${path} ${JSON.stringify(body)}`
        if (more.length + others.length > 0) grown.push(`${what}: ${more.slice(0, 2)} / ${others.slice(0, 2)}`)
      })
    }
  }
  assert.deepEqual(grown, [])
  assert.ok(done > shareOf(300), `${done} writes were done`)
})
