import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { AnyRoute } from '../../src/controller/http/route.ts'
import type { Permission, Role } from '../../src/wire/permissions.ts'
import {
  EXPANDS,
  lastRow,
  NODE_ROOMS,
  requestOf,
  rowsSince,
  seed,
  type Thing,
  targetType,
  thing,
  things,
  undone,
} from '../conventions/world.ts'
import { kit } from '../kit/kit.ts'

const k = kit()
before(() => seed(k))
after(() => k.close())

type Subject = 'user' | 'e-mail' | 'group' | 'everyone'

interface Caller {
  name: string
  role: Role | undefined
  grants?: Thing[]
  policy?: { effect: 'allow' | 'deny'; subject: Subject; on: Thing }
  roster?: { subject: 'user' | 'group'; room: string; capability: string }
}

// The contract's bundles and capabilities, typed once more; owner and admin hold everything.
const VIEWS = ['node:read', 'recording:read', 'recording:playback', 'schedule:read', 'health:read']
const HOLDS: Record<string, string[]> = {
  operator: [
    ...[
      ...VIEWS,
      'recording:download',
      'settings:read',
      'switcher:read',
      'metrics:read',
      'node:control',
      'listen:monitor',
    ],
    ...[
      'recording:create',
      'recording:control',
      'recording:edit',
      'schedule:manage',
      'switcher:map',
      'health:acknowledge',
    ],
  ],
  technician: [
    ...['health:acknowledge', 'health:read', 'listen:monitor', 'node:manage', 'node:read', 'recording:control'],
    ...['recording:create', 'recording:playback', 'recording:read', 'schedule:read', 'settings:read'],
  ],
  viewer: [...VIEWS, 'recording:download', 'settings:read', 'switcher:read', 'metrics:read'],
}
const UNLOCKS: Record<string, string[]> = {
  view: VIEWS,
  listen: ['listen:monitor'],
  download: ['recording:download'],
  operate: ['recording:create', 'recording:control'],
  book: ['schedule:manage'],
  edit: ['recording:edit'],
  delete: ['recording:delete'],
}

const bypass = (c: Caller): boolean => c.role === 'owner' || c.role === 'admin'
const holds = (c: Caller, permission: Permission): boolean =>
  bypass(c) || (c.role !== undefined && HOLDS[c.role]?.includes(permission) === true)

/** Whether a grant or policy on `rule` covers the expanded set. */
function covers(rule: Thing, set: Thing[]): boolean {
  const { type, id } = thing(rule)
  return set.map(thing).some((t) => (type === '*' || type === t.type) && (id === '*' || id === t.id))
}

/** Every room a node has, its own one too; undefined with a channel in none (docs/contract/access.md: Whole nodes). */
const ALL_ROOMS: Record<Thing, Thing[] | undefined> = {
  'node n1': undefined,
  'node n2': ['room cellar', 'room attic'],
  'node n3': ['room hall', 'room booth'],
  'node n4': ['room attic'],
}

/** Whether rules cover a node whole: itself, its site, or all of its rooms, each by itself or its site. */
function coversWhole(rules: Thing[], on: Thing): boolean {
  const own = (EXPANDS[on] as Thing[]).filter((one) => !one.startsWith('room '))
  const isCovered = (set: Thing[]): boolean => rules.some((rule) => covers(rule, set))
  return isCovered(own) || ALL_ROOMS[on]?.every((room) => isCovered(EXPANDS[room] as Thing[])) === true
}

/** The order of decision, over the expansions written down by hand. */
function expected(c: Caller, { permission, whole }: { permission: Permission; whole?: true | undefined }, on: Thing) {
  const set = EXPANDS[on] as Thing[]
  if (c.policy?.effect === 'deny' && covers(c.policy.on, set)) return 'denied access_policy_denied'
  const rules = [...(c.grants ?? []), ...(c.policy?.effect === 'allow' ? [c.policy.on] : [])]
  const inScope = bypass(c) || rules.some((rule) => covers(rule, set))
  if (inScope && holds(c, permission))
    return whole && !bypass(c) && !coversWhole(rules, on) ? 'denied missing_resource_scope' : 'allowed'
  const roster = c.roster
  if (roster && set.includes(`room ${roster.room}`) && UNLOCKS[roster.capability]?.includes(permission))
    return 'allowed'
  return `denied ${holds(c, permission) ? 'missing_resource_scope' : 'missing_permission'}`
}

const LEVELS: Thing[] = [
  ...new Set(Object.values(EXPANDS).flat()),
  '* *',
  '* hall',
  'site *',
  'node *',
  'room *',
  'recording *',
  'schedule *',
  'recording_job *',
  'node unknown',
]
const POLICED: Thing[] = [
  '* *',
  'site North',
  'site South',
  'node n1',
  'node n3',
  'room hall',
  'room booth',
  'schedule s1',
  'recording r1',
  'recording_job j1',
  'recording_job *',
  'recording_profile plain',
  'interface i1',
  '* n2',
  'node *',
  'schedule *',
  'site *',
  'room *',
]
const SUBJECTS: Subject[] = ['user', 'e-mail', 'group', 'everyone']

