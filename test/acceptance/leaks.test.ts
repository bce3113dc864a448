// No read tells of what is out of reach: not by a word of it, not by its id, not by another answer than for an unknown id.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { AnyRoute } from '../../src/controller/http/route.ts'
import { ofTurn, shareOf } from '../kit/turn.ts'
import { type Caller, callers, lists, may } from './callers.ts'
import { type Thing, type World, world } from './world.ts'

let w: World
let people: Map<string, Caller>
before(async () => {
  w = await world()
  people = await callers(w)
})
after(() => w.k.close())

const probe = new Proxy({}, { get: (_, name) => `:${String(name)}` })
const reads = (): AnyRoute[] =>
  w.k.routes.filter((r) => r.method === 'GET' && r.auth === 'user' && !['/events', '/meter-events'].includes(r.path))

// What a path names, where its target is of another kind than the thing that is asked for.
const kindOf = (r: AnyRoute): string | undefined => {
  if (!r.path.includes(':')) return undefined
  if (r.path.startsWith('/upload-queue/')) return 'upload_queue'
  const { id, type } = r.target(probe as never, {})
  return id === undefined ? undefined : type
}
const pathOf = (r: AnyRoute, id: string): string => r.path.replace(/:\w+/, encodeURIComponent(id)).replace(/:\w+/g, 'x')
const things = (type: string | undefined): Thing[] => w.things.filter((t) => t.type === type)

// Of these the id alone may stand in what refers to them: a take names its node, its room and its schedule.
const REFERRED = new Set(['node', 'room', 'schedule', 'channel_map_assignment'])

/** Matches whatever would tell of what this caller must not know. */
function forbidden(c: Caller): RegExp | undefined {
  const hidden = w.things.filter(
    (t) => !lists(w, c, READ[t.type] ?? 'settings:read', t) && !may(c, READ[t.type] ?? '', t.reachedBy),
  )
  const ids = hidden.filter((t) => !REFERRED.has(t.type)).map((t) => `(?<![\\w-])${t.id}(?![\\w-])`)
  const words = hidden.flatMap((t) => t.secrets)
  return ids.length + words.length > 0 ? new RegExp([...words, ...ids].join('|')) : undefined
}
const READ: Record<string, string> = {
  health_event: 'health:read',
  node: 'node:read',
  recording: 'recording:read',
  recording_job: 'recording:read',
  room: 'node:read',
  schedule: 'schedule:read',
  switcher: 'switcher:read',
  upload_queue: 'recording:read',
}

test('no answer names what its reader cannot reach', async () => {
  const leaks: string[] = []
  let answers = 0
  for (const c of ofTurn(people.values())) {
    const secret = forbidden(c)
    if (!secret) continue
    for (const r of reads()) {
      const kind = kindOf(r)
      // Access is a matter of permission alone: users, groups and policies name what they are about. The audit is
      // judged row by row, by the target of each (audit.test.ts).
      if (r.permission === 'auth:manage' || r.permission === 'audit:read') continue
      // Who may read metrics without the permission to list nodes reads those of nodes in scope, with their names.
      if (r.permission === 'metrics:read' && c.role === 'auditor') continue
      const paths = kind ? things(kind).map(({ id }) => pathOf(r, id)) : r.path.includes(':') ? [] : [r.path]
      for (const path of paths) {
        const { status, text } = await c.client.get(path)
        answers++
        if (status === 500) leaks.push(`${c.id} ${path}: 500`)
        const found = status === 403 ? undefined : secret.exec(text)
        if (found)
          leaks.push(
            `${c.id} GET ${path} tells ${found[0]}: ...${text.slice(Math.max(0, found.index - 90), found.index + 40)}`,
          )
      }
    }
  }
  assert.deepEqual(leaks, [])
  assert.ok(answers > shareOf(2000), `${answers} answers`)
})

test('what is out of reach is answered like what there is not, by everything that can be asked of it', async () => {
  const wrong: string[] = []
  const state = () =>
    JSON.stringify(
      ['recordings', 'recording_jobs', 'schedules', 'nodes', 'rooms', 'upload_queue', 'health_events'].map((t) =>
        w.k.rows(`SELECT * FROM ${t}`),
      ),
    )
  const before = state()
  for (const c of ofTurn(people.values())) {
    for (const r of w.k.routes.filter((r) => r.auth === 'user' && r.path.includes(':'))) {
      const kind = kindOf(r)
      const foreign = things(kind).filter((t) => !may(c, r.permission, t.reachedBy))
      if (!kind || c.role === 'owner' || c.role === 'admin' || c.grants.includes('* *')) continue
      const body = r.body ? {} : undefined
      const unknown = await c.client.send(r.method, pathOf(r, 'no-such-id'), body)
      for (const { id } of foreign) {
        const answer = await c.client.send(r.method, pathOf(r, id), body)
        if (answer.status !== 403 || answer.text !== unknown.text || unknown.status !== 403)
          wrong.push(
            `${c.id} ${r.method} ${pathOf(r, id)}: ${answer.status} ${answer.text}, unknown ${unknown.status} ${unknown.text}`,
          )
      }
    }
  }
  assert.deepEqual(wrong, [])
  assert.equal(state(), before)
})
