// Assembles the parts of the agent that every mode talking to the controller needs.
import type { Server } from 'node:net'
import * as path from 'node:path'
import { systemClock } from '../kernel/clock.ts'
import { makeDir } from '../kernel/dirs.ts'
import { errorFields, type Log } from '../kernel/log.ts'
import { faultWords } from '../kernel/words.ts'
import { isInstalled } from '../system/host/ffmpeg.ts'
import type { AudioDefaults, NodeConfig } from '../wire/nodes.ts'
import type { AgentJob } from '../wire/recordings.ts'
import { type Calendar, createCalendar } from './calendar.ts'
import { createBus, type SoundBus } from './capture/bus.ts'
import { programOf } from './capture/devices.ts'
import { Feeds } from './capture/feeds.ts'
import type { CaptureRights } from './capture/rights.rules.ts'
import { Standby } from './capture/standby.ts'
import type { AgentConfig } from './config.ts'
import { DoctorCalls } from './doctor/calls.ts'
import { createLevelMemory, type LevelMemory, levelText } from './doctor/levelmemory.ts'
import { Ear } from './ear/ear.ts'
import { SoundPoster } from './ear/poster.ts'
import { Preflights } from './ear/preflight.ts'
import { createEnhancer } from './enhance/enhance.ts'
import { described, modelOf } from './enhance/model.rules.ts'
import { ModelProbe } from './enhance/probe.ts'
import { Health } from './health/health.ts'
import type { Report } from './health/report.ts'
import { createSqliteStore } from './health/sqlite.ts'
import { createHealthStore } from './health/store.ts'
import { createSystemHealth, type SystemHealth } from './health/system.ts'
import { cardId, discoverAlsa, pcmList } from './inventory/alsa.ts'
import { clockSync } from './inventory/host.ts'
import { collectInventory, type InventoryOptions } from './inventory/inventory.ts'
import { namedInterface } from './inventory/named.rules.ts'
import { createRemembered } from './inventory/remembered.ts'
import { DeviceWatch } from './inventory/watch.ts'
import { KeptTakes } from './jobs/custody.ts'
import { createJobRunner, type JobRunner } from './jobs/runner.ts'
import { defaultJobSettings, type JobSettings } from './jobs/settings.ts'
import { wantOf } from './jobs/want.ts'
import { createLink } from './link/client.ts'
import type { Link } from './link/link.ts'
import { Listen } from './listen/listen.ts'
import { Meters } from './meters/meters.ts'
import type { Service } from './proc/bell.ts'
import { dfGauge, statfsGauge } from './proc/disk.ts'
import { lockDirectory } from './proc/lock.ts'
import { type Disk, openDisk } from './spool/disk.ts'
import { createToken, type Token } from './token.ts'

const SYSTEM_HEALTH_EVERY_MS = 10_000
const DEVICE_LOOK_MS = 2000
/** Given to capture templates that want a length; it is over long before. */
const PREFLIGHT_SECONDS = 60

export interface Parts {
  applyConfig(config: NodeConfig): void
  /** The sound of all open devices, for meters and live audio. */
  bus: SoundBus
  calendar: Calendar
  /** Notices sound cards being plugged in or removed. */
  devices: DeviceWatch
  health: Health
  /** How to list the devices without disturbing those that are open. */
  inventory: InventoryOptions
  kept: KeptTakes
  link: Link
  /** Held until the process ends. */
  lock: Server
  runner: JobRunner
  /** Background services that run as long as the daemon does. */
  services: Service[]
  systemHealth: SystemHealth
  token: Token
}

/** `defaults`: the controller's current audio defaults for this node. */
export const inventoryOptions = (
  { settings, childEnv }: AgentConfig,
  rememberIn?: string,
  defaults: () => AudioDefaults = () => ({}),
): InventoryOptions => ({
  ...settings,
  childEnv,
  clock: systemClock,
  configured: () => namedInterface(settings, defaults()),
  denoiser: () => described(modelOf(settings.denoiseModel, settings.denoiseModelSha256)),
  remembered: createRemembered(rememberIn),
})

/** Where the highest term of a controller is kept that this recorder has seen. */
export const termFileOf = ({ agentDir }: AgentConfig['settings']): string => path.join(agentDir, 'controller-term.json')

/** The link of somebody who joins a controller: it may be another one than before, and its terms begin anew. */
export const openJoiningLink = ({ settings }: AgentConfig): Link =>
  createLink({
    ...{ ...settings, caFile: settings.controllerCa, standbyUrl: undefined, token: () => undefined },
    url: settings.controllerUrl,
  })

type LinkEvents = Pick<Parameters<typeof createLink>[0], 'moved' | 'termKept'>

/** What is told of a link to two boxes. */
const linkEvents = (log: Log, settings: AgentConfig['settings'], report: Report): LinkEvents => ({
  moved: (url) => log.warn("switched to the controller's other address", { url }),
  termKept: (fault) =>
    fault === undefined
      ? report({ severity: 'info', type: 'agent.system.term_not_kept_recovered' })
      : report({
          details: { error: faultWords(fault), path: termFileOf(settings) },
          severity: 'warning',
          type: 'agent.system.term_not_kept',
        }),
})

