import { spawn } from 'node:child_process'
import * as os from 'node:os'
import { bounded, notStarted, startFault, TOOL_ENV } from '../../../system/host/ffmpeg.ts'

interface Run {
  /** Inputs as `input` makes them, then what becomes of them. */
  args: readonly string[]
  command: string
  signal: AbortSignal
  timeoutMs: number
}

const MOST_SAID = 2000
const BACKGROUND = 10
const QUIETLY = ['-nostdin', '-hide_banner', '-loglevel', 'error', '-y']

/**
 * Runs ffmpeg behind everything else on the machine: no terminal, bounded memory, nothing of our environment.
 * @throws Error with what it said when it fails, is not there, takes too long, or is told to end.
 */
export async function ffmpeg({ args, command, signal, timeoutMs }: Run): Promise<void> {
  signal.throwIfAborted()
  const ended = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
  const child = spawn(...bounded(command, [...QUIETLY, ...args]), {
    env: TOOL_ENV,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const kill = () => child.kill('SIGKILL')
  ended.addEventListener('abort', kill, { once: true })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-MOST_SAID)
  })
  const { promise, resolve, reject } = Promise.withResolvers<number | null>()
  child.once('error', reject).once('close', resolve)
  if (child.pid !== undefined) gently(child.pid)
  try {
    const code = await promise
    signal.throwIfAborted()
    if (ended.aborted) throw new Error(`ffmpeg did not end within ${Math.round(timeoutMs / 1000)} s`)
    if (notStarted(code)) throw startFault(command)
    if (code !== 0) throw new Error(`ffmpeg ended with ${code ?? 'a signal'}: ${said.trim() || 'it said nothing'}`)
  } finally {
    ended.removeEventListener('abort', kill)
  }
}

function gently(pid: number): void {
  try {
    os.setPriority(pid, BACKGROUND)
  } catch {
    // It has ended already: how it ended is what counts.
  }
}
