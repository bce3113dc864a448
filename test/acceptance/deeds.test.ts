// What one does is scoped as what one sees: bodies that name something out of reach change nothing, and say no more
// than for something that is not there.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Answer, Kit } from '../kit/kit.ts'
import { type Caller, callers } from './callers.ts'
import { ok, type World, world } from './world.ts'

let w: World
let people: Map<string, Caller>
before(async () => {
  w = await world()
  people = await callers(w)
})
after(() => w.k.close())

const client = (id: string) => (people.get(id) as Caller).client
const rec = (key: string): string => w.library[key]?.id as string
const job = (key: string): string => w.library[key]?.jobId as string

const TABLES = ['nodes', 'interfaces', 'channels', 'rooms', 'schedules', 'recordings', 'recording_jobs', 'upload_queue']
const state = (k: Kit): string =>
  JSON.stringify(
    [...TABLES, 'health_events', 'room_roster', 'playback_tickets'].map((t) => k.rows(`SELECT * FROM ${t}`)),
  )
const lastOutcome = (k: Kit): string | undefined =>
  k.rows<{ o: string }>('SELECT outcome AS o FROM audit_events ORDER BY seq DESC LIMIT 1')[0]?.o

// Every call that names things in its body: one within reach of a grant on the hall, one beyond, and the rest of it.
const NAMING = (): [method: string, path: string, mine: string, foreign: string, body: (ids: string[]) => object][] => [
  ['POST', '/nodes/export', w.nodes.desk.id, w.nodes.vault.id, (nodeIds) => ({ nodeIds })],
  ['POST', '/recordings/export', rec('hall1'), rec('booth1'), (recordingIds) => ({ recordingIds })],
  ['POST', '/recording-jobs/export', job('hall1'), job('booth1'), (jobIds) => ({ jobIds })],
  ['POST', '/schedules/export', w.schedules.hall, w.schedules.booth, (scheduleIds) => ({ scheduleIds })],
  ['POST', '/health-events/export', w.health.hallTake, w.health.boothTake, (eventIds) => ({ eventIds })],
  [
    'PATCH',
    '/recordings/bulk-metadata',
    rec('hall1'),
    rec('booth1'),
    (recordingIds) => ({ addTags: ['x'], recordingIds }),
  ],
  ['POST', '/recordings/bulk-upload-queue', rec('hall1'), rec('booth1'), (recordingIds) => ({ recordingIds })],
  ['POST', '/recording-jobs/bulk-retry', job('failed-hall'), job('failed-booth'), (jobIds) => ({ jobIds })],
  ['POST', '/recording-jobs/bulk-stop', job('live-hall'), job('live-booth'), (jobIds) => ({ jobIds })],
  [
    ...(['POST', '/health-events/bulk-lifecycle', w.health.hallTake, w.health.boothTake] as const),
    (eventIds) => ({ action: 'acknowledge', eventIds }),
  ],
]

const shape = ({ json, status }: Answer, id: string): string =>
  `${status} ${JSON.stringify(json).replaceAll(id, '<id>')}`

test('a body with one id out of reach changes nothing, is denied, and answers like one with an unknown id', async () => {
  const listed = new Set(NAMING().map(([method, path]) => `${method} ${path}`))
  const bulk = w.k.routes
    .filter((r) => r.auth === 'user' && r.body && /bulk-|\/export$/.test(r.path))
    .map((r) => `${r.method} ${r.path}`)
  // Of the audit by its own test; deleting and settings need a role that bypasses scope, see the refusals below.
  const elsewhere = ['POST /audit-events/export', 'POST /recordings/bulk-delete']
  assert.deepEqual(
    bulk.filter((one) => !listed.has(one) && !elsewhere.includes(one)),
    [],
  )
  for (const [method, path, mine, foreign, body] of NAMING())
    for (const id of ['op-hall', 'owner-no-booth', 'owner-no-site'] as const) {
      // For each of them something else is foreign.
      const beyond = id === 'owner-no-site' ? undefined : foreign
      if (!beyond || (id === 'owner-no-booth' && path === '/nodes/export')) continue
      const before = state(w.k)
      const answer = await client(id).send(method, path, body([mine, beyond]))
      assert.equal(answer.status, 404, `${id} ${path} ${answer.text}`)
      assert.equal(lastOutcome(w.k), 'denied', `${id} ${path}`)
      assert.equal(state(w.k), before, `${id} ${path}`)
      const unknown = await client(id).send(method, path, body([mine, 'no-such-thing']))
      assert.equal(shape(unknown, 'no-such-thing'), shape(answer, beyond), `${id} ${path}`)
    }
  const gone = await client('owner-no-take').post('/recordings/bulk-delete', {
    recordingIds: [rec('hall2'), rec('hall1')],
  })
  assert.equal(gone.status, 404)
  assert.equal(lastOutcome(w.k), 'denied')
})

