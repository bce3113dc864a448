// Runs a program to its end: bounded output, a deadline, a signal. Long-lived children (capture) own theirs elsewhere.
import { type ChildProcess, spawn } from 'node:child_process'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { UserError } from '../../kernel/fail.ts'
import { faultWords } from '../../kernel/words.ts'

export interface RunOptions {
  cwd?: string
  /** Default: this program's own. */
  env?: NodeJS.ProcessEnv
  /** Goes to its standard input: the way for secrets, which are never arguments. */
  input?: string | Readable
  /** Characters kept of each stream; what comes after is read and dropped. Default 65536. */
  maxOutput?: number
  /** Told every piece of output as it comes, also what is beyond `maxOutput`. */
  onOutput?: (piece: string, stream: 'stdout' | 'stderr') => void
  signal?: AbortSignal
  /** Default 10 s. Afterwards the child is killed. */
  timeoutMs?: number
}

export interface RunResult {
  /** null when a signal ended it. */
  code: number | null
  signal: NodeJS.Signals | null
  stderr: string
  stdout: string
  timedOut: boolean
}

/** The program could not be started at all: absent, not executable, no memory. */
export class NotStarted extends UserError {}

const collect = (child: ChildProcess, stream: 'stdout' | 'stderr', options: RunOptions): (() => string) => {
  const { maxOutput: max = 65_536, onOutput } = options
  let text = ''
  child[stream]?.setEncoding('utf8').on('data', (chunk: string) => {
    if (text.length < max) text = (text + chunk).slice(0, max)
    onOutput?.(chunk, stream)
  })
  return () => text
}

/** A program that ends before it has read everything (EPIPE) tells so by its exit code. */
function feed({ stdin }: ChildProcess, input: string | Readable | undefined): void {
  if (!stdin) return
  stdin.on('error', () => {})
  if (input === undefined || typeof input === 'string') stdin.end(input)
  else pipeline(input, stdin).catch(() => {})
}

/**
 * Resolves with how it ended, whatever the exit code.
 * Throws NotStarted, or the signal's reason when aborted; in both cases no child is left.
 */
export async function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<RunResult> {
  const { timeoutMs = 10_000, signal, cwd, input } = options
  signal?.throwIfAborted()
  return await new Promise((resolve, reject) => {
    const stdin = input === undefined ? 'ignore' : 'pipe'
    const child = spawn(command, args, { cwd, env: options.env, stdio: [stdin, 'pipe', 'pipe'] })
    const stdout = collect(child, 'stdout', options)
    const stderr = collect(child, 'stderr', options)
    feed(child, input)
    let timedOut = false
    const kill = () => {
      child.kill('SIGKILL')
      // A grandchild may hold the pipes open for ever; the child itself is what we wait for.
      child.stdout?.destroy()
      child.stderr?.destroy()
    }
    const timer = setTimeout(() => {
      timedOut = true
      kill()
    }, timeoutMs)
    signal?.addEventListener('abort', kill, { once: true })
    const done = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', kill)
    }
    child.once('error', (e) => {
      done()
      reject(new NotStarted(`${command} could not be started: ${faultWords(e)}`))
    })
    child.once('close', (code, ended) => {
      done()
      if (signal?.aborted) reject(signal.reason)
      else resolve({ code, signal: ended, stderr: stderr(), stdout: stdout(), timedOut })
    })
  })
}
