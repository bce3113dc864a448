// The recorder agent: picks the mode, assembles the parts and handles the process's signals.

import * as fs from 'node:fs/promises'
import * as path from 'node:path'
import { systemClock } from '../kernel/clock.ts'
import { misuse, UserError } from '../kernel/fail.ts'
import { errorFields, jsonLog, type Log } from '../kernel/log.ts'
import type { Outlets } from '../kernel/logsink.ts'
import { version } from '../kernel/version.ts'
import { createNotifier, type Notifier } from '../system/host/notify.ts'
import { givenCode } from '../system/host/pairing.ts'
import type { AgentJob } from '../wire/recordings.ts'
import { bootstrapNode, type Joiner, readHostKeys } from './bootstrap.ts'
import { type AgentConfig, helpText, readConfig } from './config.ts'
import { Daemon } from './daemon.ts'
import { collectInventory } from './inventory/inventory.ts'
import { defaultJobSettings } from './jobs/settings.ts'
import type { Link } from './link/link.ts'
import { createHold, createSign } from './maintenance.ts'
import { printMeterFrame } from './meters/print.ts'
import { attachFile, captureOnce, channelMapAssignments } from './once.ts'
import { assemble, inventoryOptions, openJoiningLink, type Parts, termFileOf } from './parts.ts'
import { createPulse } from './pulse.ts'

const OK = 0
const FAILED = 1
/** systemd kills after 30 s. Takes are safe on disk by then, so the process exits on its own before that. */
const STOP_DEADLINE_MS = 28_000

const atMost = (ms: number, work: Promise<unknown>): Promise<unknown> => {
  const late = new Promise((resolve) => setTimeout(resolve, ms).unref())
  return Promise.race([work, late])
}

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

/** Resolves on the first termination signal. A second one ends the process at once, as it would by default. */
function untilSignal(): { forget(): void; signal: Promise<void> } {
  const { promise, resolve } = Promise.withResolvers<void>()
  const heard = () => {
    forget()
    resolve()
  }
  const forget = () => {
    for (const name of SIGNALS) process.off(name, heard)
  }
  for (const name of SIGNALS) process.on(name, heard)
  return { forget, signal: promise }
}

/** Reports the agent's state to systemd, if systemd started it. */
function notifierOf({ childEnv, manager, settings }: AgentConfig, log: Log, { runner, token }: Parts): Notifier {
  const { captureGrowthGraceSeconds, captureStalledSeconds } = settings
  const borne = captureGrowthGraceSeconds + captureStalledSeconds + defaultJobSettings.retryWindowSeconds
  const pulse = createPulse(runner.activity.bind(runner), systemClock, 2 * borne * 1000)
  const status = () => (token.current() === undefined ? `no controller token; ${pulse.status()}` : pulse.status())
  return createNotifier({ ...pulse, command: 'systemd-notify', env: childEnv, log, manager, status })
}

async function runDaemon(config: AgentConfig, log: Log): Promise<number> {
  const { settings } = config
  const parts = await assemble(config, log)
  const { controllerUrl, nodeAlias: alias, nodeId } = settings
  const notifier = notifierOf(config, log, parts)
  const daemon = new Daemon({
    ...parts,
    about: { alias, controllerUrl, meterBackend: settings.meterBackend, nodeId, version },
    clock: systemClock,
    collect: async (mayProbe) => {
      const found = await collectInventory(parts.inventory, mayProbe)
      parts.systemHealth.heard(found.interfaces)
      return found
    },
    heartbeatMs: settings.heartbeatSeconds * 1000,
    hold: createHold(settings.agentDir, log),
    log,
    pollMs: settings.jobPollSeconds * 1000,
    ready: () => void notifier.ready(),
    sign: createSign(settings.agentDir, log),
  })
  log.info('agent starting', { agentDir: settings.agentDir, controllerUrl, nodeId, version })
  const { signal, forget } = untilSignal()
  try {
    const code = await Promise.race([signal.then(() => OK), daemon.run().then(() => OK)])
    log.info('agent stopping')
    return code
  } catch (e) {
    log.error('agent failed; takes in the spool resume after a restart', errorFields(e))
    return FAILED
  } finally {
    void notifier.stopping('finishing the takes')
    await atMost(STOP_DEADLINE_MS, daemon.stop())
    await notifier.stop()
    forget()
  }
}

/** Whether the controller counts every job of the claim as completed or cancelled. */
async function allWell(link: Link, jobs: AgentJob[]): Promise<boolean> {
  const ends = await Promise.all(jobs.map(async (job) => (await link.readJob(job.id)).status))
  return ends.every((status) => status === 'completed' || status === 'cancelled')
}

async function runNextJob(config: AgentConfig, log: Log): Promise<number> {
  const { health, link, runner } = await assemble(config, log)
  const { signal, forget } = untilSignal()
  const stop = signal.then(() => runner.stop())
  try {
    const jobs = await link.claim([], 0, new AbortController().signal)
    if (jobs.length === 0) return OK
    await runner.accept(jobs)
    await Promise.race([runner.idle(), stop])
    return (await allWell(link, jobs)) ? OK : FAILED
  } finally {
    forget()
    await health.stop(3000)
    link.close()
  }
}

