import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createBell } from '../../../src/agent/proc/bell.ts'
import { NotStarted, run } from '../../../src/agent/proc/run.ts'

test('a program ends with its code and both outputs', async () => {
  const result = await run('sh', ['-c', 'echo out; echo err >&2; exit 3'])
  assert.deepEqual(result, { code: 3, signal: null, stderr: 'err\n', stdout: 'out\n', timedOut: false })
})

test('a program that is not there is told apart from one that fails', async () => {
  await assert.rejects(run('/nonexistent/program', []), NotStarted)
})

test('a program that does not end is killed at its deadline', async () => {
  const result = await run('sh', ['-c', 'echo $$; sleep 60'], { timeoutMs: 100 })
  assert.equal(result.timedOut, true)
  assert.throws(() => process.kill(Number(result.stdout), 0))
})

test('output is bounded and the rest does not block the program', async () => {
  const result = await run('sh', ['-c', 'head -c 1000000 /dev/zero'], { maxOutput: 100 })
  assert.deepEqual([result.code, result.stdout.length], [0, 100])
})

test('an aborted run rejects with the reason and leaves no child', async () => {
  const abort = new AbortController()
  const running = run('sleep', ['60'], { signal: abort.signal })
  abort.abort(new Error('enough'))
  await assert.rejects(running, /enough/)
  await assert.rejects(run('sleep', ['60'], { signal: abort.signal }), /enough/)
})

test('a bell ends the wait, also when it rang before', async () => {
  const bell = createBell()
  bell.ring()
  await bell.wait()
  const waiting = bell.wait(60_000)
  bell.ring()
  await waiting
  await bell.wait(1)
})
