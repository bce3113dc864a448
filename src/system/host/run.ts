// Starts all child processes.
import { spawn } from 'node:child_process'
import * as os from 'node:os'
import type { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { UserError } from '../../kernel/fail.ts'
import { faultWords } from '../../kernel/words.ts'

interface StartOptions {
  /** Runs it with low priority. */
  background?: boolean
  cwd?: string
  /** Default: that of this program, in English, because output is parsed. */
  env?: NodeJS.ProcessEnv | undefined
  /** Descriptors 3 and up: open files of ours, or pipes. */
  more?: readonly (number | 'pipe')[]
  /** When aborted, the program is killed, and `ended` and `gone` reject with the reason. */
  signal?: AbortSignal | undefined
  stdin?: 'ignore' | 'pipe'
}

interface End {
  /** null when a signal ended it. */
  code: number | null
  signal: NodeJS.Signals | null
}

export interface Program {
  /** Resolves once its pipes are closed as well. Rejects with NotStarted, or why it was killed. */
  readonly ended: Promise<End>
  /** Resolves once the process is gone, even if another one holds its pipes open. Rejects as `ended` does. */
  readonly gone: Promise<End>
  /** With a reason, that is what `ended` and `gone` reject with. */
  kill(reason?: unknown): void
  /** Descriptors from 3 on. */
  readonly more: readonly Readable[]
  readonly stderr: Readable
  /** Only with `stdin: 'pipe'`. Errors are ignored: a program that did not read everything shows it by its exit code. */
  readonly stdin: Writable
  readonly stdout: Readable
  /** Sends SIGTERM. */
  terminate(): void
}

/** The program could not be started: missing, not executable, no memory. */
export class NotStarted extends UserError {}

/** Starts a program. Throws the signal's reason when it is already aborted. */
export function start(command: string, args: readonly string[], options: StartOptions = {}): Program {
  const { background, cwd, env = { ...process.env, LC_ALL: 'C' }, more = [], signal, stdin = 'ignore' } = options
  signal?.throwIfAborted()
  const child = spawn(command, args, { cwd, env, stdio: [stdin, 'pipe', 'pipe', ...more] })
  if (background && child.pid !== undefined) lowerPriority(child.pid)
  child.stdin?.on('error', () => {})
  let killed: { reason: unknown } | undefined
  const kill = (reason?: unknown) => {
    if (reason !== undefined) killed ??= { reason }
    child.kill('SIGKILL')
  }
  const abort = () => kill(signal?.reason)
  signal?.addEventListener('abort', abort, { once: true })
  const until = (event: 'close' | 'exit') => {
    const { promise, reject, resolve } = Promise.withResolvers<End>()
    child.once('error', (e) => reject(new NotStarted(faultWords(e))))
    child.once(event, (code, ended) => (killed ? reject(killed.reason) : resolve({ code, signal: ended })))
    // The caller may use only one of the two promises.
    promise.catch(() => {}).finally(() => signal?.removeEventListener('abort', abort))
    return promise
  }
  return {
    ended: until('close'),
    gone: until('exit'),
    kill,
    more: child.stdio.slice(3) as Readable[],
    stderr: child.stderr as Readable,
    stdin: child.stdin as Writable,
    stdout: child.stdout as Readable,
    terminate: () => void child.kill('SIGTERM'),
  }
}

/** Low priority. `pid` 0: the calling thread (on Linux). */
export function lowerPriority(pid: number): void {
  try {
    os.setPriority(pid, os.constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // Gone already, or not allowed: it is optional.
  }
}

/** The first `kept` characters of a stream; the rest is read and dropped. */
export function firstWords(stream: Readable, kept: number): () => string {
  let text = ''
  stream.setEncoding('utf8').on('data', (more: string) => {
    if (text.length < kept) text = (text + more).slice(0, kept)
  })
  return () => text
}

/** The last `kept` characters of a stream. */
export function lastWords(stream: Readable, kept: number): () => string {
  let text = ''
  stream.setEncoding('utf8').on('data', (more: string) => {
    text = (text + more).slice(-kept)
  })
  return () => text
}

export interface RunOptions extends Omit<StartOptions, 'stdin'> {
  /** For its standard input. Secrets go here, never into arguments. */
  input?: string | Readable
  /** Characters kept of each stream; the rest is dropped. Default 65536. */
  maxOutput?: number
  /** Called with all output as it arrives, also beyond `maxOutput`. */
  onOutput?: (piece: string, stream: 'stdout' | 'stderr') => void
  /** Default 10 s. Afterwards the program is killed. */
  timeoutMs?: number
}

export interface RunResult extends End {
  stderr: string
  stdout: string
  timedOut: boolean
}

function feed(stdin: Writable, input: string | Readable): void {
  if (typeof input === 'string') stdin.end(input)
  else pipeline(input, stdin).catch(() => {})
}

/**
 * Runs a program to its end; resolves whatever the exit code.
 * Throws NotStarted, or the signal's reason when aborted; in both cases no child is left.
 */
export async function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<RunResult> {
  const { input, maxOutput = 65_536, onOutput, signal, timeoutMs = 10_000 } = options
  const program = start(command, args, { ...options, stdin: input === undefined ? 'ignore' : 'pipe' })
  const [stdout, stderr] = [firstWords(program.stdout, maxOutput), firstWords(program.stderr, maxOutput)]
  for (const stream of ['stdout', 'stderr'] as const)
    program[stream].on('data', (piece: string) => onOutput?.(piece, stream))
  if (input !== undefined) feed(program.stdin, input)
  let timedOut = false
  // A grandchild may keep the pipes open for ever; only the program itself is waited for.
  const letGo = () => {
    program.stdout.destroy()
    program.stderr.destroy()
  }
  const timer = setTimeout(() => {
    timedOut = true
    program.kill()
    letGo()
  }, timeoutMs)
  signal?.addEventListener('abort', letGo, { once: true })
  try {
    return { ...(await program.ended), stderr: stderr(), stdout: stdout(), timedOut }
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', letGo)
  }
}
