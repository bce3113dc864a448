import assert from 'node:assert/strict'
import { test } from 'node:test'
import { campaign, table } from './hostile.ts'

/** A row of the audit with its indexes, and pages of the log that are written again: far more than one takes. */
const BYTES_PER_REQUEST = 8 * 1024
const LOG_BYTES = 16 * 2 ** 20
/** What the allocator may hold more or less at one moment or another. */
const SLACK_BYTES = 48 * 2 ** 20
/** At most: a decision and an outcome. */
const ROWS_PER_REQUEST = 2

test('hostile callers cost no honest agent a heartbeat, and what they leave on the disk and in memory is bounded', async (t) => {
  const agents = 40
  const told = await campaign({ agents, attacks: 2, everyMs: 1000, seconds: 5 })
  for (const line of table(told)) t.diagnostic(line)
  const [alone, , once, , after] = told.phases
  assert.ok(alone && once && after)
  for (const { beats } of told.phases) assert.deepEqual(Object.keys(beats.statuses), ['202'])
  const struck = Object.values(told.struck).reduce((sum, n) => sum + n, 0)
  assert.ok(struck > 0)
  // The first heartbeats and the looks of the test itself leave rows too.
  assert.ok(after.audit - alone.audit <= struck * ROWS_PER_REQUEST + 2 * agents, `${after.audit - alone.audit} rows`)
  const grown = after.diskBytes - alone.diskBytes
  assert.ok(grown <= struck * BYTES_PER_REQUEST + LOG_BYTES, `${grown} bytes for ${struck} requests`)
  // The first fills caches; the second finds them full.
  const more = after.rssBytes - once.rssBytes
  assert.ok(more <= SLACK_BYTES, `${more} bytes more after the second attack`)
  // Streams beyond the person's are refused, or end at once.
  assert.ok((told.struck['stream 429'] ?? 0) > 0)
  assert.ok((told.struck['node inventory 202'] ?? 0) <= 24)
})
