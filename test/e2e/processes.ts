// What the kernel says of running programs.
import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'

const CLOCK_TICKS = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))

const words = (file: string): string[] => {
  try {
    return fs.readFileSync(file, 'utf8').split(/\s+/).filter(Boolean)
  } catch {
    return [] // it ended this moment
  }
}

const entries = (dir: string): string[] => {
  try {
    return fs.readdirSync(dir)
  } catch {
    return []
  }
}

/** Programs that a process started and that still run: all, or those of one name. */
export function childrenOf(pid: number, name?: string): number[] {
  const children = entries(`/proc/${pid}/task`).flatMap((task) => words(`/proc/${pid}/task/${task}/children`))
  const named = children.filter((child) => name === undefined || words(`/proc/${child}/comm`)[0] === name)
  return named.map(Number)
}

/** The command line of a process; '' when it has ended. */
export const commandOf = (pid: number): string => words(`/proc/${pid}/cmdline`).join(' ').replaceAll('\0', ' ')

/** User and system time of a process, seconds; with that of its ended children, if wanted. */
export function cpuSeconds(pid: number, children = false): number {
  const stat = words(`/proc/${pid}/stat`).join(' ').split(') ')[1]?.split(' ') ?? []
  const fields = children ? [11, 12, 13, 14] : [11, 12]
  return fields.reduce((sum, field) => sum + Number(stat[field] ?? 0), 0) / CLOCK_TICKS
}

export const openFiles = (pid: number): number => entries(`/proc/${pid}/fd`).length
export const threads = (pid: number): number => entries(`/proc/${pid}/task`).length

/** First in line for the processor where this user may have that: then what stands for a card runs true beside other work. */
export function punctual(): string[] {
  try {
    execFileSync('chrt', ['-f', '20', 'true'], { stdio: 'ignore' })
    return ['chrt', '-f', '20']
  } catch {
    return []
  }
}
