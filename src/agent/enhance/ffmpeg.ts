// One ffmpeg of the chain: killed with its signal, in its own words when it fails.
import { spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { faultWords } from '../../kernel/words.ts'
import { bounded, notStarted, startFault } from '../../system/host/ffmpeg.ts'
import { badEnd, lastWords, progressOf } from '../proc/ffmpeg.ts'
import { lowerPriority } from '../proc/priority.ts'

export interface FfmpegOptions {
  command: string
  env: NodeJS.ProcessEnv
  /** Seconds of audio written so far. */
  onSeconds?: (seconds: number) => void
  signal: AbortSignal
}

interface Ffmpeg {
  /** Resolves when it ended well: what it said, and the seconds of audio it wrote. No child is left either way. */
  readonly ended: Promise<{ said: string; seconds: number }>
  /** Of `pipe:0`, when the arguments read it. */
  readonly input: Writable
  /** Of `pipe:1`. */
  readonly output: Readable
}

/** Enough for the summary of a measurement, which comes last. */
const KEPT = 4000
const QUOTED = 300
/** One that writes nothing more for so long hangs. A denoiser on a busy box is slow, not silent. */
const HANGS_MS = 600_000
const PROGRESS = ['-hide_banner', '-nostats', '-progress', 'pipe:3']

/** `args`: inputs as `input` makes them, then what becomes of them. */
export function startFfmpeg(args: string[], { command, env, onSeconds, signal }: FfmpegOptions): Ffmpeg {
  const child = spawn(...bounded(command, [...PROGRESS, ...args]), { env, stdio: ['pipe', 'pipe', 'pipe', 'pipe'] })
  const kill = () => void child.kill('SIGKILL')
  signal.addEventListener('abort', kill, { once: true })
  if (signal.aborted) kill()
  if (child.pid !== undefined) lowerPriority(child.pid)
  // What it has not read when it ends is told by how it ended.
  child.stdin.on('error', () => {})
  const said = lastWords(child.stderr, KEPT)
  let hung = false
  const stalled = setTimeout(() => {
    hung = true
    kill()
  }, HANGS_MS)
  const seconds = progressOf(child.stdio[3] as Readable, (now, before) => {
    if (now > before) stalled.refresh()
    onSeconds?.(now)
  })
  const { promise, reject, resolve } = Promise.withResolvers<{ said: string; seconds: number }>()
  child.once('error', (e) => reject(new Error(`${command} could not be started: ${faultWords(e)}`)))
  child.once('close', (code, killed) => {
    clearTimeout(stalled)
    signal.removeEventListener('abort', kill)
    if (signal.aborted) reject(signal.reason)
    else if (code === 0) resolve({ said: said(), seconds: seconds() })
    else if (hung) reject(new Error(`${command} made no progress for ${HANGS_MS / 1000} s`))
    else if (notStarted(code)) reject(startFault(command))
    else reject(badEnd(command, code ?? killed, said(), QUOTED))
  })
  return { ended: promise, input: child.stdin, output: child.stdout }
}

/** Runs one to its end; nothing is given to it and nothing read from it. */
export function runFfmpeg(args: string[], options: FfmpegOptions): Ffmpeg['ended'] {
  const { ended, input, output } = startFfmpeg(['-nostdin', ...args], options)
  input.end()
  output.resume()
  return ended
}
