// roomtone controller: settings -> database -> composition -> listen; stops in the reverse order.
import * as path from 'node:path'
import { assetText, inExecutable } from '../kernel/assets.ts'
import { systemClock } from '../kernel/clock.ts'
import { makeDir } from '../kernel/dirs.ts'
import { misuse } from '../kernel/fail.ts'
import { randomIds } from '../kernel/ids.ts'
import { errorFields, jsonLog, type Log } from '../kernel/log.ts'
import type { Outlets } from '../kernel/logsink.ts'
import { settingsHelp } from '../kernel/settings.ts'
import { takeAll } from '../kernel/steps.ts'
import { version } from '../kernel/version.ts'
import { createNotifier, type Notifier } from '../system/host/notify.ts'
import { ARCHES } from '../system/host/release.rules.ts'
import { createApp } from './app.ts'
import { type Config, nativeDirs, readConfig, SETTINGS } from './config.ts'
import type { Running } from './fleet/releases/repository.own.ts'
import { Certificates } from './http/certificates.ts'
import { Server } from './http/server.ts'
import { linkAddress, localAddress, reachedLocally } from './identity/auth/link.rules.ts'
import { CERTIFICATE_RUNNER } from './monitoring/watchdog/certificate.runner.ts'
import { type PairParts, runPairMember, type Started, signalled } from './pair.ts'
import { sealKeys, secretKey } from './secrets.ts'
import { checkpoint } from './store/checkpoint.ts'
import { Db, lockDirectory } from './store/db.ts'
import { upgraded } from './store/migrate.ts'
import { loadAddon } from './store/native.ts'
import { behindLease } from './succession/gate.ts'
import { ReplicaWatch } from './succession/replica.ts'

const HELP = `usage: roomtone controller

Runs the controller until SIGTERM. Prints one JSON line with its "url" once it listens; the log goes to stderr. Until the first
admin has signed in, the line also has "signIn": a one-time link, valid on this machine for ten minutes.
Settings come from the environment; <NAME>_FILE names a file that holds the value of <NAME>:

${settingsHelp(SETTINGS)}
`

// Requests under way at SIGTERM get this long to finish; the whole stop stays below five seconds.
const STOP_MS = 3500

/** Runs the controller until SIGTERM or SIGINT; resolves to the exit code. */
export async function main(args: string[], outlets: Outlets): Promise<number> {
  if (args.includes('--help') || args.includes('-h')) {
    process.stdout.write(HELP)
    return 0
  }
  if (args[0]) throw misuse(`unexpected argument "${args[0]}": see roomtone controller --help`)
  const config = readConfig()
  if (config.pair) return await runPairMember(config, config.pair, { outlets, start })
  const started = await start(config, outlets)
  await signalled()
  return await started.stop()
}

/** The controller, listening. `pair`: the lease it holds and its replica, where there is a second box. */
export async function start(config: Config, { stderr, stdout }: Outlets, pair?: PairParts): Promise<Started> {
  const leaseClient = pair?.leaseClient
  const log = jsonLog((line, level) => stderr.write(line, level), config.SVC_LOG_LEVEL)
  for (const dir of [config.SVC_DATA_DIR, config.SVC_RECORDING_CACHE_DIR]) makeDir(dir)
  const certificates = config.tls && new Certificates(config.tls, systemClock.now())
  const addon = loadAddon(nativeDirs(config))
  const lock = lockDirectory(path.join(config.SVC_DATA_DIR, 'controller.lock'), addon?.binding)
  const replicated = config.SVC_DATABASE_REPLICATED
  const database = path.join(config.SVC_DATA_DIR, 'roomtone.db')
  const db = new Db(database, addon?.binding, { replicated })
  const applied = await upgraded(db, config.SVC_DATA_DIR, addon?.binding, log)
  const secret = secretKey(config, log)
  const keys = sealKeys({ nodeSshKey: config.SVC_NODE_SSH_MASTER_KEY ?? secret, settingsKey: secret })
  const controller = createApp({
    certificates,
    clock: systemClock,
    config,
    db,
    ids: randomIds,
    keys,
    lease: leaseClient,
    log,
    replica: pair?.replica ?? (replicated ? watchOf(database, addon?.path) : undefined),
    running: running(),
  })
  await controller.start()
  const served = leaseClient
    ? behindLease(controller.app, leaseClient, () => leaseClient.status({ role: 'fenced' }))
    : controller.app
  const server = new Server(served, certificates && { certificates, log })
  const url = await server.listen(config.SVC_HOST, config.SVC_PORT)
  controller.listening(server.port())
  controller.clockWatch.start()
  controller.ticker.start()
  const reload = (): void => void controller.ticker.run(CERTIFICATE_RUNNER)
  if (certificates) process.on('SIGHUP', reload)
  const notifier = notifierOf(config, db, log)
  await notifier.ready()
  log.info('controller listening', { url, version, migrations: applied, data: config.SVC_DATA_DIR })
  const token = reachedLocally(config.SVC_HOST) ? controller.firstLink() : undefined
  const signIn = token && linkAddress(localAddress(url), token)
  // Not into the log, which is kept: the link is for whoever starts the controller and reads what it says.
  stdout.write(`${JSON.stringify({ url, version, pid: process.pid, ...(signIn ? { signIn } : {}) })}\n`)
  return {
    database,
    async stop(last = () => {}, staysUp = false) {
      log.info('controller stopping')
      // Whoever says so to systemd is killed when it goes on.
      if (!staysUp) void notifier.stopping('finishing requests')
      process.off('SIGHUP', reload)
      const faults = await takeAll([
        controller.release,
        () => server.close(STOP_MS),
        controller.stop,
        () => notifier.stop(),
        () => last(db),
        () => db.close(),
        () => lock.release(),
      ])
      for (const e of faults) log.error('a part of the controller did not stop in order', errorFields(e))
      return faults.length > 0 ? 1 : 0
    },
    url,
  }
}

const watchOf = (database: string, addonPath: string | undefined): ReplicaWatch =>
  new ReplicaWatch({ checkpoint: () => checkpoint({ addonPath, file: database }), clock: systemClock, database })

/** This executable, which nodes get when there is no other release. */
function running(): Running | undefined {
  const arch = ARCHES.find((one) => one === process.arch)
  if (!inExecutable || !arch) return undefined
  const papers = { LICENSE: assetText('LICENSE'), NOTICE: assetText('NOTICE') }
  return { arch, file: '/proc/self/exe', papers, version }
}

/** Reports readiness and liveness to systemd, when systemd started it. */
function notifierOf({ manager, programDirs }: Config, db: Db, log: Log): Notifier {
  const alive = (): boolean => {
    try {
      db.raw.pragma('user_version')
      return true
    } catch (e) {
      // No watchdog ping then: the database may work again for a restarted process.
      log.error('database not responding', errorFields(e))
      return false
    }
  }
  const env = { LC_ALL: 'C', PATH: programDirs.join(':') }
  return createNotifier({ alive, command: 'systemd-notify', env, log, manager, status: () => `version ${version}` })
}
