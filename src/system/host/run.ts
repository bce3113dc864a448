// Every program that this one starts is started here: killed with its signal, its pipes read, its end told.
import { spawn } from 'node:child_process'
import * as os from 'node:os'
import type { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { UserError } from '../../kernel/fail.ts'
import { faultWords } from '../../kernel/words.ts'

interface StartOptions {
  /** Lets everything else on this machine go first. */
  background?: boolean
  cwd?: string
  /** Default: that of this program, in the language whose words we read. */
  env?: NodeJS.ProcessEnv | undefined
  /** What the program has as descriptors 3 and up: open files of ours, or pipes. */
  more?: readonly (number | 'pipe')[]
  /** Aborted: the program is killed, and its end is the reason. */
  signal?: AbortSignal | undefined
  stdin?: 'ignore' | 'pipe'
}

interface End {
  /** null when a signal ended it. */
  code: number | null
  signal: NodeJS.Signals | null
}

export interface Program {
  /** Once its pipes are closed as well. Rejects with NotStarted, or why it was killed. */
  readonly ended: Promise<End>
  /** Once the process is gone, even if another one holds its pipes open. Rejects as `ended` does. */
  readonly gone: Promise<End>
  /** With a reason, that is what `ended` and `gone` reject with. */
  kill(reason?: unknown): void
  /** Descriptors from 3 on. */
  readonly more: readonly Readable[]
  readonly stderr: Readable
  /** Only where it was asked for. A program that ends before it has read everything tells so by its exit code. */
  readonly stdin: Writable
  readonly stdout: Readable
  /** Asks it to end. */
  terminate(): void
}

/** The program could not be started at all: absent, not executable, no memory. */
export class NotStarted extends UserError {}

/** Starts a program. Throws the signal's reason when it is aborted already. */
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
    // Whoever started it looks at one of the two.
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

/** Lets everything else go first. `pid` 0: the calling thread, as Linux has it. */
export function lowerPriority(pid: number): void {
  try {
    os.setPriority(pid, os.constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // Gone already, or not allowed: only a courtesy.
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
  /** Goes to its standard input: the way for secrets, which are never arguments. */
  input?: string | Readable
  /** Characters kept of each stream; what comes after is read and dropped. Default 65536. */
  maxOutput?: number
  /** Told every piece of output as it comes, also what is beyond `maxOutput`. */
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
 * Runs a program to its end, and resolves with how it ended, whatever the exit code.
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
  // A grandchild may hold the pipes open for ever; the program itself is what is waited for.
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
