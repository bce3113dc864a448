import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { AnyRoute } from '../../src/controller/http/route.ts'
import { mounted } from '../../src/controller/http/serve.ts'
import { kit } from '../kit/kit.ts'
import { PROMISED } from './promised.ts'
import { targetType, things } from './world.ts'

const k = kit()
after(() => k.close())

/** The path with its parameters unnamed: what a request sees. */
const shape = (path: string): string => path.replace(/:\w+/g, ':')
const key = (r: { method: string; path: string; auth: string }): string => `${r.method} ${shape(r.path)} ${r.auth}`
const line = (r: AnyRoute): string => `${r.method} ${r.path} (${r.auth})`

const doubled = (values: string[]): string[] => [...new Set(values.filter((v, i) => values.indexOf(v) !== i))]

test('no two records answer the same method, path and kind of caller', () => {
  assert.deepEqual(doubled(k.routes.map(key)), [])
})

// The tokens of each pair can be told apart by their form.
const PAIRS = ['bootstrap node', 'node user', 'scraper user']

test('only a node, or the scraper of metrics, may share a path with a user, and a node with the box it was', () => {
  for (const r of k.routes) {
    const others = k.routes.filter((o) => o !== r && o.method === r.method && shape(o.path) === shape(r.path))
    for (const other of others) {
      assert.ok(PAIRS.includes([r.auth, other.auth].sort().join(' ')), line(r))
    }
  }
})

test('a place in a path has one parameter name, whatever the method', () => {
  const names = new Map<string, string>()
  for (const { path } of k.routes) {
    const parts = path.split('/') as string[]
    for (const [i, part] of parts.entries()) {
      if (!part.startsWith(':')) continue
      const before = shape(parts.slice(0, i).join('/'))
      assert.equal(part, names.get(before) ?? part, `${path}: below ${before} the parameter has another name elsewhere`)
      names.set(before, part)
    }
  }
})

// Any session may read what speaks of nothing but itself; the change stream judges each event by its own permission.
const WITHOUT_PERMISSION = [
  'PATCH /auth/me/password (user)',
  'GET /auth/sessions (user)',
  'DELETE /auth/sessions (user)',
  'DELETE /auth/sessions/:id (user)',
  'GET /events (user)',
  'GET /auth/me/notifications (user)',
  'PATCH /auth/me/notifications (user)',
  'GET /openapi.json (user)',
  'GET /docs (user)',
]

test('every user route names a permission', () => {
  const bare = k.routes.filter((r) => r.auth === 'user' && !r.permission).map(line)
  assert.deepEqual(bare, WITHOUT_PERMISSION)
})

test('routes without authentication are these and no others', () => {
  const open = k.routes.filter((r) => r.auth === 'none').map((r) => `${r.method} ${r.path}`)
  const promised = PROMISED.filter((r) => r.auth === 'none').map((r) => `${r.method} ${r.path}`)
  assert.deepEqual(
    open.sort(),
    [
      ...promised,
      'GET /docs.css',
      'GET /install.sh',
      'GET /a/:token',
      'POST /a/:token',
      'POST /nodes/pair',
      'POST /auth/sign-in-link',
      'POST /auth/display-session',
    ].sort(),
  )
})

test('an audit base belongs to one record and looks like family.resource.verb', () => {
  assert.deepEqual(doubled(k.routes.map((r) => r.action)), [])
  for (const { action } of k.routes) assert.match(action, /^[a-z_]+(\.[a-z_-]+)+$/)
})

test('only probes, the installer, a style and the page of a link leave no audit row', () => {
  const silent = k.routes.filter((r) => r.audit === 'none').map((r) => r.path)
  assert.deepEqual(silent.sort(), ['/a/:token', '/docs.css', '/healthz', '/install.sh', '/readyz'])
})

