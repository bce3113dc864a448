import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { receive } from '../../../src/controller/agentapi/uploadreceiver.ts'

const dir = mkdtempSync(join(tmpdir(), 'roomtone-floor-'))
const reception = {
  cancelled: new AbortController().signal,
  file: join(dir, 'take.part'),
  maxBytes: 1e6,
  offset: 0,
  disk: { reserve: async () => {} },
}

test('a sender below the floor is cut off, and what it brought is kept for the next time', async () => {
  async function* body() {
    yield Buffer.alloc(500, 7)
    await new Promise(() => {})
  }
  const slow = receive({ ...reception, body: body(), minimumRate: { bytes: 1000, ms: 30 } })
  await assert.rejects(slow, { reason: 'upload_too_slow', status: 408 })
  assert.equal(readFileSync(reception.file).length, 500)
})

test('a sender that keeps to the floor takes as long as it needs', async () => {
  async function* body() {
    for (let n = 0; n < 50; n++) {
      await turn()
      yield Buffer.alloc(100, n)
    }
  }
  const got = await receive({ ...reception, body: body(), minimumRate: { bytes: 100, ms: 60_000 } })
  assert.equal(got.size, 5000)
  rmSync(dir, { recursive: true })
})
