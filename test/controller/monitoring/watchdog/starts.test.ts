// A recording that should run, and that no recorder has begun.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endOf, toldOf } from '../../../../src/controller/monitoring/watchdog/starts.rules.ts'
import { events, stand, told, watched } from './world.ts'

/** Passes every ten seconds for so long. */
const pass = async ({ k }: Awaited<ReturnType<typeof watched>>, seconds: number) => {
  for (let at = 0; at < seconds; at += 10) {
    k.advance('10s')
    await k.tick('watchdog-starts')
  }
}

test('a recording that nobody has begun is a critical alarm after 20 s, and its late beginning says what is missing', async () => {
  const w = await watched()
  const { agent, id, k } = w
  await pass(w, 40)
  const recordingId = await w.record({ name: 'Lecture' })
  await pass(w, 20)
  await k.jump('1h')
  await k.jump('-1h')
  assert.deepEqual(stand(k), [], 'nor does a clock that jumps say anything')
  await pass(w, 10)
  assert.deepEqual(stand(k), ['take_not_begun open'])
  const [alarm] = events(k)
  assert.equal(alarm?.severity, 'critical')
  assert.equal(alarm?.details.message, 'Lecture should be recorded by now, and Hall recorder does not report.')
  await k.tick('watchdog')
  await pass(w, 60)
  assert.deepEqual(stand(k), ['take_not_begun open'], 'one alarm, which the other passes leave alone')
  await agent.post(`/nodes/${id}/recording-jobs/claim-next`)
  await k.tick('watchdog-starts')
  assert.deepEqual(stand(k), ['take_not_begun resolved'])
  const details = events(k)[0]?.details
  assert.equal(details?.autoResolvedReason, 'take_began')
  assert.equal(details?.result, 'It is being recorded, 90 s late: that much of its beginning is missing.')
  const audited = k.rows<{ n: number }>(
    `SELECT count(*) AS n FROM audit_events WHERE action LIKE 'health.watchdog.take_not_begun.%' AND correlation ->> '$.recordingId' = ?`,
    recordingId,
  )
  assert.deepEqual(told(k), [
    'health.watchdog.take_not_begun.created succeeded',
    'health.watchdog.take_not_begun.resolved succeeded',
  ])
  assert.equal(audited[0]?.n, 2)
  await k.close()
})

test('one that is begun at once, and one that is stopped before it begins, leave nothing open', async () => {
  const w = await watched()
  const { agent, id, k } = w
  await pass(w, 40)
  await w.record()
  await agent.post(`/nodes/${id}/recording-jobs/claim-next`)
  await pass(w, 60)
  assert.deepEqual(stand(k), [])
  const second = await w.record({ captureChannelSelection: [3, 4] })
  await pass(w, 40)
  assert.deepEqual(stand(k), ['take_not_begun open'])
  assert.equal((await k.as('admin').post(`/recordings/${second}/stop`)).status, 200)
  await pass(w, 10)
  assert.deepEqual(stand(k), ['take_not_begun resolved'])
  assert.equal(events(k)[0]?.details.autoResolvedReason, 'take_never_began')
  await k.close()
})

test('told once: one that a person has resolved is not told again', async () => {
  const w = await watched()
  const { k } = w
  await w.record()
  await pass(w, 40)
  const [alarm] = events(k)
  assert.equal((await k.as('admin').post(`/health-events/${alarm?.id}/resolve`, {})).status, 200)
  await pass(w, 40)
  assert.deepEqual(stand(k), ['take_not_begun resolved'])
  await k.close()
})

test('a recorder that reports and does not begin has another trouble than one that is silent', () => {
  const at = Date.parse('2026-03-02T10:00:30Z')
  const take = { alias: 'Desk', id: 'r', name: 'Lecture', nodeId: 'n', plannedAt: '', scheduleId: null }
  const said = (lastSeenAt: string | null) => String(toldOf({ ...take, lastSeenAt }, at).message)
  assert.equal(said('2026-03-02T10:00:25Z'), 'Lecture should be recorded by now. Desk reports, and has not begun.')
  assert.equal(said('2026-03-02T09:59:00Z'), 'Lecture should be recorded by now, and Desk does not report.')
  assert.equal(said(null), 'Lecture should be recorded by now, and Desk does not report.')
  assert.equal(endOf(undefined).reason, 'recording_deleted')
})

test('a controller that was away gives its recorders time to come back', async () => {
  const w = await watched()
  await w.record()
  w.k.advance('10m')
  await w.k.tick('watchdog-starts')
  assert.deepEqual(stand(w.k), [])
  await pass(w, 10)
  assert.deepEqual(stand(w.k), [])
  await pass(w, 10)
  assert.deepEqual(stand(w.k), ['take_not_begun open'])
  await w.k.close()
})
