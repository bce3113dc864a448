import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NotStarted, run } from '../../../src/system/host/run.ts'

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

test('input reaches the program, and one that does not read it ends all the same', async () => {
  const read = await run('sh', ['-c', 'cat'], { input: 'a secret\n' })
  assert.equal(read.stdout, 'a secret\n')
  const deaf = await run('true', [], { input: 'x'.repeat(1_000_000) })
  assert.equal(deaf.code, 0)
})

test('every piece of output is told while the program runs', async () => {
  const pieces: string[] = []
  const told = (piece: string, stream: 'stdout' | 'stderr') => void pieces.push(`${stream} ${piece}`)
  await run('sh', ['-c', 'echo one; sleep 0.2; echo two >&2'], { onOutput: told })
  assert.deepEqual(pieces, ['stdout one\n', 'stderr two\n'])
})
