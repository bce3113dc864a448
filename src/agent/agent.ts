// The recorder agent: chooses the mode, puts the parts together, owns the process's signals.
import type { Server } from 'node:net'
import * as path from 'node:path'
import { systemClock } from '../kernel/clock.ts'
import { makeDir } from '../kernel/dirs.ts'
import { errorFields, jsonLog, type Log } from '../kernel/log.ts'
import { version } from '../kernel/version.ts'
import type { NodeConfig } from '../wire/nodes.ts'
import type { AgentJob } from '../wire/recordings.ts'
import { BootstrapFailed, bootstrapNode } from './bootstrap.ts'
import { type AgentConfig, BadConfig, helpText, readConfig } from './config.ts'
import { Daemon } from './daemon.ts'
import { Health } from './health/health.ts'
import { createHealthStore } from './health/store.ts'
import { discoverAlsa } from './inventory/alsa.ts'
import { collectInventory, type InventoryOptions } from './inventory/inventory.ts'
import { createRemembered } from './inventory/remembered.ts'
import { createJobRunner, type JobRunner } from './jobs/runner.ts'
import { defaultJobSettings, type JobSettings } from './jobs/settings.ts'
import { createLink } from './link/client.ts'
import { type Link, LinkError } from './link/link.ts'
import { Locked, lockDirectory } from './proc/lock.ts'
import { createToken, type Token } from './token.ts'

const OK = 0
const FAILED = 1
const MISUSED = 2
/** systemd's stop time is 30 s; a take on disk is safe, so the process ends before it is killed. */
const STOP_DEADLINE_MS = 28_000

interface Parts {
  applyConfig(config: NodeConfig): void
  health: Health
  link: Link
  /** Held as long as the process lives. */
  lock: Server
  runner: JobRunner
  token: Token
}

const inventoryOptions = ({ settings, childEnv }: AgentConfig, rememberIn?: string): InventoryOptions => ({
  ...settings,
  childEnv,
  clock: systemClock,
  remembered: createRemembered(rememberIn),
})

const openLink = ({ settings }: AgentConfig, token: () => string | undefined): Link =>
  createLink({ ...settings, caFile: settings.controllerCa, token, url: settings.controllerUrl })

/** Start settings of the recording part, and a way to lay the controller's defaults over them while it runs. */
function liveJobSettings({ settings }: AgentConfig): { apply(config: NodeConfig): void; live: JobSettings } {
  const start: JobSettings = {
    ...defaultJobSettings,
    captureBackend: settings.captureBackend,
    captureCommand: settings.captureCommand,
    growthGraceSeconds: settings.captureGrowthGraceSeconds,
    maxConcurrentRecordings: settings.maxConcurrentRecordings,
    pollSeconds: settings.jobPollSeconds,
    renderCommand: settings.renderCommand,
    stalledSeconds: settings.captureStalledSeconds,
    ...(settings.captureArgsTemplate ? { captureArgsTemplate: settings.captureArgsTemplate } : {}),
  }
  const live = { ...start }
  const apply = ({ audioDefaults = {} }: NodeConfig): void => {
    // Always over the start settings: what the controller no longer says reverts.
    delete live.captureArgsTemplate
    const { captureArgsTemplate, captureBackend, captureCommand } = audioDefaults
    const said = Object.entries({ captureArgsTemplate, captureBackend, captureCommand }).filter(
      ([, v]) => v !== undefined,
    )
    Object.assign(live, start, Object.fromEntries(said))
  }
  return { apply, live }
}

/**
 * The device of a job by its stable ref: the number in the job may be another card's since the last replugging.
 * Undefined when the ref is not plugged in or no ALSA device. The plug layer stays when the job wanted it.
 */
async function locate(options: InventoryOptions, command: AgentJob['command']): Promise<string | undefined> {
  const ref = command.captureSystemRef
  if (!ref?.startsWith('hw:')) return undefined
  // Listing opens no device, so it cannot be in the way of the take.
  const devices = await discoverAlsa(options, false)
  if (!devices.some((device) => device.systemRef === ref)) return undefined
  return command.captureDevice.startsWith('plughw:') ? `plug${ref}` : ref
}

async function assemble(config: AgentConfig, log: Log): Promise<Parts> {
  const { childEnv, settings } = config
  makeDir(settings.agentDir)
  const lock = await lockDirectory(settings.agentDir)
  const token = createToken(config.controllerToken, (sentence) => log.warn(sentence))
  const link = openLink(config, token.current)
  const health = new Health({
    clock: systemClock,
    cursorFile: `${settings.healthLogFile}.sent`,
    link,
    log,
    nodeId: settings.nodeId,
    online: () => token.current() !== undefined,
    store: createHealthStore({
      file: path.resolve(settings.healthLogFile),
      maxBytes: settings.healthLogMaxBytes,
      retainedFiles: settings.healthLogRetainedFiles,
    }),
  })
  await health.start()
  const { apply, live } = liveJobSettings(config)
  const runner = createJobRunner({
    childEnv,
    clock: systemClock,
    link,
    locate: (command) => locate(inventoryOptions(config), command),
    log,
    report: health.report,
    settings: live,
    workDir: settings.agentDir,
  })
  return { applyConfig: apply, health, link, lock, runner, token }
}

