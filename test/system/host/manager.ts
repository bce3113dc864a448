import { execFileSync, spawn } from 'node:child_process'
import * as path from 'node:path'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import { until } from '../../agent/jobs/kit.ts'
import { tempDir } from '../../agent/server.ts'

const present = ['systemd-notify', 'python3'].every((program) => {
  try {
    return execFileSync('sh', ['-c', `command -v ${program}`]).length > 0
  } catch {
    return false
  }
})
/** Skips a test where these are absent. */
export const managed = { skip: present ? false : 'needs systemd-notify and python3' }

/** A real datagram socket as systemd has it, and the words it got, message by message. */
export async function manager(t: TestContext): Promise<{ got: string[][]; socket: string }> {
  const socket = path.join(tempDir(t), 'notify')
  const child = spawn('python3', [path.join(import.meta.dirname, 'manager.py'), socket], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  const got: string[][] = []
  createInterface({ input: child.stdout }).on('line', (line) => got.push(JSON.parse(line)))
  await until(() => got.length === 1)
  got.length = 0
  return { got, socket }
}
