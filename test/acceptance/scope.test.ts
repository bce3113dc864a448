// "A scoped operator sees and does exactly what the room allows, in lists, exports, bulk calls, meters, live listen,
// search and facets; a deny beats owner": every claim against an oracle of the contract's words.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { AnyRoute } from '../../src/controller/http/route.ts'
import type { Answer } from '../kit/kit.ts'
import { type Caller, callers, holds, lists, may } from './callers.ts'
import { ok, type Thing, type World, world } from './world.ts'

let w: World
let people: Map<string, Caller>
before(async () => {
  w = await world()
  people = await callers(w)
})
after(() => w.k.close())

const sorted = (list: Iterable<string>): string[] => [...new Set(list)].sort()
const isRead = (r: AnyRoute): boolean => r.method === 'GET' && r.auth === 'user'
const bare = (r: AnyRoute): boolean => !r.path.includes(':')
const typeOf = (r: AnyRoute): string => r.target({} as never, {}).type

/** What a list lists, told from its target. */
const listed = (r: AnyRoute): string | undefined => {
  const type = typeOf(r)
  if (type === 'health') return 'health_event'
  if (type === 'upload_queue' || r.path === '/settings/switchers') return type
  return type.endsWith('_collection') ? type.replace('_collection', '') : undefined
}
// Lists without things, or of things that are a matter of permission alone.
const UNSCOPED = new Set(['user', 'group', 'session', 'display_link'])
// Answers with numbers or words in place of things: tests of their own.
const OTHERWISE = [
  ...['/docs', '/events', '/meter-events', '/openapi.json', '/metrics', '/status', '/schedules/calendar'],
  ...['/recordings/facets', '/recordings/undelivered'],
  '/settings/switcher-mapping-options',
  // Told with the event they are about: test/controller/notifications/delivery.test.ts.
  '/notifications',
  ...['/audit-events', '/audit-events/facets', '/audit-events/export', '/upload-runner', '/upload-runner/actions'],
]

const UNPAGED = ['/rooms', '/settings/switchers']

/** Ids of an answer: of the rows, or of the first column of a table. */
function idsOf(answer: Answer): string[] {
  if (answer.json) return (answer.json.data as { id: string }[]).map(({ id }) => id)
  const [, ...lines] = answer.text.split('\n')
  return lines.map((line) => /^"?([^",]+)/.exec(line)?.[1] ?? line)
}

const thingOf = (type: string, id: string): Thing =>
  w.get(type, id) ?? { id, reachedBy: [`${type} ${id}`], secrets: [], type }

const collections = (): [AnyRoute, string][] =>
  w.k.routes.flatMap((r): [AnyRoute, string][] => {
    const type = isRead(r) && bare(r) && !OTHERWISE.includes(r.path) ? listed(r) : undefined
    return type && !UNSCOPED.has(type) ? [[r, type]] : []
  })

test('every list and export shows exactly what the contract lets the caller reach, and counts that', async () => {
  const wrong: string[] = []
  let cells = 0
  for (const [r, type] of collections()) {
    const path = UNPAGED.includes(r.path) ? r.path : `${r.path}?limit=200`
    const universe = idsOf(await w.owner.get(path.replace('/export?limit=200', '/export'))).map((id) =>
      thingOf(type, id),
    )
    assert.ok(universe.length > 0 || type === 'channel_map_assignment_plan', `${r.path} lists nothing at all`)
    for (const c of people.values()) {
      cells++
      const answer = await c.client.get(path.replace('/export?limit=200', '/export'))
      if (answer.status !== (holds(c, r.permission) ? 200 : 403)) wrong.push(`${c.id} ${r.path}: ${answer.status}`)
      if (answer.status !== 200) continue
      const wanted = universe.filter((thing) => lists(w, c, r.permission as string, thing)).map(({ id }) => id)
      const got = idsOf(answer)
      if (sorted(got).join() !== sorted(wanted).join())
        wrong.push(
          `${c.id} ${r.path}: more ${got.filter((id) => !wanted.includes(id))}; less ${wanted.filter((id) => !got.includes(id))}`,
        )
      const total = answer.json?.meta?.total ?? answer.json?.summary?.total
      if (total !== undefined && total !== wanted.length)
        wrong.push(`${c.id} ${r.path}: counts ${total}, not ${wanted.length}`)
    }
  }
  assert.deepEqual(wrong, [])
  assert.ok(cells > 300, `${cells} cells`)
})