test('what a route names by id is in the world of the matrices', () => {
  const types = k.routes.flatMap((r) => targetType(r) ?? [])
  const unknown = [...new Set(types)].filter((type) => things(type).length === 0)
  assert.deepEqual(unknown, [], 'a new type of target: give it a row in `seed` and a line in EXPANDS (world.ts)')
})

test('GET and DELETE take no body', () => {
  for (const r of k.routes) if (r.method === 'GET' || r.method === 'DELETE') assert.equal(r.body, undefined, line(r))
})

test('no route is promised twice', () => {
  assert.deepEqual(doubled(PROMISED.map(key)), [])
})

test('every promised route exists, with its permission', () => {
  const built = new Map(k.routes.map((r) => [key(r), r]))
  const found = PROMISED.filter((s) => built.has(key(s)))
  const equal = found.filter((s) => built.get(key(s))?.permission === s.permission)
  console.log(`promised routes ${PROMISED.length}, implemented ${found.length}, permissions equal ${equal.length}`)
  assert.deepEqual(PROMISED.filter((s) => !equal.includes(s)).map(key), [])
})

// What is not promised, with the reason it is there.
const OWN_ROUTES: Record<string, string> = {
  'PATCH /auth/me/password user': 'everybody changes their own password, also on the first day',
  'GET /schedules/:/preflight user': 'what was heard before the last take of a schedule',
  'POST /nodes/:/meter-frames node': 'levels of some seconds in one request, while nobody watches them',
  'POST /nodes/:/sound-readings node': 'what a recorder hears before and during its takes',
  'POST /nodes/:/recording-jobs/offer node': 'a take whose recording got lost with the controller that ordered it',
  'GET /events user': 'what has changed, so that the console need not poll',
  'GET /meter-events user': 'the stream of meters, for the console',
  'GET /recordings/undelivered user': 'how much sound exists on recorders only, for the start page',
  'GET /auth/users/:/actions user': 'action states, as every resource has them',
  'GET /auth/actions user': 'what can be done with accounts as a whole',
  'GET /auth/access-policies/actions user': 'action states of the list of policies',
  'GET /settings/controller/actions user': 'action states, as every resource has them',
  'GET /settings/foresight user': 'what is foreseen of takes that are due, and how long ahead',
  'PATCH /settings/foresight user': 'and changed by those who manage settings',
  'GET /auth/sessions user': 'everybody sees where they are logged in',
  'DELETE /auth/sessions user': 'and ends all others at once',
  'DELETE /auth/sessions/: user': 'and ends a session they forgot somewhere',
  'GET /auth/display-links user': 'links that open the wall, and nothing else',
  'POST /auth/display-links user': 'made for a site or some rooms',
  'DELETE /auth/display-links/: user': 'and revoked, with every screen they opened',
  'GET /nodes/:/doctor user': 'what is wrong with a recorder and what to do, without a terminal',
  'POST /nodes/:/doctor-report node': 'what the doctor found on it',
  'POST /auth/display-session none': 'a screen trades its link for a cookie',
  'GET /display display': 'what a screen on a wall shows',
  'GET /display/meter-events display': 'and its levels',
  'POST /auth/sign-in-link none': 'the first sign-in, on the machine of the controller',
  'GET /auth/users/:/rooms user': 'what somebody may do, room by room',
  'GET /auth/users/:/sessions user': 'who manages access sees the sessions of a person',
  'DELETE /auth/users/:/sessions/: user': 'and ends one of them, without ending the account',
  'GET /audit-events/:/actions user': 'action states, as every resource has them',
  'POST /schedules/:/undo-move user':
    'the date back and the copy gone in one step: two would record twice, or not at all',
  'POST /nodes/:/credentials/revoke user': 'revoking a node disables both of its credentials',
  'POST /nodes/:/retire user': 'a box that is gone leaves the lists, its recordings stay',
  'POST /nodes/:/reinstate user': 'and may come back with a new bootstrap',
  'PUT /nodes/:/ssh-credential/host-keys user': 'host keys of a node that was set up by hand, for the lifecycle runner',
  'GET /nodes/:/agent-release/: bootstrap': 'a site without internet installs from its controller',
  'GET /nodes/:/agent-release/: node': 'and updates from it',
  'GET /recordings/:/cache-file node': 'offset of an interrupted upload',
  'DELETE /settings/upload-destinations/: user': 'the console deletes destinations',
  'GET /recording-jobs/:/chunks user': 'the console shows the chunks of a job',
  'GET /recordings/:/waveform user': 'waveform peaks made once and stored: the console draws them while a take plays',
  'GET /metrics scraper': 'a static token beside user sessions: a monitoring system does not log in',
  'GET /nodes/:/bootstrap bootstrap': 'a box asks whether its token is still good before it changes anything',
  'POST /nodes/:/pairing-code user': 'a short code where a person types at a box',
  'POST /nodes/pair none': 'the box trades it for a bootstrap token',
  'POST /nodes/bootstrap-config user': 'enroll and mint for a setup stick in one go: the file it holds',
  'GET /install.sh none': 'the installer for new boxes, knowing the address of its controller',
  'GET /settings/notification-channels user': 'who is told, and how',
  'POST /settings/notification-channels user': 'mail, a webhook or ntfy',
  'GET /settings/notification-channels/: user': 'who is told, and how',
  'PATCH /settings/notification-channels/: user': 'who is told, and how',
  'DELETE /settings/notification-channels/: user': 'who is told, and how',
  'POST /settings/notification-channels/:/test user': 'a message that says whether a channel works',
  'GET /settings/notification-rules user': 'who is told of what',
  'POST /settings/notification-rules user': 'who is told of what',
  'POST /settings/notification-rules/preview user': 'what a rule would have sent',
  'GET /settings/notification-rules/: user': 'who is told of what',
  'PATCH /settings/notification-rules/: user': 'who is told of what',
  'DELETE /settings/notification-rules/: user': 'who is told of what',
  'GET /auth/me/notifications user': "people's own mail",
  'PATCH /auth/me/notifications user': "people's own mail",
  'GET /notifications user': 'what was sent, and what was not',
  'POST /notifications/:/retry user': 'once more',
  'GET /a/: none': 'the page of an acknowledge link, which changes nothing',
  'POST /a/: none': 'its button',
  'GET /docs user': 'the document of all records, for people',
  'GET /docs.css none': 'how that page looks',
  'GET /openapi.json user': 'the document of all records',
}