/** From the token, else from a code, which is asked for where somebody sits at the terminal. @throws UserError */
async function obtain({ bootstrapToken, settings }: AgentConfig, link: Link): Promise<Joiner['obtain']> {
  const token = bootstrapToken.read()
  const { nodeId, pairingCode = token === undefined && process.stdin.isTTY ? '-' : undefined } = settings
  if (token !== undefined && pairingCode !== undefined)
    throw misuse('a bootstrap token and a pairing code are both given: one of them is enough')
  if (token !== undefined) return { nodeId, token }
  if (pairingCode !== undefined) return { code: await givenCode(pairingCode), link }
  throw misuse(
    '--bootstrap needs a token or a pairing code: set SVC_BOOTSTRAP_TOKEN, or pass --bootstrap-token-file (- reads standard input) or --pairing-code',
  )
}

/** What the next start needs to reach the same controller. */
const reaching = ({ settings }: AgentConfig): Record<string, string> => ({
  ...(settings.controllerCa ? { SVC_CONTROLLER_CA_CERT_PATH: path.resolve(settings.controllerCa) } : {}),
  ...(settings.clientCertFile ? { SVC_CONTROLLER_CLIENT_CERT_PATH: path.resolve(settings.clientCertFile) } : {}),
  ...(settings.clientKeyFile ? { SVC_CONTROLLER_CLIENT_KEY_PATH: path.resolve(settings.clientKeyFile) } : {}),
  ...(settings.allowInsecure ? { SVC_ALLOW_INSECURE_CONTROLLER: 'true' } : {}),
})

async function bootstrap(config: AgentConfig, log: Log): Promise<number> {
  const { settings } = config
  // First of all: a forbidden address or a missing token must leave no trace on this machine.
  const links = [openJoiningLink(config)]
  const linkOf = (nodeId: string): Link => {
    if (nodeId === settings.nodeId) return links[0] as Link
    const link = openJoiningLink({ ...config, settings: { ...settings, nodeId } })
    links.push(link)
    return link
  }
  const close = () => {
    for (const link of links) link.close()
  }
  const obtaining = await obtain(config, links[0] as Link)
  const aborting = new AbortController()
  const { signal, forget } = untilSignal()
  signal.then(() => {
    aborting.abort(new UserError('stopped by a signal'))
    close()
  })
  try {
    const { fingerprint, nodeId } = await bootstrapNode({
      authorizedKeysFile: path.resolve(settings.bootstrapAuthorizedKeys),
      envFile: path.resolve(settings.bootstrapEnvFile),
      forcedCommand: settings.bootstrapForcedCommand,
      hostKeys: readHostKeys(settings.sshHostKeys),
      envSettings: (id) => ({ SVC_CONTROLLER_URL: settings.controllerUrl, SVC_NODE_ID: id, ...reaching(config) }),
      interfaces: (await collectInventory(inventoryOptions(config))).interfaces,
      joiner: { linkOf, obtain: obtaining },
      say: (words) => log.warn(words),
      signal: aborting.signal,
      username: settings.bootstrapUser,
    })
    // Of another pair of boxes, or of one that was set up anew.
    await fs.rm(termFileOf(settings), { force: true })
    log.info('node joined the controller', { envFile: settings.bootstrapEnvFile, fingerprint, nodeId })
    return OK
  } finally {
    forget()
    close()
  }
}

const print = (text: string): number => {
  process.stdout.write(text)
  return OK
}

/** Runs work until it is done or a signal ends it. */
async function untilStopped(work: (signal: AbortSignal) => Promise<void>): Promise<number> {
  const stopping = new AbortController()
  const { signal, forget } = untilSignal()
  signal.then(() => stopping.abort(new UserError('stopped by a signal')))
  try {
    await work(stopping.signal)
    return OK
  } finally {
    forget()
  }
}

async function runMode(config: AgentConfig, { stdout }: Outlets): Promise<number> {
  const log = jsonLog((line, level) => stdout.write(line, level), config.settings.logLevel)
  if (config.mode === 'help') return print(helpText())
  if (config.mode === 'version') return print(`${version}\n`)
  if (config.mode === 'print-meter-frame') {
    const { interfaces } = await collectInventory(inventoryOptions(config))
    return print(`${JSON.stringify(await printMeterFrame(config, interfaces), null, 2)}\n`)
  }
  if (config.mode === 'print-inventory')
    return print(`${JSON.stringify(await collectInventory(inventoryOptions(config)), null, 2)}\n`)
  if (config.mode === 'print-channel-map-assignments')
    return print(`${JSON.stringify(await channelMapAssignments(config), null, 2)}\n`)
  for (const warning of config.warnings) log.warn(warning)
  if (config.mode === 'bootstrap') return bootstrap(config, log)
  if (config.mode === 'attach-cache-file') return untilStopped((signal) => attachFile(config, log, signal))
  if (config.mode === 'capture-recording-id')
    return untilStopped(async (signal) => {
      if (!(await captureOnce(config, log, signal)))
        throw new UserError('the take was not delivered: the log says why and where it is kept')
    })
  return config.mode === 'run-next-job' ? runNextJob(config, log) : runDaemon(config, log)
}

/** The program `roomtone agent`. Resolves to the exit code. */
export const main = (args: string[], outlets: Outlets): Promise<number> => runMode(readConfig(args), outlets)
