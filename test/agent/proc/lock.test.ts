import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import * as path from 'node:path'
import { test } from 'node:test'
import { lockDirectory } from '../../../src/agent/proc/lock.ts'
import { UserError } from '../../../src/kernel/fail.ts'

const LOCK = path.join(import.meta.dirname, '../../../src/agent/proc/lock.ts')

test('a directory has one agent at a time; a killed one leaves it free', async (t) => {
  const dir = mkdtempSync(path.join(tmpdir(), 'roomtone-lock-'))
  t.after(() => rmSync(dir, { recursive: true }))
  const code = `const { lockDirectory } = await import(${JSON.stringify(LOCK)}); await lockDirectory(${JSON.stringify(dir)}); console.log('held'); setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'pipe', 'inherit'] })
  await new Promise((resolve) => child.stdout.once('data', resolve))
  await assert.rejects(lockDirectory(dir), UserError)
  const gone = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await gone
  const server = await lockDirectory(dir)
  await assert.rejects(lockDirectory(dir), UserError)
  server.close()
})
