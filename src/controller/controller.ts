// roomtone controller: settings -> database -> composition -> listen, and back in the other order.
import * as path from 'node:path'
import { iso, systemClock } from '../kernel/clock.ts'
import { makeDir } from '../kernel/dirs.ts'
import { Fail } from '../kernel/fail.ts'
import { randomIds } from '../kernel/ids.ts'
import { errorFields, jsonLog, type Log } from '../kernel/log.ts'
import type { Outlets } from '../kernel/logsink.ts'
import { version } from '../kernel/version.ts'
import { compose } from './compose.ts'
import { type Config, ConfigError, nativeDirs, readConfig, settingsHelp } from './config.ts'
import { Server } from './edge/server.ts'
import { sweepIncoming } from './link/sweep.ts'
import { secretKey } from './secrets.ts'
import { copyDatabase } from './store/backup.ts'
import { Db } from './store/db.ts'
import { lockDirectory } from './store/lock.ts'
import { embedded, migrate, outdated } from './store/migrate.ts'
import { loadAddon } from './store/native.ts'

const HELP = `usage: roomtone controller

Runs the controller until SIGTERM. Prints one JSON line with its "url" when it listens; the log goes to stderr.
Settings come from the environment, each also as <NAME>_FILE naming a file that holds the value:

${settingsHelp()}
`

// Requests under way at SIGTERM get this long to finish; the whole stop stays below five seconds.
const STOP_MS = 3500

/** Runs the controller until it is told to stop; resolves to the exit code. */
export async function main(args: string[], outlets: Outlets): Promise<number> {
  if (args.includes('--help') || args.includes('-h')) {
    process.stdout.write(HELP)
    return 0
  }
  try {
    if (args[0]) throw new ConfigError(`roomtone controller takes no argument "${args[0]}": see --help.`)
    const running = await start(readConfig(), outlets)
    await signalled()
    await running.stop()
    return 0
  } catch (e) {
    const told = e instanceof ConfigError || e instanceof Fail
    const { error, ...rest } = errorFields(e)
    process.stderr.write(told ? `${error}\n` : `The controller cannot go on: ${error}\n${JSON.stringify(rest)}\n`)
    return told ? 2 : 1
  }
}

async function start(config: Config, { stderr, stdout }: Outlets): Promise<{ stop(): Promise<void> }> {
  const log = jsonLog((line) => stderr.write(line), config.SVC_LOG_LEVEL)
  for (const dir of [config.SVC_DATA_DIR, config.SVC_RECORDING_CACHE_DIR]) makeDir(dir)
  const addon = loadAddon(nativeDirs(config))
  const lock = lockDirectory(path.join(config.SVC_DATA_DIR, 'controller.lock'), addon?.binding)
  const db = new Db(path.join(config.SVC_DATA_DIR, 'roomtone.db'), addon?.binding)
  const applied = await upgraded(db, config.SVC_DATA_DIR, addon?.binding, log)
  const secret = secretKey(config, log)
  const secrets = { nodeSshKey: config.SVC_NODE_SSH_MASTER_KEY ?? secret, settingsKey: secret }
  const controller = compose({ clock: systemClock, config, db, ids: randomIds, log, secrets })
  await controller.prepare()
  await sweepIncoming(config.SVC_RECORDING_CACHE_DIR)
  // A restart must not cost a running take its lease: each gets one full lease to be renewed in.
  controller.leases.grace(iso(systemClock.now()))
  const server = new Server(controller.app, config.tls)
  const url = await server.listen(config.SVC_HOST, config.SVC_PORT)
  controller.ticker.start()
  log.info('The controller listens.', { url, version, migrations: applied, data: config.SVC_DATA_DIR })
  stdout.write(`${JSON.stringify({ url, version, pid: process.pid })}\n`)
  return {
    async stop() {
      log.info('The controller stops.')
      controller.release()
      await server.close(STOP_MS)
      await controller.stop()
      db.close()
      lock.release()
    },
  }
}

/** Brings the schema up to date; before the first change, a copy of the database as the older version left it. */
async function upgraded(db: Db, dir: string, addon: object | undefined, log: Log): Promise<number> {
  const migrations = embedded()
  const have = outdated(db, migrations)
  if (have !== undefined) {
    const copy = path.join(dir, `roomtone.db.schema-${have}`)
    await copyDatabase(db, copy, addon)
    log.warn('The database is brought up to date; a copy of it as it was is kept.', { copy, from: have })
  }
  return migrate(db, migrations)
}

function signalled(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve())
  })
}
