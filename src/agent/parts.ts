// Puts the parts of the agent together: what every mode that talks to the controller works with.
import type { Server } from 'node:net'
import * as path from 'node:path'
import { systemClock } from '../kernel/clock.ts'
import { makeDir } from '../kernel/dirs.ts'
import type { Log } from '../kernel/log.ts'
import type { NodeConfig } from '../wire/nodes.ts'
import type { AgentJob } from '../wire/recordings.ts'
import type { AgentConfig } from './config.ts'
import { Health } from './health/health.ts'
import { createHealthStore } from './health/store.ts'
import { discoverAlsa } from './inventory/alsa.ts'
import type { InventoryOptions } from './inventory/inventory.ts'
import { createRemembered } from './inventory/remembered.ts'
import { createJobRunner, type JobRunner } from './jobs/runner.ts'
import { defaultJobSettings, type JobSettings } from './jobs/settings.ts'
import { createLink } from './link/client.ts'
import type { Link } from './link/link.ts'
import { lockDirectory } from './proc/lock.ts'
import type { Service } from './proc/service.ts'
import { createToken, type Token } from './token.ts'

export interface Parts {
  applyConfig(config: NodeConfig): void
  health: Health
  link: Link
  /** Held as long as the process lives. */
  lock: Server
  runner: JobRunner
  /** What runs beside the takes as long as the daemon does. */
  services: Service[]
  token: Token
}

export const inventoryOptions = ({ settings, childEnv }: AgentConfig, rememberIn?: string): InventoryOptions => ({
  ...settings,
  childEnv,
  clock: systemClock,
  remembered: createRemembered(rememberIn),
})

export const openLink = ({ settings }: AgentConfig, token: () => string | undefined): Link =>
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

/** Takes the directory, opens the link, starts the health log. @throws Locked, LinkError, what the disk throws */
export async function assemble(config: AgentConfig, log: Log): Promise<Parts> {
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
  return { applyConfig: apply, health, link, lock, runner, services: [], token }
}
