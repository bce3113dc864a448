import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemActor } from '../../../src/controller/http/principal.ts'
import { kit } from '../../kit/kit.ts'

const DAY = 86_400_000

test('rows older than the retention leave, with what only they named; each batch says so', async () => {
  const k = kit({ env: { SVC_AUDIT_RETENTION_DAYS: '10' } })
  const now = Date.parse(k.now())
  const write = (id: string, ms: number) =>
    k.pipeline.audit.write(
      {
        action: 'test.a',
        actor: systemActor('x'),
        context: { userAgent: id },
        outcome: 'succeeded',
        target: { type: 'lamp', id },
      },
      new Date(ms).toISOString(),
    )
  k.db.tx(() => {
    for (let n = 0; n < 250; n++) write(`old${n}`, now - 11 * DAY)
  })
  await k.tick('audit-index')
  write('kept', now - 10 * DAY)
  write('old1', now)
  await k.tick('audit-retention')
  const events = k.rows<{ target: string; details: string; actor: string }>(
    `SELECT target_id AS target, details, actor_id AS actor FROM audit_events ORDER BY seq`,
  )
  assert.deepEqual(
    events.slice(0, 2).map((event) => event.target),
    ['kept', 'old1'],
  )
  assert.deepEqual(
    events.slice(2).map(({ actor, details }) => [actor, JSON.parse(details)]),
    [200, 50].map((deleted) => [
      'system:audit-retention',
      { cutoff: new Date(now - 10 * DAY).toISOString(), deleted, retentionDays: 10 },
    ]),
  )
  const names = k.rows<{ id: string }>(`SELECT target_id AS id FROM audit_targets WHERE type = 'lamp' ORDER BY 1`)
  assert.deepEqual(
    names.map((row) => row.id),
    ['kept', 'old1'],
  )
  assert.equal(k.rows(`SELECT 1 FROM audit_contexts WHERE user_agent LIKE 'old%'`).length, 1)
  const { json } = await k.as('owner').get('/audit-events?target=old')
  assert.equal(json.meta.total, 1)
  assert.doesNotThrow(() => k.sql(`INSERT INTO audit_target_text (audit_target_text) VALUES ('integrity-check')`))
  await k.close()
})

test('the gate is closed after a pass, and a pass without anything to delete leaves no row', async () => {
  const k = kit({ env: { SVC_AUDIT_RETENTION_DAYS: '10' } })
  await k.as('owner').get('/rooms')
  const before = k.trail()
  await k.tick('audit-retention')
  assert.deepEqual(k.trail(), before)
  k.advance('11d')
  await k.tick('audit-retention')
  assert.deepEqual(k.trail(), ['audit.retention.completed succeeded'])
  assert.deepEqual(k.rows('SELECT * FROM audit_retention_gate'), [])
  assert.throws(() => k.sql('DELETE FROM audit_rows'), /retention only/)
  await k.close()
})