test('every read without an id is compared with the oracle, has a test of its own, or is a matter of permission alone', () => {
  const compared = new Set(collections().map(([r]) => r.path))
  const left = w.k.routes.filter((r) => isRead(r) && bare(r) && !compared.has(r.path) && !OTHERWISE.includes(r.path))
  // Access, and settings of the whole controller.
  const alone = /^.(auth|settings.(controller|foresight)|nodes.agent-release)/
  assert.deepEqual(
    left.map(({ path }) => path).filter((path) => !alone.test(path)),
    [],
  )
})

test('the editor of switcher maps shows rooms within reach, and people to those who map', async () => {
  const rooms = (await w.owner.get('/settings/switcher-mapping-options')).json.data.rooms as { id: string }[]
  assert.equal(rooms.length, 4)
  for (const c of withRole('switcher:read')) {
    const { data } = (await c.client.get('/settings/switcher-mapping-options')).json
    const wanted = rooms.filter(({ id }) => lists(w, c, 'node:read', thingOf('room', id)))
    assert.deepEqual(data.rooms, wanted, c.id)
    assert.equal(data.users.length > 0, holds(c, 'switcher:map'), c.id)
  }
})

test('whoever reads a switcher by one of its rooms reads that of its map, and replaces it only with all of them', async () => {
  const { both, south } = w.switchers
  const { json } = ok(await w.owner.get(`/settings/switchers/${both}/mappings`), 200)
  const outputs = [{ output: 1, userId: 'op-hall' }]
  ok(
    await w.owner.put(`/settings/switchers/${both}/mappings`, { inputs: json.data.inputs.map(bareInput), outputs }),
    200,
  )
  const mapOf = async (id: string) => (await clientOf(id).get(`/settings/switchers/${both}/mappings`)).json.data
  const roomsOf = ({ inputs }: { inputs: { roomId: string }[] }) => inputs.map(({ roomId }) => roomId)
  const [one, all, viewer] = [await mapOf('op-hall'), await mapOf('op-switcher'), await mapOf('viewer-north')]
  assert.deepEqual([roomsOf(one), one.outputs.length], [['hall'], 1])
  assert.deepEqual([roomsOf(all), all.outputs.length], [['hall', 'booth'], 1])
  assert.deepEqual([roomsOf(viewer), viewer.outputs], [['hall', 'booth'], []], 'people are told to those who map')
  const put = async (id: string, switcher: string, rooms: string[]) => {
    const inputs = rooms.map((roomId, i) => ({ input: i + 1, roomId }))
    const { json, status } = await clientOf(id).put(`/settings/switchers/${switcher}/mappings`, { inputs, outputs })
    return [status, json.reason]
  }
  assert.deepEqual(await put('op-hall', both, ['hall']), [403, undefined], 'the booth is out of sight')
  assert.deepEqual(await put('op-switcher', both, ['hall', 'cellar']), [400, 'invalid_mapping'])
  assert.deepEqual(await put('op-switcher', both, ['hall', 'nowhere']), [400, 'invalid_mapping'])
  assert.deepEqual(await put('op-switcher', both, ['booth', 'hall']), [200, undefined])
  assert.deepEqual(await put('op-south', south, ['attic']), [200, undefined], 'a site has its rooms')
  assert.deepEqual(await put('op-south', south, ['cellar']), [200, undefined])
})

const bareInput = ({ input, roomId }: { input: number; roomId: string }) => ({ input, roomId })
const clientOf = (id: string) => (people.get(id) as Caller).client

test('a site opens its rooms: in the list, by themselves, with their overview', async () => {
  for (const c of people.values())
    for (const thing of w.things.filter(({ type }) => type === 'room'))
      for (const path of ['', '/overview']) {
        const { status } = await c.client.get(`/rooms/${thing.id}${path}`)
        assert.equal(status, may(c, 'node:read', thing.reachedBy) ? 200 : 403, `${c.id} ${thing.id}${path}`)
      }
  const seen = (await clientOf('viewer-north').get('/rooms')).json.data.map((room: Row) => room.id)
  assert.deepEqual(sorted(seen), ['booth', 'hall'])
})

type Row = Record<string, string> & { id: string; tags: string[]; uploadPolicyIds: string[] }
const rowsOf = async (path: string): Promise<Row[]> => (await w.owner.get(`${path}?limit=200`)).json.data
const seen = (c: Caller, permission: string, type: string, rows: Row[]): Row[] =>
  rows.filter(({ id }) => lists(w, c, permission, thingOf(type, id)))
const withRole = (permission: string): Caller[] => [...people.values()].filter((c) => holds(c, permission))

