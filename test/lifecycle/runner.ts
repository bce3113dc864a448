// A runner as a program of its own.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { executable } from '../kit/executable.ts'

const program = await executable()

export interface RunningProgram {
  child: ChildProcess
  /** Sends the signal; resolves to how it ended. */
  end(signal: NodeJS.Signals): Promise<[number | null, NodeJS.Signals | null]>
  said(): string
  url: string
}

/** Resolves when it listens, or when it has ended: then `url` is empty. */
export async function runnerProgram(env: Record<string, string>): Promise<RunningProgram> {
  const child = spawn(program, ['lifecycle'], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  const exited = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>
  const lines = createInterface(child.stdout)
  const [first] = await Promise.race([once(lines, 'line'), exited.then(() => [''])])
  return {
    child,
    async end(signal) {
      child.kill(signal)
      return await exited
    },
    said: () => said,
    url: first ? JSON.parse(first).url : '',
  }
}
