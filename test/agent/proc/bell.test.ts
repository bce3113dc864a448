import { test } from 'node:test'
import { createBell } from '../../../src/agent/proc/bell.ts'

test('a bell ends the wait, also when it rang before', async () => {
  const bell = createBell()
  bell.ring()
  await bell.wait()
  const waiting = bell.wait(60_000)
  bell.ring()
  await waiting
  await bell.wait(1)
})