/** Resolves with the first SIGTERM or SIGINT; a second one ends the process the hard way. */
function untilSignal(): { signal: Promise<void>; forget(): void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  const heard = () => resolve()
  process.once('SIGTERM', heard).once('SIGINT', heard)
  return { forget: () => process.off('SIGTERM', heard).off('SIGINT', heard), signal: promise }
}

const atMost = (ms: number, work: Promise<unknown>): Promise<unknown> => {
  const late = new Promise((resolve) => setTimeout(resolve, ms).unref())
  return Promise.race([work, late])
}

async function runDaemon(config: AgentConfig, log: Log): Promise<number> {
  const { settings } = config
  const parts = await assemble(config, log)
  const options = inventoryOptions(config, path.join(settings.agentDir, 'capabilities.json'))
  const { controllerUrl, nodeAlias: alias, nodeId } = settings
  const daemon = new Daemon({
    ...parts,
    about: { alias, controllerUrl, nodeId, version },
    clock: systemClock,
    collect: (mayProbe) => collectInventory(options, mayProbe),
    heartbeatMs: settings.heartbeatSeconds * 1000,
    log,
    pollMs: settings.jobPollSeconds * 1000,
  })
  log.info('agent starts', { agentDir: settings.agentDir, controllerUrl, nodeId, version })
  const { signal, forget } = untilSignal()
  try {
    const code = await Promise.race([signal.then(() => OK), daemon.run().then(() => OK)])
    log.info('agent stops')
    return code
  } catch (e) {
    log.error('the agent cannot go on', errorFields(e))
    return FAILED
  } finally {
    await atMost(STOP_DEADLINE_MS, daemon.stop())
    forget()
  }
}

/** Whether every job of the claim came to a good end on the controller. */
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
    runner.accept(jobs)
    await Promise.race([runner.idle(), stop])
    return (await allWell(link, jobs)) ? OK : FAILED
  } finally {
    forget()
    await health.stop(3000)
    link.close()
  }
}

async function bootstrap(config: AgentConfig, log: Log): Promise<number> {
  const { settings } = config
  // Before anything else: a link that may not be used, or no token, must leave no trace on this machine.
  const link = openLink(config, () => undefined)
  const token = config.bootstrapToken.read()
  if (!token)
    throw new BadConfig('--bootstrap needs a token: SVC_BOOTSTRAP_TOKEN or --bootstrap-token-file (- = standard input)')
  const aborting = new AbortController()
  const { signal, forget } = untilSignal()
  signal.then(() => {
    aborting.abort(new BootstrapFailed('stopped by a signal'))
    link.close()
  })
  try {
    const { fingerprint } = await bootstrapNode({
      authorizedKeysFile: path.resolve(settings.bootstrapAuthorizedKeys),
      childEnv: config.childEnv,
      envFile: path.resolve(settings.bootstrapEnvFile),
      envSettings: {
        SVC_CONTROLLER_URL: settings.controllerUrl,
        SVC_NODE_ID: settings.nodeId,
        ...(settings.controllerCa ? { SVC_CONTROLLER_CA_CERT_PATH: path.resolve(settings.controllerCa) } : {}),
        ...(settings.allowInsecure ? { SVC_ALLOW_INSECURE_CONTROLLER: 'true' } : {}),
      },
      interfaces: (await collectInventory(inventoryOptions(config))).interfaces,
      link,
      nodeId: settings.nodeId,
      signal: aborting.signal,
      sshKeygenCommand: settings.sshKeygenCommand,
      token,
      username: settings.bootstrapUser,
    })
    log.info('node joined the controller', { envFile: settings.bootstrapEnvFile, fingerprint, nodeId: settings.nodeId })
    return OK
  } finally {
    forget()
    link.close()
  }
}

const print = (text: string): number => {
  process.stdout.write(text)
  return OK
}

async function runMode(config: AgentConfig): Promise<number> {
  const log = jsonLog((line) => process.stdout.write(line), config.settings.logLevel)
  if (config.mode === 'help') return print(helpText())
  if (config.mode === 'version') return print(`${version}\n`)
  if (config.later) throw new BadConfig(`--${config.later} is not yet available in this version`)
  if (config.mode === 'print-inventory')
    return print(`${JSON.stringify(await collectInventory(inventoryOptions(config)), null, 2)}\n`)
  for (const warning of config.warnings) log.warn(warning)
  if (config.mode === 'bootstrap') return bootstrap(config, log)
  return config.mode === 'run-next-job' ? runNextJob(config, log) : runDaemon(config, log)
}

/** The program `roomtone agent`. Resolves with the exit code: 1 when it failed, 2 when it was asked in a wrong way. */
export async function main(args: string[]): Promise<number> {
  try {
    return await runMode(readConfig(args))
  } catch (e) {
    const told = [BadConfig, BootstrapFailed, LinkError, Locked].some((kind) => e instanceof kind)
    if (!(e instanceof Error) || !told) throw e
    process.stderr.write(`roomtone agent: ${e.message}\n`)
    return e instanceof BadConfig ? MISUSED : FAILED
  }
}