const TECHNICIANS: Thing[][] = [
  ...LEVELS.filter((on) => /^(site|node|room|\*) /.test(on)).map((on) => [on]),
  ['room hall', 'room booth'],
  ['room cellar', 'room attic'],
  ['room booth', 'site South'],
]

function callers(): Caller[] {
  const list: Caller[] = [
    { name: 'operator with nothing', role: 'operator' },
    { name: 'owner', role: 'owner' },
    { name: 'admin', role: 'admin' },
    { name: 'operator with grants on both sites', role: 'operator', grants: ['site North', 'site South'] },
  ]
  for (const on of LEVELS) list.push({ name: `operator granted ${on}`, role: 'operator', grants: [on] })
  for (const [i, on] of POLICED.entries()) {
    const subject = SUBJECTS[i % SUBJECTS.length] as Subject
    const rule = (effect: 'allow' | 'deny') => ({ policy: { effect, subject, on } })
    list.push({ name: `operator, ${subject} allowed ${on}`, role: 'operator', ...rule('allow') })
    list.push({ name: `owner, ${subject} denied ${on}`, role: 'owner', ...rule('deny') })
    list.push({
      name: `operator granted all, ${subject} denied ${on}`,
      role: 'operator',
      grants: ['* *'],
      ...rule('deny'),
    })
  }
  for (const subject of SUBJECTS)
    for (const effect of ['allow', 'deny'] as const)
      list.push({
        name: `viewer, ${subject} ${effect} room booth`,
        role: 'viewer',
        grants: effect === 'deny' ? ['* *'] : [],
        policy: { effect, subject, on: 'room booth' },
      })
  for (const [i, capability] of Object.keys(UNLOCKS).entries())
    for (const room of ['hall', 'booth', 'cellar', 'attic']) {
      const subject = (i + room.length) % 2 ? 'user' : 'group'
      list.push({
        name: `no role, ${subject} may ${capability} in ${room}`,
        role: undefined,
        roster: { subject, room, capability },
      })
      list.push({
        name: `viewer, ${subject} may ${capability} in ${room}`,
        role: 'viewer',
        roster: { subject, room, capability },
      })
    }
  for (const grants of TECHNICIANS) list.push({ name: `technician granted ${grants}`, role: 'technician', grants })
  const denied = { effect: 'deny', subject: 'user', on: 'node n1' } as const
  list.push({
    name: 'a roster entry does not beat a refusal',
    role: undefined,
    roster: { subject: 'user', room: 'hall', capability: 'view' },
    policy: denied,
  })
  return list
}

/** Makes the caller, for one `undone` step. */
function enter(c: Caller): string {
  const { token } = k.person(
    'caller',
    c.role ? [c.role] : [],
    (c.grants ?? []).map((g) => [thing(g).type, thing(g).id]),
  )
  k.sql(`INSERT INTO group_members VALUES ('crew', 'caller')`)
  if (c.policy) {
    const ids: Record<Subject, string | null> = {
      user: 'caller',
      'e-mail': 'caller@example.org',
      group: 'crew',
      everyone: null,
    }
    const { type, id } = thing(c.policy.on)
    const subjectType = c.policy.subject === 'e-mail' ? 'user' : c.policy.subject
    k.sql(
      `INSERT INTO access_policies VALUES ('p', 0, ?, ?, ?, ?, ?, NULL)`,
      c.policy.effect,
      subjectType,
      ids[c.policy.subject],
      type,
      id,
    )
  }
  if (c.roster)
    k.sql(
      `INSERT INTO room_roster VALUES (?, ?, ?, ?, 'manual', '')`,
      ...[c.roster.room, c.roster.subject, c.roster.subject === 'user' ? 'caller' : 'crew', c.roster.capability],
    )
  return token as string
}

const targeted = k.routes.filter((r) => r.auth === 'user' && targetType(r) !== undefined)

async function decision(token: string, r: AnyRoute, on: Thing): Promise<{ status: number; told: string }> {
  return undone(k, async () => {
    const since = lastRow(k)
    const { path, body } = requestOf(r, on)
    const { status } = await k.bearer(token).send(r.method, path, body)
    const row = rowsSince(k, since).find((row) => row.action === r.action)
    return { status, told: [row?.outcome, row?.reason].filter(Boolean).join(' ') }
  })
}

