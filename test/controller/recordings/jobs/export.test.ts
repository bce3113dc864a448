import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kit } from '../../../kit/kit.ts'
import { takes } from '../library/takes.ts'

const HEADER =
  'id,recordingId,nodeId,status,claimedBy,createdAt,startedAt,lastHeartbeatAt,leaseExpiresAt,stopRequestedAt,completedAt,' +
  'failureReason,captureBackend,captureDevice,captureInterfaceId,captureFormat,captureSampleRate,captureChannels,' +
  'durationSeconds,outputCodec,outputBitrateKbps,outputVbr,outputFileName'

test('the export has every job that the filters let through, newest first, and a name of its own', async () => {
  const k = kit()
  const t = takes(k)
  t.recording('r1')
  for (let i = 0; i < 450; i++)
    t.job(`j${i}`, 'r1', {
      createdAt: `2026-01-01T00:00:00.${String(i).padStart(3, '0')}Z`,
      status: i % 2 ? 'failed' : 'completed',
    })
  const admin = k.as('admin')
  const answer = await admin.get('/recording-jobs/export')
  assert.equal(answer.headers.get('content-type'), 'text/csv; charset=utf-8')
  assert.equal(
    answer.headers.get('content-disposition'),
    `attachment; filename="svc-recording-jobs-${k.now().replaceAll(':', '-')}.csv"`,
  )
  const lines = answer.text.split('\n')
  assert.deepEqual([lines.length, lines[0]], [451, HEADER])
  assert.deepEqual([lines[1]?.split(',')[0], lines.at(-1)?.split(',')[0]], ['j449', 'j0'])
  assert.equal((await admin.get('/recording-jobs/export?status=failed')).text.split('\n').length, 226)
  assert.equal((await admin.get('/recording-jobs/export?status=leased')).status, 400)
  await k.close()
})

test('chosen jobs come in the order they were asked for, once each; what cannot be seen is refused', async () => {
  const k = kit()
  const t = takes(k)
  t.recording('r1')
  t.node('n2', 'South')
  t.recording('r2', { nodeId: 'n2' })
  t.job('a', 'r1', { failureReason: '=cmd()', status: 'failed' })
  t.job('b', 'r1', { claimedBy: 'x, "y"' })
  t.job('c', 'r2', { nodeId: 'n2' })
  const post = (jobIds: unknown, principal = k.as('admin')) => principal.post('/recording-jobs/export', { jobIds })
  const lines = (await post(['b', 'a', 'b'])).text.split('\n')
  assert.equal(lines.length, 3)
  assert.ok(lines[1]?.startsWith('b,r1,n1,completed,"x, ""y"""'))
  assert.ok(lines[2]?.includes(`,'=cmd(),`))
  const south = k.person('south', ['viewer'], [['site', 'South']])
  assert.equal((await post(['c'], south)).status, 200)
  const refused = await post(['c', 'a'], south)
  assert.equal(refused.status, 404)
  assert.equal((await south.get('/recording-jobs/export')).text.split('\n').length, 2)
  assert.equal((await post([])).status, 400)
  await k.close()
})
