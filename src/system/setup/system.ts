// Runs the programs of the system; a failure quotes the program and its output.

import * as fs from 'node:fs'
import * as path from 'node:path'
import { UserError } from '../../kernel/fail.ts'
import { type RunOptions, type RunResult, run } from '../host/run.ts'
import { toolEnv } from './config.ts'

const MINUTE_MS = 60_000
/** The last lines of a program's output, for an error message. */
export const lastWords = ({ stderr, stdout }: Pick<RunResult, 'stderr' | 'stdout'>): string =>
  (stderr.trim() || stdout.trim()).split('\n').slice(-3).join(' ').slice(-600) || 'no output'

/** Runs a program that has to succeed; returns its output. @throws UserError quoting it; NotStarted when it is missing */
export async function tool(command: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  const result = await run(command, args, {
    timeoutMs: 5 * MINUTE_MS,
    env: toolEnv(),
    ...options,
  })
  if (result.code !== 0) throw new UserError(`${[command, ...args].join(' ')} failed: ${lastWords(result)}`)
  return result.stdout
}

const answers = async (command: string, args: string[]): Promise<boolean> => (await run(command, args)).code === 0

export const userExists = (name: string): Promise<boolean> => answers('getent', ['passwd', name])
export const groupExists = (name: string): Promise<boolean> => answers('getent', ['group', name])

const SYSTEM_UNITS = ['/usr/lib/systemd/system', '/lib/systemd/system']
/** Whether this unit belongs to the Debian package. */
export const packaged = (unit: string): boolean => SYSTEM_UNITS.some((dir) => fs.existsSync(path.join(dir, unit)))
/** Whether the unit file exists. */
export const known = (unit: string): boolean => packaged(unit) || fs.existsSync(path.join('/etc/systemd/system', unit))

export const systemctl = (...args: string[]): Promise<string> => tool('systemctl', args, { timeoutMs: 3 * MINUTE_MS })

/** Lifts the start limit of a service that failed often. Fails harmlessly for one that systemd has not loaded. */
export const resetFailed = async (unit: string): Promise<void> => void (await run('systemctl', ['reset-failed', unit]))

interface UnitState {
  active: boolean
  enabled: boolean
}

/** A unit systemd does not know is neither active nor enabled. */
export async function unitState(unit: string): Promise<UnitState> {
  const state = async (verb: string) => (await run('systemctl', [verb, '--quiet', unit])).code === 0
  return { active: await state('is-active'), enabled: await state('is-enabled') }
}

const DIRS = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin']
/** Whether a program is in one of the system's directories. */
export const installed = (program: string): boolean => DIRS.some((dir) => fs.existsSync(path.join(dir, program)))
