// The change stream tells each person of what their lists show, and of nothing else.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { PERMISSION_OF, permissionOf, shownId } from '../../src/controller/monitoring/changes/changes.rules.ts'
import type { ChangeKind } from '../../src/wire/changes.ts'
import { reading } from '../kit/reading.ts'
import { type Caller, callers, holds, may } from './callers.ts'
import { type World, world } from './world.ts'

let w: World
let people: Map<string, Caller>
before(async () => {
  w = await world()
  people = await callers(w)
})
after(() => w.k.close())

const KINDS: Record<string, ChangeKind> = {
  health_event: 'health',
  node: 'node',
  recording: 'recording',
  recording_job: 'job',
  room: 'room',
  schedule: 'schedule',
  switcher: 'settings',
}
// The lists that the stream stands in for.
const LISTS: Partial<Record<ChangeKind, string>> = {
  health: '/health-events',
  job: '/recording-jobs',
  node: '/nodes',
  recording: '/recordings',
  room: '/rooms',
  schedule: '/schedules',
  settings: '/settings/recording-profiles',
  upload: '/upload-queue',
  user: '/auth/users',
}

test('each kind asks for the permission of its list', () => {
  for (const [kind, permission] of Object.entries(PERMISSION_OF)) {
    const path = LISTS[kind as ChangeKind]
    const list = w.k.routes.find((r) => r.method === 'GET' && r.auth === 'user' && r.path === path)
    assert.equal(list?.permission, permission, `${kind}: ${path}`)
  }
})

test('every change is told to exactly those who may read the thing', async () => {
  const wrong: string[] = []
  const watched = w.things.filter(({ type }) => KINDS[type])
  for (const c of people.values()) {
    const headers = { authorization: `Bearer ${c.client.token}` }
    const stream = reading(await w.k.app.request('/api/v1/events', { headers }))
    await stream.event('hello')
    for (const thing of watched) changed(thing)
    // Comes last, and to everybody: whoever has it has had all before it.
    w.k.events.emit('resource.changed', { action: 'x', op: 'updated', outcome: 'succeeded', type: 'recording_profile' })
    const told = new Set<string>()
    const marked = holds(c, 'settings:read')
    for (;;) {
      const next = marked ? await stream.event('change') : await soon(stream.event('change'))
      const change = next as { id?: string; kind: string } | undefined
      if (!change || (change.kind === 'settings' && change.id === undefined)) break
      told.add(`${change.kind} ${change.id}`)
    }
    await stream.cancel()
    const wanted = watched
      .map(({ id, reachedBy, type }) => ({ kind: KINDS[type] as ChangeKind, reachedBy, target: { id, type } }))
      .filter((thing) => may(c, permissionOf(thing), thing.reachedBy))
      .map((thing) => `${thing.kind} ${shownId(thing)}`)
    for (const one of wanted) if (!told.has(one)) wrong.push(`${c.id} is not told of ${one}`)
    for (const one of told) if (!wanted.includes(one)) wrong.push(`${c.id} is told of ${one}`)
  }
  assert.ok(watched.length > 20)
  assert.deepEqual(wrong, [])
})

const STATE = { severity: 'warning', status: 'open' }

/** Alerts tell of themselves, everything else by its audit row. */
function changed({ id, type }: World['things'][number]): void {
  const { events } = w.k
  if (type === 'health_event')
    events.emit('health.changed', { id, ...STATE, type: 'watchdog.node_offline', was: STATE })
  else events.emit('resource.changed', { action: 'x', id, op: 'updated', outcome: 'succeeded', type })
}

/** What comes within a moment: nothing more may come. */
const soon = (promise: Promise<unknown>): Promise<unknown> =>
  Promise.race([promise, new Promise((resolve) => setTimeout(resolve, 400))])
