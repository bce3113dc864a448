// Shared by the admin commands: options, the controller's settings, output and exit code.

import * as fs from 'node:fs'
import * as path from 'node:path'
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import { hasCode } from '../../kernel/durable.ts'
import { misuse } from '../../kernel/fail.ts'
import { goOnAsOwnerOf } from '../../system/host/owner.ts'
import { type Config, nativeDirs, readConfigBeside } from '../config.ts'
import { Db } from '../store/db.ts'
import { loadAddon } from '../store/native.ts'

/** For the help of each command. */
export const ENVIRONMENT_HELP = `The installed controller is found automatically: run this with sudo; it continues as the owner of the data directory. For
another controller set its environment, at least SVC_DATA_DIR.`

/** The controller's files, as its settings name them. */
export interface ControllerFiles {
  addon: object | undefined
  config: Config
  database: string
  takes: string
}

interface Verb<O extends ParseArgsOptionsConfig> {
  help: string
  /** Only reads the data directory: keeps running as the caller, so that files root writes elsewhere belong to root. */
  onlyReads?: boolean
  options: O
  /** Resolves to the exit code: 0 done, 1 done with something to look at. */
  run(
    positionals: string[],
    options: Record<string, string | boolean | undefined>,
    place: ControllerFiles,
  ): Promise<number>
}

/** Runs a command. @throws UserError (exit code 2) for wrong usage, or when it cannot start. */
export async function runVerb<O extends ParseArgsOptionsConfig>(args: string[], verb: Verb<O>): Promise<number> {
  if (args.includes('--help') || args.includes('-h')) return say(verb.help)
  const { positionals, values } = parseArgs({ args, options: verb.options, allowPositionals: true })
  const config = installedConfig()
  if (!verb.onlyReads) goOnAsOwnerOf(config.SVC_DATA_DIR)
  return await verb.run(positionals, values as Record<string, string | boolean | undefined>, filesOf(config))
}

/** The settings of the installed controller, or of the one that the environment names. @throws UserError when the caller may not read them */
export function installedConfig(): Config {
  try {
    return readConfigBeside()
  } catch (e) {
    if (!hasCode(e, 'EACCES')) throw e
    throw misuse("The controller's settings cannot be read as this user: run this with sudo.")
  }
}

/** The files of the controller with these settings. */
export function filesOf(config: Config): ControllerFiles {
  return {
    addon: loadAddon(nativeDirs(config))?.binding,
    config,
    database: path.join(config.SVC_DATA_DIR, 'roomtone.db'),
    takes: config.SVC_RECORDING_CACHE_DIR,
  }
}

/** Opens the controller's database, also while the controller runs. @throws UserError when it is missing or not accessible */
export function openDatabase({ addon, config, database }: ControllerFiles): Db {
  try {
    fs.accessSync(database, fs.constants.R_OK | fs.constants.W_OK)
  } catch (e) {
    throw misuse(
      hasCode(e, 'ENOENT')
        ? `There is no database at ${database}: set SVC_DATA_DIR to the controller's data directory.`
        : `The database ${database} cannot be used as this user: run this with sudo.`,
    )
  }
  return new Db(database, addon, { replicated: config.SVC_DATABASE_REPLICATED })
}

/** Prints progress to stderr, at most one line per second. */
export function progress(): (line: string) => void {
  let last = 0
  return (line) => {
    if (performance.now() - last < 1000) return
    last = performance.now()
    process.stderr.write(`${line}\n`)
  }
}

/** Aborts at the first Ctrl-C or SIGTERM, so that what was found is still told; a second one ends the program. */
export function interruption(): { over(): void; signal: AbortSignal } {
  const ending = new AbortController()
  const over = (): void => {
    for (const name of SIGNALS) process.off(name, end)
  }
  const end = (): void => {
    over()
    ending.abort()
  }
  for (const name of SIGNALS) process.on(name, end)
  return { over, signal: ending.signal }
}
const SIGNALS = ['SIGINT', 'SIGTERM'] as const

export function say(text: string): number {
  process.stdout.write(text)
  return 0
}