function counted(values: (string | undefined)[]): { count: number; value: string }[] {
  const counts = Map.groupBy(
    values.filter((value) => value !== undefined),
    (value) => value,
  )
  return [...counts]
    .map(([value, all]) => ({ count: all.length, value }))
    .sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1))
}

test('facets have the values of visible recordings only, and count those', async () => {
  const all = await rowsOf('/recordings')
  for (const c of withRole('recording:read')) {
    const rows = seen(c, 'recording:read', 'recording', all)
    const { data } = (await c.client.get('/recordings/facets')).json
    assert.deepEqual(
      data,
      {
        folders: counted(rows.map((r) => r.folder)),
        nodes: counted(rows.map((r) => r.nodeId)),
        recordingProfiles: counted(rows.map((r) => r.recordingProfileId)),
        tags: counted(rows.flatMap((r) => r.tags)),
        trackGroups: [],
        uploadPolicies: counted(rows.flatMap((r) => r.uploadPolicyIds)),
      },
      c.id,
    )
  }
})

test('what exists on recorders only is added up from visible recordings', async () => {
  const all = await rowsOf('/recordings')
  const some = new Set<number>()
  w.k.advance('10s')
  for (const c of withRole('recording:read')) {
    const rows = seen(c, 'recording:read', 'recording', all)
    const { data } = (await c.client.get('/recordings/undelivered')).json
    assert.equal(data.takes, rows.filter(({ undelivered }) => undelivered !== undefined).length, c.id)
    some.add(data.takes)
  }
  assert.ok(some.size > 2, 'callers see different numbers of them')
})

test('search and filters find words of visible things only, and their totals say no more', async () => {
  const kinds = ['search=%-note', 'search=%-said', 'search=%-name', 'tag=%-tag', 'folder=%-shelf']
  const all = await rowsOf('/recordings')
  const wrong: string[] = []
  for (const c of withRole('recording:read')) {
    for (const { id, word } of Object.values(w.library))
      for (const query of kinds.map((kind) => kind.replace('%', word))) {
        const { data, meta } = (await c.client.get(`/recordings?limit=50&${query}`)).json
        const wanted = lists(w, c, 'recording:read', thingOf('recording', id)) ? [id] : []
        const got = (data as Row[]).map((row) => row.id)
        if (got.join() !== wanted.join() || meta.total !== wanted.length)
          wrong.push(`${c.id} ${query}: ${got} of ${meta.total}`)
      }
    const visible = seen(c, 'recording:read', 'recording', all).map(({ id }) => id)
    for (const query of ['search=common', 'tag=common', 'search=common%20words']) {
      const { data, meta } = (await c.client.get(`/recordings?limit=3&${query}`)).json
      if (meta.total !== visible.length) wrong.push(`${c.id} ${query} counts ${meta.total}`)
      if (data.some(({ id }: Row) => !visible.includes(id))) wrong.push(`${c.id} ${query} shows more`)
    }
  }
  assert.deepEqual(wrong, [])
})

test('nodes, schedules, jobs, events and uploads are searched within reach', async () => {
  const wrong: string[] = []
  const check = async (path: string, type: string, permission: string, word: string, id: string): Promise<void> => {
    for (const c of withRole(permission)) {
      const { data, meta } = (await c.client.get(`${path}=${encodeURIComponent(word)}`)).json
      const wanted = lists(w, c, permission, thingOf(type, id))
      const found = data.some((row: Row) => row.id === id)
      const foreign = data.filter((row: Row) => !lists(w, c, permission, thingOf(type, row.id)))
      if (found !== wanted || foreign.length > 0 || (meta && meta.total !== data.length))
        wrong.push(`${c.id} ${path}=${word}: ${data.map((row: Row) => row.id)} of ${meta?.total}`)
    }
  }
  for (const { id, secrets, type } of w.things) {
    const [word = ''] = secrets
    if (type === 'node') await check('/nodes?q', type, 'node:read', word, id)
    if (type === 'schedule') await check('/schedules?search', type, 'schedule:read', word, id)
    if (type === 'health_event' && word) await check('/health-events?search', type, 'health:read', word, id)
  }
  for (const { id, jobId, node } of Object.values(w.library)) {
    await check('/recording-jobs?search', 'recording_job', 'recording:read', jobId, jobId)
    await check('/recording-jobs?limit=200&nodeId', 'recording_job', 'recording:read', node, jobId)
    const item = Object.entries(w.uploads.items).find(([key]) => w.library[key]?.id === id)?.[1]
    if (item) await check('/upload-queue?recordingId', 'upload_queue', 'recording:read', id, item)
  }
  for (const { id } of w.things.filter(({ type }) => type === 'recording')) {
    const event = w.things.find((t) => t.type === 'health_event' && t.reachedBy.includes(`recording ${id}`))
    if (event) await check('/health-events?recordingId', 'health_event', 'health:read', id, event.id)
  }
  assert.deepEqual(wrong, [])
})

