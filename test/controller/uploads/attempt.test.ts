import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AttemptParts, attempt } from '../../../src/controller/uploads/attempt.ts'
import { DriverError } from '../../../src/controller/uploads/driver.ts'
import type { UploadItem } from '../../../src/wire/uploads.ts'

test('a file that the disk does not give is told as such, and is no fault of the program', async () => {
  const parts = {
    destinations: { find: () => ({ kind: 's3', status: 'ready' }), open: () => ({}) },
    drivers: { s3: () => ({}) },
    limits: { bytesPerSecond: 1, graceMs: 60_000, idleMs: 60_000 },
    // A regular file whose first bytes answer EIO.
    takes: '/proc/self',
  } as unknown as AttemptParts
  const item = { cachePath: 'mem', destinationId: 'd1', id: 'u1' } as UploadItem
  const { signal } = new AbortController()
  await assert.rejects(
    attempt(parts, item, { progress() {}, signal }),
    (e) => e instanceof DriverError && /^source_unreadable: ./.test(e.message),
  )
})
