import assert from 'node:assert/strict'
import { test } from 'node:test'
import { backoffSeconds, headerReason, uploadVerdict } from '../../../src/agent/jobs/backoff.rules.ts'

test('pauses double up to the longest, and are shortened by up to a half', () => {
  const at = (attempt: number, random = 0) => backoffSeconds(attempt, 1, 60, random)
  assert.deepEqual(
    [1, 2, 3, 6, 7, 8, 5000].map((n) => at(n)),
    [1, 2, 4, 32, 60, 60, 60],
  )
  assert.equal(at(3, 1), 2)
})

test('only what no repetition can change is final', () => {
  for (const [status, reason, transient, verdict] of [
    [undefined, undefined, true, 'retry'],
    [503, undefined, true, 'retry'],
    [401, undefined, false, 'retry_slowly'],
    [403, 'node_scope_denied', false, 'retry_slowly'],
    [400, 'upload_interrupted', false, 'retry'],
    [409, 'upload_in_progress', false, 'retry'],
    [409, 'superseded_by_retry', false, 'final'],
    [409, 'recording_job_not_completable', false, 'final'],
    [413, 'file_too_large', false, 'final'],
    [404, 'recording_not_found', false, 'final'],
    [400, 'digest_mismatch', false, 'retry_few'],
    [409, undefined, false, 'retry_few'],
  ] as const)
    assert.equal(uploadVerdict(status, reason, transient), verdict, `${status} ${reason}`)
})

test('a reason fits into a header', () => {
  assert.equal(headerReason('  größer\r\nals  '), 'gr er als')
  assert.equal(headerReason('x'.repeat(500)).length, 200)
})
