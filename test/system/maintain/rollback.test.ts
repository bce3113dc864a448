import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rolledBack } from '../../../src/system/maintain/rollback.rules.ts'
import { MAINTAIN_EXIT } from '../../../src/wire/maintain.ts'

const FAILED = 'With 2, it was not online within 60 s.'
const ended = (worse?: Parameters<typeof rolledBack>[2]) => {
  const { exitCode, message } = rolledBack(FAILED, '1', worse)
  assert.ok(message.startsWith(`${FAILED} `))
  return [exitCode, message.slice(FAILED.length + 1)]
}

test('back in service: it failed, and the node is as it was', () => {
  assert.deepEqual(ended(), [MAINTAIN_EXIT.failed, 'The node is in service again with 1.'])
})

test('a controller that is away in the middle of it does not make a box broken that runs as before', () => {
  const [exit, words] = ended({ runs: true, words: 'it was not online within 120 s' })
  assert.equal(exit, MAINTAIN_EXIT.failed)
  assert.match(
    String(words),
    /runs again with 1, .*was not online within 120 s: check whether the controller answers\.$/,
  )
})

test('somebody has to look at a box that does not run with what it had', () => {
  const [exit, words] = ended({ runs: false, words: 'it does not start' })
  assert.equal(exit, MAINTAIN_EXIT.broken)
  assert.equal(words, 'Also with 1, it does not start: this box needs attention.')
})
