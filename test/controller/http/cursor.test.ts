import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Answer, kit } from '../../kit/kit.ts'
import { takes } from '../recordings/library/takes.ts'

type Get = (path: string) => Promise<Answer>
type Row = { id: string }

/** Every row from the first page on, by cursor; `between` happens after each page. */
async function paged(get: Get, path: string, between: () => unknown = () => {}): Promise<string[]> {
  const ids: string[] = []
  for (let cursor = ''; ; ) {
    const { json, status } = await get(`${path}${cursor && `&cursor=${cursor}`}`)
    assert.equal(status, 200, JSON.stringify(json))
    ids.push(...json.data.map((row: Row) => row.id))
    if (!json.meta.nextCursor) return ids
    cursor = json.meta.nextCursor
    await between()
  }
}

const all = async (get: Get, path: string): Promise<string[]> => (await get(path)).json.data.map((row: Row) => row.id)

test('by cursor every recording comes once and in order, whatever is recorded meanwhile', async () => {
  const k = kit()
  const t = takes(k)
  for (let i = 0; i < 23; i++) t.recording(`r${i}`, { name: `Lecture ${i % 4}` })
  const { get } = k.as('admin')
  let added = 0
  for (const order of [
    'sortBy=name',
    'sortBy=name&sortOrder=desc',
    'sortBy=durationSeconds',
    'sortBy=recordedAt',
    'search=lecture',
  ]) {
    const before = await all(get, `/recordings?limit=500&${order}`)
    const found = await paged(get, `/recordings?limit=4&${order}`, () =>
      t.recording(`new${added++}`, { name: 'Lecture 0' }),
    )
    assert.equal(new Set(found).size, found.length, order)
    assert.deepEqual(
      found.filter((id) => before.includes(id)),
      before,
      order,
    )
  }
  await k.close()
})

test('by cursor every health event and every audit event comes once, and a caller sees his own alone', async () => {
  const k = kit()
  const { id } = await k.enroll('A')
  const other = await k.enroll('B', { location: { site: 'South', room: 'Hall' } })
  const owner = k.as('owner')
  for (let i = 0; i < 12; i++)
    await owner.post('/health-events', { nodeId: i % 3 ? id : other.id, severity: 'info', type: 'test.event' })
  const scoped = k.person('ann', ['operator', 'auditor'], [['node', id]])
  const open = await all(scoped.get, '/health-events?limit=500')
  assert.equal(open.length, 8)
  assert.deepEqual(await paged(scoped.get, '/health-events?limit=3'), open)
  assert.equal((await paged(owner.get, '/health-events?limit=5&search=test.event')).length, 12)
  for (const { get } of [owner, scoped]) {
    const path = '/audit-events?action=health.events.create'
    const known = await all(get, `${path}&limit=500`)
    const found = await paged(get, `${path}&limit=3`, () =>
      owner.post('/health-events', { nodeId: id, severity: 'info', type: 'later' }),
    )
    assert.deepEqual(found, known)
  }
  await k.close()
})

test('a cursor serves the list, the order and the filters it was made for, and nothing that was made up', async () => {
  const k = kit()
  const t = takes(k)
  for (let i = 0; i < 5; i++) t.recording(`r${i}`)
  const { get } = k.as('owner')
  const { nextCursor: cursor } = (await get('/recordings?limit=2&sortBy=name')).json.meta
  const refused = async (path: string) => {
    const { json, status } = await get(path)
    assert.deepEqual([status, json.reason], [400, 'invalid_cursor'], path)
    return json.issues[0].message as string
  }
  assert.equal((await get(`/recordings?limit=1&sortBy=name&cursor=${cursor}`)).status, 200)
  assert.match(await refused(`/recordings?limit=2&cursor=${cursor}`), /another list, order or filter/)
  assert.match(await refused(`/recordings?limit=2&sortBy=name&status=failed&cursor=${cursor}`), /another list/)
  assert.match(await refused(`/audit-events?limit=2&cursor=${cursor}`), /another list/)
  assert.match(
    await refused(`/recordings?limit=2&sortBy=name&offset=2&cursor=${cursor}`),
    /either a cursor or an offset/,
  )
  const [mark] = JSON.parse(Buffer.from(cursor, 'base64url').toString())
  for (const made of [
    [mark],
    [mark, 2, 7, 'r1'],
    [mark, -1, 'a', 'r1'],
    [mark, 1.5, 'a', 'r1'],
    [mark, 2, 'a', null],
    { mark },
  ])
    assert.match(
      await refused(`/recordings?sortBy=name&cursor=${Buffer.from(JSON.stringify(made)).toString('base64url')}`),
      /not one of ours/,
    )
  assert.match(await refused('/health-events?cursor=%25%25'), /not one of ours/)
  await k.close()
})

test('an offset beyond ten thousand is refused with the advice to send a cursor', async () => {
  const k = kit()
  const { get } = k.as('owner')
  for (const path of ['/recordings', '/health-events', '/audit-events']) {
    assert.equal((await get(`${path}?limit=5&offset=10000`)).status, 200, path)
    const { json, status } = await get(`${path}?limit=5&offset=10001`)
    assert.equal(status, 400, path)
    assert.match(json.issues[0].message, /meta\.nextCursor/)
  }
  await k.close()
})
