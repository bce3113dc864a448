// The programs a measurement starts: the built executable and the yardstick, each a process of its own.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { createInterface } from 'node:readline'

export interface Running {
  pid: number
  url: string
  /** Milliseconds from the start of the process to the line that tells its address. */
  listenedAfterMs: number
  stop(): Promise<void>
}

export interface Start {
  args: string[]
  /** Core to stay on. */
  core?: number
  env?: Record<string, string>
  program: string
}

/** Starts a program with an environment of its own and a log file; it must end by itself at SIGTERM. */
export function begin({ args, core, env, program }: Start, log: string): ChildProcess {
  const command = core === undefined ? [program, ...args] : ['taskset', '-c', String(core), program, ...args]
  const [file = '', ...rest] = command
  const to = fs.openSync(log, 'a')
  const child = spawn(file, rest, { env: { PATH: process.env.PATH, ...env }, stdio: ['ignore', 'pipe', to] })
  fs.closeSync(to)
  return child
}

export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const closed = once(child, 'close')
  child.kill('SIGTERM')
  await closed
}

/** Starts a server and waits for its line with a `url`. @throws Error with the end of its log when it dies instead. */
export async function listening(start: Start, dir: string): Promise<Running> {
  const log = path.join(dir, 'server.log')
  const from = performance.now()
  const child = begin(start, log)
  const lines = createInterface({ input: child.stdout as NonNullable<typeof child.stdout> })
  const url = await new Promise<string>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', () => reject(new Error(`the server ended: ${fs.readFileSync(log, 'utf8').slice(-2000)}`)))
    lines.on('line', (line) => {
      const found = /"url":"([^"]+)"/.exec(line)?.[1]
      if (found) resolve(found)
    })
  })
  return { pid: child.pid as number, url, listenedAfterMs: performance.now() - from, stop: () => end(child) }
}

/** Keeps this process, the load generator, off the core of the servers. */
export function stayOn(core: number | 'any'): void {
  execFileSync('taskset', ['-a', '-c', '-p', core === 'any' ? '0-4095' : String(core), String(process.pid)])
}

const CLOCK_TICKS = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))

/** User and system time of a process, ms. */
export function cpuMs(pid: number): number {
  const fields = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / CLOCK_TICKS
}

const field = (file: string, name: string): number => {
  const found = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(fs.readFileSync(file, 'utf8'))
  return Number(found?.[1]) / 1024
}

/** MiB of a process, as the kernel counts them. */
export const memory = {
  resident: (pid: number): number => field(`/proc/${pid}/status`, 'VmRSS'),
  /** Highest resident size since the last `forgetPeak`. */
  peak: (pid: number): number => field(`/proc/${pid}/status`, 'VmHWM'),
  forgetPeak: (pid: number): void => fs.writeFileSync(`/proc/${pid}/clear_refs`, '5'),
  /** What goes back when the process ends: no shared file pages. */
  private: (pid: number): number =>
    field(`/proc/${pid}/smaps_rollup`, 'Private_Clean') + field(`/proc/${pid}/smaps_rollup`, 'Private_Dirty'),
}
