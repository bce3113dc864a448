import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Actor, systemActor } from '../../../src/controller/http/principal.ts'
import { type Kit, kit } from '../../kit/kit.ts'

const ROWS = 30_000
const START = Date.parse('2026-01-01T00:00:00.000Z')
const PERSON: Actor = { id: 'p1', name: 'Päivi', roles: ['operator'], type: 'user' }

/** More rows than a search looks at before it takes another way, with rare things among the oldest. */
function crowd(): Kit {
  const k = kit()
  k.db.tx(() => {
    for (let n = 0; n < ROWS; n++) {
      const rare = n < 5
      k.pipeline.audit.write(
        {
          action: rare ? 'rare.deed.failed' : n % 2 ? 'recordings.read' : 'nodes.read',
          actor: rare ? PERSON : systemActor(`x${n % 7}`),
          outcome: rare ? 'failed' : 'succeeded',
          reason: rare ? 'Über_limit' : null,
          target: {
            type: n % 2 ? 'recording' : 'lamp',
            id: `rec_${n % 5000}`,
            name: rare ? `Aula Zürich ${n}` : `take ${n % 5000}`,
          },
        },
        new Date(START + n * 1000).toISOString(),
      )
    }
  })
  return k
}

for (const indexed of [true, false])
  test(`every way to the rows gives what a look at each row gives, in order (targets ${indexed ? 'indexed' : 'not indexed yet'})`, async () => {
    const k = crowd()
    if (indexed) await k.tick('audit-index')
    assert.equal(k.rows<{ n: number }>('SELECT target AS n FROM audit_indexed')[0]?.n, indexed ? 5005 : 0)
    const owner = k.as('owner')
    const queries: [query: string, where: string][] = [
      ['action=rare', `action LIKE '%rare%'`],
      ['actor=P%C3%84IVI', `actor_name = 'Päivi'`],
      ['actor=system:x3&action=nodes', `actor_id = 'system:x3' AND action LIKE '%nodes%'`],
      ['target=z%C3%BCrich', `target_name LIKE 'Aula%'`],
      ['target=rec_4999', `target_id = 'rec_4999'`],
      ['target=_499', `target_id LIKE '%\\_499%' ESCAPE '\\'`],
      ['target=Au', `target_name LIKE '%au%'`],
      ['target=%C3%BC', `target_name LIKE '%ü%'`],
      ['target=qq', `0`],
      ['target=lamp&actor=x2', `target_type = 'lamp' AND actor_id = 'system:x2'`],
      ['target=take&action=rare', `0`],
      ['outcome=failed', `outcome = 'failed'`],
      ['to=2026-01-01T00:00:10Z', `created_at <= '2026-01-01T00:00:10.000Z'`],
      [
        'from=2026-01-01T00:00:03Z&to=2026-01-01T00:00:05Z',
        `created_at BETWEEN '2026-01-01T00:00:03.000Z' AND '2026-01-01T00:00:05.000Z'`,
      ],
      ['reason=ber_', `reason LIKE '%ber\\_%' ESCAPE '\\'`],
    ]
    for (const [query, where] of queries) {
      const expected = k.rows<{ id: string }>(
        `SELECT id FROM audit_events WHERE ${where} AND created_at < '2026-02-01' ORDER BY created_at DESC, seq DESC`,
      )
      for (const offset of [0, 3, 2000]) {
        const until = query.includes('to=') ? '' : '&to=2026-02-01'
        const { json } = await owner.get(`/audit-events?${query}${until}&limit=7&offset=${offset}`)
        const ids = json.data.map((event: { id: string }) => event.id)
        assert.deepEqual(
          ids,
          expected.slice(offset, offset + 7).map((row) => row.id),
          `${query} ${offset}`,
        )
        assert.equal(json.meta.hasNextPage, expected.length > offset + 7, `${query} ${offset}`)
        if (!json.meta.totalIsLowerBound) assert.equal(json.meta.total, expected.length, `${query} ${offset}`)
        else assert.ok(json.meta.total <= expected.length, query)
      }
    }
    await k.close()
  })

test('a scoped reader finds the same rows whichever way leads there', async () => {
  const k = crowd()
  const at = '2026-01-01T00:00:00.000Z'
  for (const n of ['1', '4999'])
    k.sql(
      `INSERT INTO recordings (id, name, folder, source, status, recorded_at, updated_at) VALUES (?, 'x', 'f', 'ad_hoc', 'cached', ?, ?)`,
      `rec_${n}`,
      at,
      at,
    )
  const reader = k.person('reader', ['auditor'], [['recording', 'rec_4999']])
  const count = async (query: string) => {
    const { json } = await reader.get(`/audit-events?to=2026-02-01&${query}`)
    return [json.meta.total, json.meta.totalIsLowerBound ?? false]
  }
  // Every odd number is a recording, and one of 2500 is in scope; lamps are everybody's.
  assert.deepEqual(await count('action=recordings'), [6, false])
  assert.deepEqual(await count('target=rec_4999'), [6, false])
  assert.deepEqual(await count('target=rec_4998'), [6, false])
  assert.deepEqual(await count('target=rec_4997'), [0, false])
  assert.deepEqual(await count('target=take&action=recordings'), [6, false])
  assert.deepEqual(await count('action=rare'), [3, false])
  k.sql(`INSERT INTO access_policies VALUES ('p', 1, 'deny', 'everyone', NULL, 'recording', 'rec_4999', NULL)`)
  assert.deepEqual(await count('action=recordings'), [0, false])
  await k.close()
})

test('rows written in one millisecond keep their order, and a clock set back puts a row where its time is', async () => {
  const k = kit()
  const write = (action: string, now: string) =>
    k.pipeline.audit.write({ action, actor: PERSON, outcome: 'succeeded', target: { type: 'lamp' } }, now)
  for (const n of [1, 2, 3]) write(`test.${n}`, '2026-01-02T00:00:00.000Z')
  write('test.early', '2026-01-01T00:00:00.000Z')
  const { json } = await k.as('owner').get('/audit-events?action=test.')
  assert.deepEqual(
    json.data.map((event: { action: string }) => event.action),
    ['test.3', 'test.2', 'test.1', 'test.early'],
  )
  await k.close()
})

test('what a failed step taught the dictionaries is forgotten with it', async () => {
  const k = kit()
  const write = () =>
    k.pipeline.audit.write(
      { action: 'test.new', actor: PERSON, outcome: 'succeeded', target: { type: 'lamp', id: 'new' } },
      k.now(),
    )
  assert.throws(() =>
    k.db.tx(() => {
      write()
      throw new Error('undone')
    }),
  )
  assert.equal(k.rows('SELECT 1 FROM audit_targets').length, 0)
  write()
  assert.deepEqual(k.trail(), ['test.new succeeded'])
  await k.close()
})

test('neither rows nor what they name can be changed or taken away', async () => {
  const k = kit()
  await k.as('owner').get('/rooms')
  for (const table of ['audit_kinds', 'audit_actors', 'audit_deeds', 'audit_contexts', 'audit_targets', 'audit_rows'])
    assert.throws(() => k.sql(`UPDATE ${table} SET id = id`), /never changed/, table)
  for (const table of ['audit_kinds', 'audit_actors', 'audit_deeds', 'audit_contexts', 'audit_targets'])
    assert.throws(() => k.sql(`DELETE FROM ${table}`), /FOREIGN KEY/, table)
  assert.throws(() => k.sql('DELETE FROM audit_rows'), /retention only/)
  await k.close()
})