test('nobody starts, books, reports or uploads what lies out of reach, and is told nothing of it', async () => {
  const { desk, devices, loose, vault } = w.nodes
  const take = (nodeId: string, captureInterfaceId: string, channel: number) => ({
    ...{ captureChannelSelection: [channel], captureInterfaceId, nodeId },
  })
  const plan = (nodeId: string, captureInterfaceId: string, channels: number[]) => ({
    ...{ captureChannelSelection: channels, captureInterfaceId, folderTemplate: 'f', name: 'n', nodeId, room: 'r' },
    ...{ recordingProfileId: 'voice-mp3-vbr', timezone: 'UTC', titleTemplate: 't' },
    watchdogPolicyId: 'scheduled-voice-watchdog',
  })
  const hall = client('op-hall')
  const tries: [path: string, body: object, status: number][] = [
    ['/recordings', take(desk.id, devices.main, 3), 403],
    ['/recordings', take(desk.id, devices.spare, 2), 403],
    ['/recordings', take(vault.id, devices.cellar, 1), 403],
    ['/recordings', take('node_unknown', 'x', 1), 403],
    ['/recordings', { nodeId: desk.id, captureInterfaceId: devices.main }, 400],
    ['/schedules', plan(desk.id, devices.main, [3]), 403],
    ['/schedules', plan(desk.id, devices.main, [1, 3]), 400],
    ['/schedules', plan(desk.id, devices.spare, [1]), 403],
    ['/schedules', plan(vault.id, devices.cellar, [1]), 403],
    ['/schedules', plan(vault.id, devices.cellar, [1, 2]), 403],
    ['/schedules', plan(vault.id, 'no-such-device', [1]), 403],
    ['/schedules', plan(loose.id, devices.free, [1]), 403],
    ['/schedules', plan('node_unknown', devices.free, [1]), 403],
    ['/health-events', { nodeId: vault.id, severity: 'info', type: 'x' }, 403],
    ['/health-events', { nodeId: 'node_unknown', severity: 'info', type: 'x' }, 403],
    ['/health-events', { nodeId: desk.id, recordingId: rec('booth1'), severity: 'info', type: 'x' }, 403],
    [`/recordings/${rec('hall1')}/upload-queue`, { uploadPolicyId: w.uploads.policyId }, 404],
    [`/recordings/${rec('hall1')}/upload-queue`, { uploadPolicyId: 'no-such-policy' }, 404],
  ]
  const before = state(w.k)
  const told = new Map<string, string>()
  for (const [path, body, status] of tries) {
    const answer = await hall.post(path, body)
    assert.equal(answer.status, status, `${path} ${JSON.stringify(body)} ${answer.text}`)
    if (status === 400) continue
    // One refusal per path, whatever was named.
    assert.equal(told.get(path) ?? answer.text, answer.text, path)
    told.set(path, answer.text)
  }
  assert.equal(state(w.k), before)
  const move = await hall.patch(`/schedules/${w.schedules.hall}`, { captureChannelSelection: [3] })
  const spare = await hall.patch(`/schedules/${w.schedules.hall}`, {
    captureChannelSelection: [1],
    captureInterfaceId: devices.spare,
  })
  assert.deepEqual([move.status, spare.status], [403, 403])
  assert.equal(state(w.k), before)
})

