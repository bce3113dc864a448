import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { test } from 'node:test'
import { DeviceWatch, ECHOES } from '../../../src/agent/inventory/watch.ts'
import { until } from '../jobs/kit.ts'
import { tempDir } from '../server.ts'

test('a card that comes or goes is told at once and a few times more, also when the list itself comes and goes', async (t) => {
  const file = path.join(tempDir(t), 'pcm')
  const watch = new DeviceWatch({ everyMs: 5, file })
  let told = 0
  watch.onChange(() => told++)
  watch.start()
  t.after(() => watch.stop())
  const changes = [
    () => fs.writeFileSync(file, '00-00: Desk : Desk : capture 1\n'),
    () => fs.writeFileSync(`${file}.new`, '00-00: Desk : Desk : capture 1\n01-00: Mic : Mic : capture 1\n'),
    () => fs.renameSync(`${file}.new`, file),
    () => fs.rmSync(file),
  ]
  const expected = [1, 1, 2, 3].map((n) => n * (1 + ECHOES))
  for (const [n, change] of changes.entries()) {
    change()
    await until(() => told >= (expected[n] as number))
    assert.equal(told, expected[n])
  }
})

test('nobody is told after the stop', async (t) => {
  const file = path.join(tempDir(t), 'pcm')
  const watch = new DeviceWatch({ everyMs: 1, file })
  watch.onChange(() => assert.fail('told after the stop'))
  watch.start()
  await watch.stop()
  fs.writeFileSync(file, '00-00: Desk : Desk : capture 1\n')
})