export const openLink = ({ settings }: AgentConfig, token: () => string | undefined, events: LinkEvents = {}): Link => {
  const termFile = termFileOf(settings)
  const { controllerCa: caFile, controllerUrl: url } = settings
  return createLink({ ...settings, ...events, caFile, termFile, token, url })
}

/** What the controller may ask for: the programs this recorder allows, and whatever its own settings name. */
export function captureRights(settings: AgentConfig['settings']): CaptureRights {
  const { captureArgsTemplate, captureBackend, captureCommand, captureDevice, meterArgsTemplate, meterBackend } =
    settings
  const backends = meterBackend === 'synthetic' ? [captureBackend] : [captureBackend, meterBackend]
  return {
    commands: settings.captureAllowedCommands,
    own: {
      commands: backends.map((backend) => programOf(backend, captureCommand)),
      devices: [captureDevice],
      templates: [captureArgsTemplate, meterArgsTemplate].filter((one) => one !== undefined),
    },
  }
}

/** Job settings as started, and a way to apply the controller's defaults on top while the agent runs. */
export function liveJobSettings({ settings }: AgentConfig): { apply(config: NodeConfig): void; live: JobSettings } {
  const start: JobSettings = {
    ...defaultJobSettings,
    captureBackend: settings.captureBackend,
    captureCommand: settings.captureCommand,
    captureRights: captureRights(settings),
    chunkSeconds: settings.captureChunkSeconds,
    growthGraceSeconds: settings.captureGrowthGraceSeconds,
    keepUploaded: settings.keepUploaded,
    maxConcurrentRecordings: settings.maxConcurrentRecordings,
    pollSeconds: settings.jobPollSeconds,
    renderCommand: settings.renderCommand,
    stalledSeconds: settings.captureStalledSeconds,
    ...(settings.captureArgsTemplate ? { captureArgsTemplate: settings.captureArgsTemplate } : {}),
  }
  const live = { ...start }
  const apply = ({ audioDefaults = {} }: NodeConfig): void => {
    // Always on top of the start settings: what the controller no longer sets reverts.
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
 * Finds a job's device by its stable ref, because card numbers change when cards are plugged in again. Undefined when
 * the ref is not plugged in or is not an ALSA device. Keeps the plug layer if the job asked for it.
 */
async function locate(
  options: InventoryOptions,
  command: Pick<AgentJob['command'], 'captureDevice' | 'captureSystemRef'>,
): Promise<string | undefined> {
  const ref = command.captureSystemRef
  if (!ref?.startsWith('hw:')) return undefined
  // Listing opens no device, so it cannot disturb a take.
  const devices = await discoverAlsa(options, false)
  if (!devices.some((device) => device.systemRef === ref)) return undefined
  return command.captureDevice.startsWith('plughw:') ? `plug${ref}` : ref
}

/** The local health log and its delivery to the controller. */
function healthOf({ settings }: AgentConfig, log: Log, link: Link, token: Token): Health {
  const { healthLogMaxBytes: maxBytes, healthLogRetainedFiles: retainedFiles, nodeId } = settings
  const sqlite = settings.healthLogStore === 'sqlite'
  // As much as all files of the file-based log together.
  const all = maxBytes * (retainedFiles + 1)
  return new Health({
    clock: systemClock,
    cursorFile: `${sqlite ? settings.healthSqliteFile : settings.healthLogFile}.sent`,
    link,
    log,
    nodeId,
    online: () => token.current() !== undefined,
    store: sqlite
      ? createSqliteStore({ clock: systemClock, file: path.resolve(settings.healthSqliteFile), maxBytes: all, nodeId })
      : createHealthStore({ file: path.resolve(settings.healthLogFile), maxBytes, retainedFiles }),
  })
}

/** The agent's disk, and the health checks of the machine. */
function machineOf(
  { childEnv, settings }: AgentConfig,
  log: Log,
  report: Report,
  { surely }: Calendar,
): { disk: Disk; machine: Pick<InventoryOptions, 'room' | 'synced'>; systemHealth: SystemHealth } {
  const { agentDir: workDir, cacheManifestFile, dfCommand, diskPath, keepUploaded } = settings
  const gauge = dfCommand ? dfGauge(dfCommand, diskPath, childEnv) : statfsGauge(diskPath)
  const [manifestFile, stateFile] = [path.resolve(cacheManifestFile), path.resolve(settings.stateFile)]
  const disk = openDisk({ gauge, keepUploaded, log, manifestFile, report, stateFile, surely, workDir })
  return {
    disk,
    machine: { room: () => disk.guard.room(), synced: clockSync(childEnv, systemClock) },
    systemHealth: createSystemHealth({
      encoder: () => isInstalled(settings.renderCommand, childEnv.PATH ?? ''),
      everyMs: SYSTEM_HEALTH_EVERY_MS,
      gauge,
      limits: {
        disk: { critical: settings.diskCriticalPercent, warning: settings.diskWarningPercent },
        loadPerCore: { critical: settings.loadCriticalPerCore, warning: settings.loadWarningPerCore },
      },
      loadavgPath: settings.loadavgPath,
      log,
      report,
    }),
  }
}

interface Shared {
  bus: SoundBus
  calendar: Calendar
  ear: Ear
  feeds: Feeds
  health: Health
  inventory: InventoryOptions
  link: Link
  live: JobSettings
  locate: (command: Parameters<typeof locate>[1]) => Promise<string | undefined>
  log: Log
  model: ReturnType<typeof modelOf>
  sounds: SoundPoster
  token: Token
  levels: LevelMemory
}

/** What listens to devices while nothing is recorded, or along with it. */
function listeners(config: AgentConfig, shared: Shared) {
  const { bus, calendar, ear, feeds, health, inventory, live, locate, levels, log, sounds } = shared
  const { childEnv, settings } = config
  const common = { ...shared, clock: systemClock, report: health.report }
  const interfaces = async () => (await collectInventory(inventory, false)).interfaces
  const probed = async () => (await collectInventory(inventory)).interfaces
  const withRights = { ...settings, captureRights: captureRights(settings) }
  const meters = new Meters({ ...common, interfaces, settings })
  meters.tell(levels.measured)
  bus.subscribe(levels.listener)
  return {
    calls: new DoctorCalls({ ...common, config, findings: levels.findings }),
    listen: new Listen({ ...common, heartbeatMs: settings.heartbeatSeconds * 1000 }),
    meters,
    preflights: new Preflights({
      ear,
      feeds,
      log,
      now: calendar.theirs,
      poster: sounds,
      want: (command) => {
        const asked = { channels: Math.max(...command.channels), seconds: PREFLIGHT_SECONDS }
        return wantOf({ childEnv, clock: systemClock, feeds, locate, settings: live }, command, asked)
      },
    }),
    standby: new Standby({ ...common, childEnv, interfaces: probed, settings: withRights }),
  }
}

/** Locks the directory, opens the link and starts the health log. @throws UserError, LinkError, what the disk throws */
export async function assemble(config: AgentConfig, log: Log): Promise<Parts> {
  const { childEnv, settings } = config
  makeDir(settings.agentDir)
  const levels = createLevelMemory(settings)
  const lock = await lockDirectory(settings.agentDir, () => levelText(levels))
  const token = createToken(config.controllerToken, (sentence) => log.warn(sentence))
  const events = linkEvents(log, settings, (happening) => health.report(happening))
  const link = openLink(config, token.current, events)
  const health = healthOf(config, log, link, token)
  const calendar = createCalendar(systemClock)
  await health.start()
  const { disk, machine, systemHealth } = machineOf(config, log, health.report, calendar)
  const bus = createBus((e) => log.error('audio listener failed and was detached', errorFields(e)))
  const { apply, live } = liveJobSettings(config)
  let defaults: AudioDefaults = {}
  const listing = inventoryOptions(config, path.join(settings.agentDir, 'capabilities.json'), () => defaults)
  const devices = new DeviceWatch({ everyMs: DEVICE_LOOK_MS, file: pcmList(listing) })
  const feeds = new Feeds({ bus, cardId: (number) => cardId(listing, number), clock: systemClock, settings: live })
  const model = modelOf(settings.denoiseModel, settings.denoiseModelSha256)
  const probe = new ModelProbe({ log, model, report: health.report })
  const inventory: InventoryOptions = {
    ...listing,
    denoiser: () => probe.about,
    ...machine,
    lend: async (ref, look) => feeds.spare(await feeds.hardware('alsa', ref), look),
  }
  const report = health.report
  const locateHere: Shared['locate'] = (command) => locate(inventory, command)
  const sound = { ear: new Ear(), sounds: new SoundPoster({ clock: systemClock, link, log, report, token }) }
  const devicesAndLink = { bus, feeds, inventory, link, live, locate: locateHere }
  const shared: Shared = { ...devicesAndLink, ...sound, calendar, health, log, levels, model, token }
  const runner = createJobRunner({
    ...shared,
    childEnv,
    clock: calendar.clock,
    disk,
    enhancer: createEnhancer({ command: settings.renderCommand, env: childEnv, model, report }),
    report,
    settings: live,
    workDir: settings.agentDir,
  })
  const { calls, listen, meters, preflights, standby } = listeners(config, shared)
  devices.onChange(() => standby.look())
  const beside = [probe, standby, meters, listen, preflights, sound.sounds, calls]
  return {
    applyConfig: (said) => {
      defaults = said.audioDefaults ?? {}
      apply(said)
      standby.apply(said)
      meters.apply(said)
      if (settings.monitorChunkSync) listen.apply(said)
      preflights.apply(said)
      calls.apply(said)
      disk.cache.setPolicies(said.recorderCachePolicies)
    },
    bus,
    calendar,
    devices,
    health,
    inventory,
    kept: new KeptTakes({ cache: disk.cache, clock: systemClock, runner }),
    link,
    lock,
    runner,
    services: [disk.guard, devices, ...(settings.systemHealth ? [systemHealth] : []), ...beside],
    systemHealth,
    token,
  }
}