test('a conflict names the other take only to who may see it', async () => {
  const { desk, devices } = w.nodes
  // The channel of a take under way in the booth is given to the hall.
  const to = (roomId: string) => ({ assignments: [{ channelIndexes: [3], interfaceId: devices.main, roomId }] })
  ok(await w.owner.put(`/nodes/${desk.id}/channel-rooms`, to('hall')), 200)
  const body = { captureChannelSelection: [3], captureInterfaceId: devices.main, nodeId: desk.id }
  const blind = ok(await client('op-hall').post('/recordings', body), 409).json
  assert.deepEqual(Object.keys(blind).sort(), ['busyChannels', 'captureInterfaceId', 'error', 'reason'])
  assert.deepEqual([blind.reason, blind.busyChannels], ['capture_channels_busy', [3]])
  const seeing = ok(await client('op-desk').post('/recordings', body), 409).json
  assert.deepEqual(
    [seeing.conflictingRecordingId, seeing.conflictingJobId, seeing.conflictingRoomId],
    [rec('live-booth'), job('live-booth'), 'booth'],
  )
  // The schedule of the booth has followed its channel; its own takes are seen, the other one is not.
  const run = ok(await client('op-booth-plan').post(`/schedules/${w.schedules.booth}/run-now`), 409).json
  assert.deepEqual([run.reason, 'conflictingRecordingId' in run], ['capture_channels_busy', false])
  ok(await w.owner.put(`/nodes/${desk.id}/channel-rooms`, to('booth')), 200)
})

test('a refusal binds an owner in bodies as in paths: rooms, switchers, devices', async () => {
  const { loose, devices } = w.nodes
  const owner = client('owner-no-booth')
  const before = state(w.k)
  const give = (roomId: string) => ({ assignments: [{ channelIndexes: [1], interfaceId: devices.free, roomId }] })
  for (const roomId of ['booth', 'no-such-room']) {
    const [room, channels] = [
      await owner.patch(`/nodes/${loose.id}`, { roomId }),
      await owner.put(`/nodes/${loose.id}/channel-rooms`, give(roomId)),
    ]
    assert.deepEqual([room.status, room.json.reason], [400, 'room_not_found'])
    assert.deepEqual([channels.status, channels.json.reason], [400, 'room_not_found'])
  }
  assert.equal(state(w.k), before)
  const switcher = {
    displayName: 'Matrix',
    enabled: false,
    host: '127.0.0.1',
    mode: 'observe',
    model: 'avpro-ac-max',
    port: 1,
  }
  const { id } = ok(await w.owner.post('/settings/switchers', switcher), 201).json.data
  const kept = (await w.owner.get('/auth/access-policies')).json.data
  const deny = {
    effect: 'deny',
    resourceId: id,
    resourceType: 'switcher',
    subjectId: 'owner-no-booth',
    subjectType: 'user',
  }
  ok(await w.owner.patch('/auth/access-policies', { policies: [...kept, deny] }), 200)
  const shown = (await owner.get('/settings/switchers')).json.data as { id: string }[]
  // Of the others one has the booth wired to it.
  assert.deepEqual(shown.map((one) => one.id).sort(), [w.switchers.idle, w.switchers.south].sort())
  const calls: [string, string, object?][] = [
    ['GET', ''],
    ['GET', '/mappings'],
    ['PUT', '/mappings', { inputs: [], outputs: [] }],
    ['PATCH', '', { displayName: 'Mine' }],
    ['DELETE', ''],
  ]
  for (const [method, path, body] of calls) {
    const answer = await owner.send(method, `/settings/switchers/${id}${path}`, body)
    assert.equal(answer.status, 403, `${method} ${path}`)
    assert.equal(lastOutcome(w.k), 'denied', `${method} ${path}`)
  }
  assert.equal((await client('op-hall').get(`/settings/switchers/${id}`)).status, 403, 'others need a grant')
})