test('the calendar shows occurrences of visible schedules only, and counts those', async () => {
  const ids = Object.values(w.schedules)
  for (const c of withRole('schedule:read')) {
    const { data, meta } = (await c.client.get('/schedules/calendar')).json
    const wanted = ids.filter((id) => lists(w, c, 'schedule:read', thingOf('schedule', id)))
    assert.deepEqual(sorted(data.map((item: { scheduleId: string }) => item.scheduleId)), sorted(wanted), c.id)
    assert.deepEqual([meta.scheduleCount, meta.occurrenceCount], [wanted.length, data.length], c.id)
  }
})

test('the counts of the status are those of what the caller sees', async () => {
  const [recordings, nodes, events, items] = [
    await rowsOf('/recordings'),
    await rowsOf('/nodes'),
    await rowsOf('/health-events'),
    await rowsOf('/upload-queue'),
  ]
  for (const c of withRole('node:read')) {
    const status = (await c.client.get('/status')).json
    const mine = seen(c, 'recording:read', 'recording', recordings)
    const alerts = seen(c, 'health:read', 'health_event', events).filter((e) => e.status !== 'resolved')
    const be = (value: string) => mine.filter((r) => r.status === value).length
    const wanted = {
      activeRecordings: be('recording'),
      cachedRecordings: mine.filter((r) => String(r.cached) === 'true').length,
      criticalAlerts: alerts.filter((e) => e.severity === 'critical').length,
      failedRecordings: be('failed'),
      failedUploads: seen(c, 'recording:read', 'upload_queue', items).filter((i) => i.status === 'failed').length,
      nodeCount: seen(c, 'node:read', 'node', nodes).length,
      totalRecordings: mine.length,
      unresolvedAlerts: alerts.length,
    }
    const got = Object.fromEntries(Object.keys(wanted).map((name) => [name, status[name]]))
    assert.deepEqual(got, wanted, c.id)
    assert.equal('runners' in status, c.role === 'owner' || c.role === 'admin' ? c.deny.length === 0 : false, c.id)
    const provisioning = status.onlineNodes + status.recordingNodes + status.offlineNodes + status.degradedNodes
    assert.ok(provisioning + status.alertingNodes <= wanted.nodeCount, c.id)
  }
})

/** Sum of the samples of a family whose labels pass. */
function sum(text: string, family: string, fits: (labels: string) => boolean = () => true): number {
  const lines = text.split('\n').filter((line) => line.startsWith(`svc_${family}{`) && fits(line))
  return lines.reduce((total, line) => total + Number(line.split(' ').at(-1)), 0)
}

test('metrics cover what the caller may see', async () => {
  const [recordings, nodes, jobs, events, items] = await Promise.all(
    ['/recordings', '/nodes', '/recording-jobs', '/health-events', '/upload-queue'].map(rowsOf),
  )
  for (const c of withRole('metrics:read')) {
    const { text } = await c.client.get('/metrics')
    const of = (type: string, rows: Row[] | undefined, permission = 'recording:read') =>
      seen(c, permission, type, rows as Row[])
    const shown = of('node', nodes, c.role === 'auditor' ? 'recording:read' : 'node:read').map(({ id }) => id)
    const told = [...text.matchAll(/^svc_node_online\{.*node_id="([^"]+)"/gm)].map(([, id]) => id as string)
    assert.deepEqual(sorted(told), sorted(shown), c.id)
    const mine = of('recording', recordings)
    assert.equal(sum(text, 'recording_cached'), mine.filter((r) => String(r.cached) === 'true').length, c.id)
    assert.equal(sum(text, 'recording_active'), mine.filter((r) => r.status === 'recording').length, c.id)
    assert.equal(sum(text, 'recording_jobs'), of('recording_job', jobs).length, c.id)
    const open = of('health_event', events, 'health:read').filter((e) => e.status === 'open')
    assert.equal(
      sum(text, 'health_events_active', (l) => l.includes('status="open"')),
      open.length,
      c.id,
    )
    assert.equal(sum(text, 'upload_queue_depth'), of('upload_queue', items).length, c.id)
  }
})