test('a route that is not promised has a reason', () => {
  const promised = new Set(PROMISED.map(key))
  const extra = k.routes.map(key).filter((r) => !promised.has(r) && !OWN_ROUTES[r])
  assert.deepEqual(extra, [], 'a route of its own: add it with its reason to OWN_ROUTES of this file')
})

test('the OpenAPI document lists every record with its permission', async () => {
  const { json: doc } = await k.as('viewer').get('/openapi.json')
  for (const r of k.routes) {
    const path = mounted(r.path).replace(/:(\w+)/g, '{$1}')
    const first = doc.paths[path]?.[r.method.toLowerCase()]
    assert.ok(first, `${line(r)} is not in openapi.json: scripts/node test/conventions/docs.update.ts writes it`)
    const all = [first, ...(first['x-also'] ?? [])]
    const own = all.find((o) => o.summary === r.action)
    assert.ok(own, `${line(r)} is hidden by another record`)
    assert.equal(own['x-permission'] ?? null, r.permission, line(r))
  }
  const operations = Object.values(doc.paths as Record<string, object>).flatMap((item) => Object.values(item))
  const ids = operations.flatMap((o) => [o, ...(o['x-also'] ?? [])]).map((o) => o.operationId)
  assert.equal(ids.length, k.routes.length)
  assert.deepEqual(doubled(ids), [])
})