test('every route with a target id: the decision is the one the expansions give', async () => {
  const wrong: string[] = []
  let count = 0
  for (const c of callers())
    await undone(k, async () => {
      const token = enter(c)
      for (const r of targeted)
        for (const on of things(targetType(r) as string)) {
          const { status, told } = await decision(token, r, on)
          const wanted = expected(c, r as typeof r & { permission: Permission }, on)
          count++
          if (told !== wanted) wrong.push(`${c.name}: ${r.method} ${r.path} on ${on} is ${told}, not ${wanted}`)
          else if (wanted !== 'allowed' && status !== 403)
            wrong.push(`${c.name}: ${r.method} ${r.path} on ${on} answers ${status}`)
        }
    })
  assert.deepEqual(wrong, [])
  assert.ok(count > 5000, `${count} cells`)
})

// Things no route has as its target yet are asked for directly.
test('every expansion is the one written down', () => {
  for (const [on, set] of Object.entries(EXPANDS)) {
    const got = k.pipeline.scope.expand(thing(on)).map(({ type, id }) => `${type} ${id}`)
    assert.deepEqual([...new Set(got)].sort(), [...new Set(set)].sort(), on)
  }
})

test('an unknown id is refused like a foreign one', async () => {
  const { token } = k.person('stranger', ['operator'], [['site', 'North']])
  for (const r of targeted.filter((r) => holds({ name: '', role: 'operator' }, r.permission as Permission))) {
    const { path, body } = requestOf(r, undefined, 'no-such-id')
    const answer = await undone(k, () => k.bearer(token).send(r.method, path, body))
    assert.equal(answer.status, 403, `${r.method} ${r.path}`)
    assert.deepEqual(answer.json, { error: 'Forbidden', permission: r.permission })
  }
})

const LISTS: [list: string, detail: string, type: string, permission: Permission][] = [
  ['/nodes', '/nodes/:id', 'node', 'node:read'],
  ['/recordings', '/recordings/:id', 'recording', 'recording:read'],
  ['/recording-jobs', '/recording-jobs/:id', 'recording_job', 'recording:read'],
  ['/rooms', '/rooms/:roomId', 'room', 'node:read'],
  ['/settings/recording-profiles', '/settings/recording-profiles/:id', 'recording_profile', 'settings:read'],
  ['/settings/watchdog-policies', '/settings/watchdog-policies/:id', 'watchdog_policy', 'settings:read'],
  ['/health-events', '/health-events/:id', 'health_event', 'health:read'],
  ['/settings/upload-destinations', '/settings/upload-destinations/:id', 'upload_destination', 'settings:read'],
  ['/settings/upload-policies', '/settings/upload-policies/:id', 'upload_policy', 'settings:read'],
  ['/settings/switchers', '/settings/switchers/:id', 'switcher', 'switcher:read'],
  // In the world of the guards an item has the id of its recording.
  ['/upload-queue', '/upload-queue/:id', 'recording', 'recording:read'],
]

/**
 * Rooms that show in the list although their detail asks for more: those of nodes held in full (docs/contract/access.md:
 * Visible sets).
 */
function shownThroughNodes(c: Caller): Thing[] {
  const rules = [...(c.grants ?? []), ...(c.policy?.effect === 'allow' ? [c.policy.on] : [])]
  const full = (node: Thing): boolean => {
    const own = (EXPANDS[node] as Thing[]).filter((t) => !t.startsWith('room '))
    return rules.some((rule) => covers(rule, own)) && !(c.policy?.effect === 'deny' && covers(c.policy.on, own))
  }
  return Object.entries(NODE_ROOMS).flatMap(([node, rooms]) => (full(node) ? rooms : []))
}

test('a list shows exactly what the caller may open, and counts it', async () => {
  const wrong: string[] = []
  for (const c of callers())
    await undone(k, async () => {
      const token = enter(c)
      for (const [list, detail, type, permission] of LISTS) {
        if (!holds(c, permission)) continue
        const answer = await k.bearer(token).get(list)
        const shown = (answer.json.data as { id: string }[]).map((row) => `${type} ${row.id}`).sort()
        const opened: Thing[] = []
        for (const on of things(type)) {
          const { status } = await undone(k, () => k.bearer(token).get(detail.replace(/:\w+/, thing(on).id)))
          if (status === 200) opened.push(on)
        }
        const denied = (on: Thing) => c.policy?.effect === 'deny' && covers(c.policy.on, [on])
        const also = type === 'room' ? shownThroughNodes(c).filter((on) => !denied(on)) : []
        const wanted = [...new Set([...opened, ...also])].sort()
        if (shown.join() !== wanted.join()) wrong.push(`${c.name}: ${list} shows ${shown}, detail opens ${wanted}`)
        const total = answer.json.meta?.total
        if (total !== undefined && total !== wanted.length) wrong.push(`${c.name}: ${list} counts ${total}`)
      }
    })
  assert.deepEqual(wrong, [])
})
