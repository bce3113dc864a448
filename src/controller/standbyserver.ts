// The listening side of a box that is not the controller: the same address, probes and a page.
import { systemClock } from '../kernel/clock.ts'
import type { Log } from '../kernel/log.ts'
import type { Outlets } from '../kernel/logsink.ts'
import { version } from '../kernel/version.ts'
import { createNotifier } from '../system/host/notify.ts'
import type { StandbyStatus } from '../wire/lease.ts'
import type { Config } from './config.ts'
import { Certificates } from './http/certificates.ts'
import { Server } from './http/server.ts'
import { standbyResponses } from './succession/gate.ts'
import type { LeaseClient } from './succession/leaseclient.ts'

/** Its answers are small. */
const STOP_MS = 500
/** How often a renewed certificate is looked for. */
const LOOK_MS = 10_000

interface Parts {
  config: Config
  leaseClient: LeaseClient
  log: Log
  outlets: Outlets
}

interface StandbyServer {
  close(): Promise<void>
  readonly url: string
}

/** Listens until `close`. @throws Fail when it cannot */
export async function openStandbyServer(
  { config, leaseClient, log, outlets }: Parts,
  status: () => StandbyStatus,
): Promise<StandbyServer> {
  const certificates = config.tls && new Certificates(config.tls, systemClock.now())
  const server = new Server(standbyResponses(leaseClient, status), certificates && { certificates, log })
  const url = await server.listen(config.SVC_HOST, config.SVC_PORT)
  const env = { LC_ALL: 'C', PATH: config.programDirs.join(':') }
  const { manager } = config
  const told = { alive: () => true, command: 'systemd-notify', env, log, manager, status: () => status().message }
  const notifier = createNotifier(told)
  await notifier.ready()
  const renewed = (): void => void certificates?.reload(systemClock.now())
  const looking = setInterval(renewed, LOOK_MS)
  process.on('SIGHUP', renewed)
  const { role, serving } = status()
  log.info(`listening as ${role}`, { url, version, ...(serving ? { serving } : {}) })
  outlets.stdout.write(`${JSON.stringify({ url, version, pid: process.pid, role })}\n`)
  return {
    async close() {
      clearInterval(looking)
      process.off('SIGHUP', renewed)
      await server.close(STOP_MS)
      await notifier.stop()
    },
    url,
  }
}
