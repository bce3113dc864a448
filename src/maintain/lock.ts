// One maintenance at a time. The kernel takes the lock back with the child that holds it, however we end.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Ended } from './end.ts'

const TAKEN = 75

/**
 * Holds `file` until `release` is called or this process is gone. flock(1) holds it for a `cat` that lives as long as our
 * end of its input is open; in a session of its own, so that Ctrl-C does not take the lock from under the work.
 * @throws Ended when another process has it, or flock cannot be run
 */
export async function lock(file: string): Promise<{ release: () => void }> {
  const args = ['--nonblock', '--conflict-exit-code', String(TAKEN), '--close', file, 'cat']
  const holder = spawn('flock', args, { detached: true, stdio: ['pipe', 'pipe', 'ignore'] })
  holder.stdin.on('error', () => {}) // it ended: the exit code says why
  holder.stdin.write('held\n')
  const [held] = await Promise.race([once(holder.stdout, 'data'), once(holder, 'close'), once(holder, 'error')])
  if (Buffer.isBuffer(held)) return { release: () => void holder.stdin.end() }
  if (held === TAKEN) throw new Ended('locked', 'Another maintenance of this box is under way.')
  throw new Ended('refused', `The lock ${file} cannot be taken: flock ended with ${held}.`)
}
