import { type ChildProcess, spawn } from 'node:child_process'
import { faultWords } from '../../kernel/words.ts'
import type { Source, SourceEnd } from './source.ts'

const STDERR_KEPT = 8192
/** A recorder that ignores the polite signal for this long is killed. */
const KILL_AFTER_MS = 2000

/** A capture program writing raw PCM to its stdout. */
export function childSource(command: string, args: string[], env: NodeJS.ProcessEnv): Source {
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let text = ''
  let stopped = false
  let killer: NodeJS.Timeout | undefined
  child.stderr.setEncoding('utf8').on('data', (more: string) => {
    text = (text + more).slice(-STDERR_KEPT)
    source.onWords?.(more)
  })
  const ended = exit(child).then(({ code, signal, error }): SourceEnd => {
    clearTimeout(killer)
    return { code, stderr: (text + error).trim(), stopped, ...(signal ? { signal } : {}) }
  })
  const source: Source = {
    ended,
    kill: () => void child.kill('SIGKILL'),
    pcm: child.stdout,
    stderr: () => text,
    stop: () => {
      if (stopped) return
      stopped = true
      child.kill('SIGTERM')
      killer = setTimeout(() => child.kill('SIGKILL'), KILL_AFTER_MS)
    },
  }
  return source
}

interface Exit {
  code: number | undefined
  error: string
  signal: string | undefined
}

/** `exit`, not `close`: a grandchild that holds the pipe open must not hide that the recorder is gone. */
function exit(child: ChildProcess): Promise<Exit> {
  return new Promise((resolve) => {
    child.once('error', (e) => resolve({ code: undefined, error: faultWords(e), signal: undefined }))
    child.once('exit', (code, signal) => resolve({ code: code ?? undefined, error: '', signal: signal ?? undefined }))
  })
}

/** Runs a short program and returns what it said, stdout and stderr together; never rejects. */
export function ask(command: string, args: string[], env: NodeJS.ProcessEnv, timeoutMs: number): Promise<string> {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
    })
    let text = ''
    // Only the first words matter; the rest may be audio.
    const hear = (more: Buffer) => {
      if (text.length < STDERR_KEPT) text += more.toString('latin1')
    }
    child.stdout.on('data', hear)
    child.stderr.on('data', hear)
    child.once('error', (e) => resolve(faultWords(e)))
    child.once('close', () => resolve(text))
  })
}
