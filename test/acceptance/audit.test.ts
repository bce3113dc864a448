// An auditor reads of scoped things only what is in scope, and a refusal binds an owner's reading too
// (docs/contract/audit.md: Reading).
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Caller, callers, scoped } from './callers.ts'
import { ok, type Thing, type World, world } from './world.ts'

let w: World
let people: Map<string, Caller>
before(async () => {
  w = await world()
  people = await callers(w)
})
after(() => w.k.close())

const READERS = [
  'auditor-booth',
  'auditor-nothing',
  'owner-no-booth',
  'owner-no-desk',
  'owner-no-take',
  'owner-no-plan',
]
const SCOPED = [
  ...[
    'channel',
    'channel_map_assignment',
    'channel_map_assignment_plan',
    'channel_map_template',
    'health_event',
    'interface',
    'node',
    'recording',
  ],
  ...[
    'recording_job',
    'recording_profile',
    'retention_policy',
    'room',
    'schedule',
    'upload_destination',
    'upload_policy',
  ],
  ...['notification_channel', 'notification_rule', 'upload_provider', 'watchdog_policy'],
]

interface Event {
  action: string
  actor: { id: string }
  id: string
  target: { id?: string; type: string }
}

/** A map that is being assigned is named by what it is for. */
const mapFor = (id: string): Thing | undefined =>
  w.things.find((t) => t.type === 'channel_map_assignment' && t.reachedBy.includes(id.replace(':', ' ')))
const thingOf = ({ id = '', type }: Event['target']): Thing =>
  w.get(type, id) ??
  (type === 'channel_map_assignment' ? mapFor(id) : undefined) ?? {
    id,
    reachedBy: [`${type} ${id}`],
    secrets: [],
    type,
  }
const readable = (c: Caller, { actor, target }: Event): boolean =>
  actor.id === c.id || target.id === undefined || !SCOPED.includes(target.type) || scoped(c, thingOf(target).reachedBy)

/** Deeds on the devices and channels of the shared node, which are things of one room each. */
async function deeds(): Promise<void> {
  const { desk, devices } = w.nodes
  const ofDesk = [`node ${desk.id}`, 'site North']
  w.things.push(
    {
      id: devices.main,
      reachedBy: [`interface ${devices.main}`, ...ofDesk, 'room hall', 'room booth'],
      secrets: [],
      type: 'interface',
    },
    { id: devices.spare, reachedBy: [`interface ${devices.spare}`, ...ofDesk], secrets: [], type: 'interface' },
  )
  for (const id of [devices.main, devices.spare])
    ok(await w.owner.patch(`/nodes/${desk.id}/interfaces/${id}`, { alias: `Renamed ${id}` }), 200)
  for (const [index, room] of [
    [1, 'hall'],
    [3, 'booth'],
  ] as const) {
    const channel = `${devices.main}:${index}`
    const reachedBy = [`channel ${channel}`, `interface ${devices.main}`, ...ofDesk, `room ${room}`]
    w.things.push({ id: channel, reachedBy, secrets: [], type: 'channel' })
  }
}

test('of a deed on many things a reader within a scope learns that it was done, not to what', async () => {
  const ids = ['hall1', 'booth1'].map((key) => w.library[key]?.id as string)
  ok(await w.owner.patch('/recordings/bulk-metadata', { addTags: ['more'], recordingIds: ids }), 200)
  const query = '/audit-events?action=recordings.metadata.bulk_update.succeeded'
  const [whole] = (await w.owner.get(query)).json.data
  assert.deepEqual(whole.details.recordingIds, ids)
  for (const id of READERS) {
    const { client } = people.get(id) as Caller
    const [told] = (await client.get(query)).json.data
    const detail = (await client.get(`/audit-events/${whole.id}`)).json.data.event
    const { text } = await client.get(query.replace('?', '/export?'))
    assert.deepEqual(
      [told.actor.id, told.outcome, told.target],
      ['owner', 'succeeded', { type: 'recording_collection' }],
    )
    assert.deepEqual(detail, told)
    for (const answer of [JSON.stringify(told), text]) assert.ok(!/rec_|zz/.test(answer), `${id} ${answer}`)
  }
})

test('every reader reads exactly the rows of what is in scope, in lists, exports and facets', async () => {
  await deeds()
  const rows = (await w.k.as('owner').get('/audit-events?limit=500&outcome=succeeded')).json
  assert.equal(rows.meta.totalIsLowerBound, undefined)
  const all: Event[] = []
  for (let offset = 0; offset < rows.meta.total; offset += 500)
    all.push(...(await w.owner.get(`/audit-events?limit=500&outcome=succeeded&actor=owner&offset=${offset}`)).json.data)
  const types = new Set(all.map(({ target }) => target.type))
  for (const type of [
    'channel_map_assignment',
    'channel',
    'interface',
    'health_event',
    'recording',
    'recording_job',
    'schedule',
    'node',
    'room',
  ])
    assert.ok(types.has(type) || type === 'channel' || type === 'recording_job', type)
  const before = new Set(all.map(({ id }) => id))
  for (const id of READERS) {
    const c = people.get(id) as Caller
    const wanted = all.filter((event) => readable(c, event)).map((event) => event.id)
    const seen: string[] = []
    for (let offset = 0; ; offset += 500) {
      const { data } = (await c.client.get(`/audit-events?limit=500&outcome=succeeded&actor=owner&offset=${offset}`))
        .json
      seen.push(...data.map((event: Event) => event.id).filter((one: string) => before.has(one)))
      if (data.length < 500) break
    }
    const told = (ids: string[]) =>
      ids.map((one) => all.find((e) => e.id === one)).map((e) => `${e?.action} ${e?.target.type} ${e?.target.id}`)
    assert.deepEqual(told(seen.filter((one) => !wanted.includes(one))), [], `${id} reads more`)
    assert.deepEqual(told(wanted.filter((one) => !seen.includes(one))), [], `${id} reads less`)
    const hidden = all.filter((event) => !wanted.includes(event.id))
    const text = (await c.client.get('/audit-events/export?outcome=succeeded&actor=owner')).text
    const [{ count }] = (
      await c.client.get('/audit-events/facets?limit=500&action=schedules.create.succeeded')
    ).json.data.outcomes.concat({ count: 0 })
    assert.equal(
      count,
      wanted.filter((one) => all.find((e) => e.id === one)?.action === 'schedules.create.succeeded').length,
      id,
    )
    for (const event of hidden.filter(({ target }) => target.type === 'schedule'))
      assert.ok(
        !text.includes(`"${event.action}","schedule:manage","schedule","${event.target.id}"`),
        `${id} exports ${event.action}`,
      )
    for (const event of hidden.slice(0, 5)) {
      const unknown = await c.client.get('/audit-events/00000000-0000-4000-8000-ffffffffffff')
      const foreign = await c.client.get(`/audit-events/${event.id}`)
      assert.deepEqual([foreign.status, foreign.text], [404, unknown.text])
      const picked = await c.client.post('/audit-events/export', { eventIds: [wanted[0], event.id].filter(Boolean) })
      assert.equal(picked.status, 404)
    }
  }
})