test('inside the room everything works that the room allows, one by one and in bulk', async () => {
  const hall = client('op-hall')
  const { desk, devices } = w.nodes
  const text = await hall.post('/recordings/export', { recordingIds: [rec('hall2'), rec('hall1')] })
  assert.deepEqual(
    text.text
      .split('\n')
      .slice(1)
      .map((line) => line.split(',')[0]),
    [rec('hall2'), rec('hall1')],
  )
  ok(
    await hall.patch('/recordings/bulk-metadata', { addTags: ['ours'], recordingIds: [rec('hall1'), rec('hall2')] }),
    200,
  )
  ok(await hall.patch(`/recordings/${rec('hall1')}/metadata`, { notes: 'ours' }), 200)
  ok(await hall.post('/health-events/bulk-lifecycle', { action: 'acknowledge', eventIds: [w.health.hallTake] }), 200)
  ok(await hall.post('/health-events', { recordingId: rec('hall1'), severity: 'info', type: 'x' }), 201)
  ok(await hall.post(`/upload-queue/${w.uploads.items.hall1}/retry`), 409)
  ok(await hall.post('/recording-jobs/bulk-stop', { jobIds: [job('live-hall')] }), 200)
  ok(await desk.agent.post(`/recording-jobs/${job('live-hall')}/cancelled`), 200)
  ok(await hall.post('/recording-jobs/bulk-retry', { jobIds: [job('failed-hall')] }), 201)
  const body = { captureChannelSelection: [2], captureInterfaceId: devices.main, nodeId: desk.id }
  const started = ok(await hall.post('/recordings', body), 202).json.data
  ok(await hall.post(`/recordings/${started.id}/stop`), 200)
  ok(await hall.patch(`/schedules/${w.schedules.hall}`, { name: 'ours' }), 200)
  ok(await hall.post(`/schedules/${w.schedules.hall}/skip-next`), 200)
  // Deleting is no operator's; a person whom the room lets delete does that and nothing else.
  assert.equal((await hall.delete(`/recordings/${rec('hall2')}`)).status, 403)
  const may = (capability: string) => client(`may-${capability}`)
  assert.equal((await may('edit').delete(`/recordings/${rec('hall2')}`)).status, 403)
  assert.equal((await may('delete').delete(`/recordings/${rec('booth2')}`)).status, 403)
  ok(await may('delete').delete(`/recordings/${rec('hall2')}`), 204)
  ok(await may('edit').patch(`/recordings/${rec('hall1')}/metadata`, { notes: 'edited' }), 200)
  ok(await may('view').get(`/recordings/${rec('hall1')}`), 200)
  ok(await may('view').post(`/recordings/${rec('hall1')}/playback`), 202)
  assert.equal((await may('view').post(`/recordings/${rec('hall1')}/download`)).status, 403)
  ok(await may('download').post(`/recordings/${rec('hall1')}/download`), 202)
  ok(await may('operate').post('/recordings', { ...body, captureChannelSelection: [2] }), 202)
  ok(await may('book').post(`/schedules/${w.schedules.hall}/skip-next`), 200)
  assert.equal(
    (await may('book').patch(`/schedules/${w.schedules.hall}`, { captureChannelSelection: [4] })).status,
    403,
  )
})

test('the upload runner sends, and tells of, what its caller sees', async () => {
  for (const [id, keys] of [
    ['op-hall', ['hall1']],
    ['owner-no-booth', ['attic', 'cellar', 'hall1', 'loose', 'spare']],
  ] as const) {
    // A busy machine may still be at the last attempts when the runner has answered.
    while (w.k.rows('SELECT 1 FROM upload_queue WHERE claim IS NOT NULL').length > 0) await nextTurn()
    w.k.sql(`UPDATE upload_queue SET status = 'queued', attempt_count = 0, next_attempt_at = ?`, w.k.now())
    const items = keys.map((key) => w.uploads.items[key] as string).sort()
    const { data, summary } = ok(await client(id).post('/upload-runner/run'), 200).json
    const ids = (told: { items: { itemId: string }[] }) => told.items.map(({ itemId }) => itemId).sort()
    assert.deepEqual([ids(summary), ids(data.lastSummary), summary.attempted], [items, items, items.length], id)
    const others = ok(await client('op-one-take').get('/upload-runner'), 200).json.data.lastSummary
    assert.deepEqual([others.items, others.attempted, others.failed + others.deferred], [[], 0, 0])
  }
})

test('what the audit keeps before and after a deed, on many things too, is an object', async () => {
  const bulk = w.k.rows<{ action: string }>(
    `SELECT DISTINCT action FROM audit_events WHERE action LIKE '%bulk%.succeeded' AND before IS NOT NULL ORDER BY action`,
  )
  assert.deepEqual(
    bulk.map(({ action }) => action),
    [
      'recording_jobs.bulk_retry.succeeded',
      'recording_jobs.bulk_stop.succeeded',
      'recordings.metadata.bulk_update.succeeded',
    ],
  )
  const lists = `SELECT action FROM audit_events WHERE json_type(before) <> 'object' OR json_type(after) <> 'object'`
  assert.deepEqual(w.k.rows(lists), [])
})
