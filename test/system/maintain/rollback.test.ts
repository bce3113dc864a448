import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rolledBack } from '../../../src/system/maintain/rollback.rules.ts'
import { changeOrRollBack } from '../../../src/system/maintain/rollback.ts'
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

type Step = 'back' | 'keep' | 'on' | 'replace' | 'restart' | 'untilOnline' | 'untilOnlineAgain'

/** A change whose named steps fail; what was done, and the exit code. */
async function changed(...failing: Step[]) {
  const done: Step[] = []
  const step = (name: Step) => async () => {
    done.push(name)
    if (failing.includes(name)) throw Object.assign(new Error('ENOSPC: no space left'), { code: 'ENOSPC' })
    return undefined
  }
  const way = { back: step('back'), before: '1', keep: step('keep'), on: step('on'), what: '2' }
  const service = {
    replace: step('replace'),
    restart: step('restart'),
    untilOnline: step('untilOnline'),
    untilOnlineAgain: step('untilOnlineAgain'),
  }
  const exit = await changeOrRollBack({ say: () => {} }, way, service).then(
    () => MAINTAIN_EXIT.done,
    (e) => e.exitCode,
  )
  return [done.join(' '), exit]
}

test('a change that proves itself is kept', async () => {
  assert.deepEqual(await changed(), ['on restart untilOnline keep', MAINTAIN_EXIT.done])
})

for (const [failing, done] of [
  ['on', 'on'],
  ['restart', 'on restart'],
  ['untilOnline', 'on restart untilOnline'],
  ['keep', 'on restart untilOnline keep'],
] as const) {
  test(`after a failure in "${failing}" the box is put back and seen to run again`, async () => {
    const back = `${done} back replace untilOnlineAgain`
    assert.deepEqual(await changed(failing), [back, MAINTAIN_EXIT.failed])
  })

  test(`a box that cannot be put back after a failure in "${failing}" needs attention`, async () => {
    assert.deepEqual(await changed(failing, 'back'), [`${done} back`, MAINTAIN_EXIT.broken])
  })
}
