import { run, start } from '../../system/host/run.ts'
import type { Source, SourceEnd } from './source.ts'

const STDERR_KEPT = 8192
/** A recorder that ignores the polite signal for this long is killed. */
const KILL_AFTER_MS = 2000

/** A capture program writing raw PCM to its stdout. */
export function childSource(command: string, args: string[], env: NodeJS.ProcessEnv): Source {
  const program = start(command, args, { env })
  let text = ''
  let stopped = false
  let killer: NodeJS.Timeout | undefined
  program.stderr.setEncoding('utf8').on('data', (more: string) => {
    text = (text + more).slice(-STDERR_KEPT)
    source.onWords?.(more)
  })
  // Not its pipes: a grandchild that holds one open must not hide that the recorder is gone.
  const ended = program.gone.then(
    ({ code, signal }): SourceEnd => {
      clearTimeout(killer)
      return { code: code ?? undefined, stderr: text.trim(), stopped, ...(signal ? { signal } : {}) }
    },
    (e: Error): SourceEnd => ({ code: undefined, stderr: e.message, stopped }),
  )
  const source: Source = {
    ended,
    kill: () => program.kill(),
    pcm: program.stdout,
    stderr: () => text,
    stop: () => {
      if (stopped) return
      stopped = true
      program.terminate()
      killer = setTimeout(() => program.kill(), KILL_AFTER_MS)
    },
  }
  return source
}

/** Runs a short program and returns what it said, stdout and stderr together; never rejects. */
export async function ask(command: string, args: string[], env: NodeJS.ProcessEnv, timeoutMs: number): Promise<string> {
  let text = ''
  // Only the first words matter; the rest may be audio.
  const onOutput = (more: string) => {
    if (text.length < STDERR_KEPT) text += more
  }
  return await run(command, args, { env, maxOutput: 0, onOutput, timeoutMs }).then(
    () => text,
    (e: Error) => e.message,
  )
}
