import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import * as path from 'node:path'
import { test } from 'node:test'
import { UserError } from '../../../src/kernel/fail.ts'
import { lock } from '../../../src/system/maintain/maintain.ts'
import { tempDir } from '../../agent/server.ts'
import { until } from '../../kit/whole.ts'

const module_ = path.resolve(import.meta.dirname, '../../../src/system/maintain/maintain.ts')
const taken = (e: unknown): boolean => e instanceof UserError && e.exitCode === 4
const free = (file: string) => async () => {
  const mine = await lock(file).catch((e) => (taken(e) ? undefined : Promise.reject(e)))
  mine?.release()
  return mine !== undefined
}

test('one at a time, and the next when it is released', async (t) => {
  const file = path.join(tempDir(t), 'lock')
  const first = await lock(file)
  await assert.rejects(lock(file), taken)
  first.release()
  await until('the lock', free(file))
})

test('the lock of a killed process is free', async (t) => {
  const file = path.join(tempDir(t), 'lock')
  const code = `import { lock } from '${module_}'; await lock('${file}'); console.log('held'); setInterval(() => {}, 1e6)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  await assert.rejects(lock(file), taken)
  child.kill('SIGKILL')
  await once(child, 'close')
  await until('the lock', free(file))
})

test('where it cannot be taken, that is said', async (t) => {
  await assert.rejects(
    lock(path.join(tempDir(t), 'none', 'lock')),
    (e: UserError) => e.exitCode === 5 && /cannot be taken/.test(e.message),
  )
})
