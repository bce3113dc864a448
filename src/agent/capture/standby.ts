import type { Clock } from '../../kernel/clock.ts'
import { errorFields, type Log } from '../../kernel/log.ts'
import type { AudioDefaults, NodeConfig } from '../../wire/nodes.ts'
import { isSampleFormat } from '../audio/format.rules.ts'
import type { LocalInterface } from '../inventory/alsa.ts'
import type { Service } from '../proc/bell.ts'
import { createBell } from '../proc/bell.ts'
import type { Feeds } from './feeds.ts'
import { captureRequest } from './request.ts'
import type { CaptureRights } from './rights.rules.ts'
import type { Want } from './slot.ts'
import { type StandbySettings, type StandbyWish, standbyWish } from './standby.rules.ts'

interface Settings extends StandbySettings {
  captureArgsTemplate?: string | undefined
  captureCommand: string
  captureRights?: CaptureRights | undefined
  meterArgsTemplate?: string | undefined
}

interface StandbyDeps {
  childEnv: NodeJS.ProcessEnv
  clock: Clock
  feeds: Feeds
  /** The capture devices of this machine now. */
  interfaces: () => Promise<LocalInterface[]>
  log: Log
  /** Settings as started; the controller's defaults are applied on top. */
  settings: Settings
}

/** How often the devices are checked: a newly plugged microphone is metered within this time. */
const LOOK_MS = 30_000
/** Duration given to templates: metering has no end. */
const ENDLESS_SECONDS = 86_400

/** Keeps the node's metering device open, so that there is something to see and hear while nothing is recorded. */
export class Standby implements Service {
  readonly #bell = createBell()
  readonly #deps: StandbyDeps
  #defaults: AudioDefaults = {}
  #done: Promise<void> = Promise.resolve()
  #stopping = false
  #want: { key: string; want: Want } | undefined

  constructor(deps: StandbyDeps) {
    this.#deps = deps
  }

  /** Applies the controller's audio defaults on top of the settings. */
  apply({ audioDefaults = {} }: NodeConfig): void {
    if (JSON.stringify(audioDefaults) === JSON.stringify(this.#defaults)) return
    this.#defaults = audioDefaults
    this.#bell.ring()
  }

  /** Checks the devices now, because they have changed. */
  look(): void {
    this.#bell.ring()
  }

  start(): void {
    this.#done = this.#run()
  }

  async stop(): Promise<void> {
    this.#stopping = true
    this.#bell.ring()
    await this.#done
    await this.#deps.feeds.stop()
  }

  async #run(): Promise<void> {
    const { feeds, log } = this.#deps
    while (!this.#stopping) {
      try {
        const want = await this.#look()
        if (!this.#stopping) feeds.standby(want)
      } catch (e) {
        // A bad template, or no device list: takes do not depend on it, and it is tried again.
        log.warn('could not open a device for metering; retrying in 30 s', errorFields(e))
        feeds.standby(undefined)
      }
      await this.#bell.wait(LOOK_MS)
    }
  }

  get #settings(): Settings {
    const { captureFormat, ...said } = this.#defaults
    const given = Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined))
    const format = captureFormat !== undefined && isSampleFormat(captureFormat) ? { captureFormat } : {}
    return { ...this.#deps.settings, ...given, ...format }
  }

  /** Returns the same object while nothing changes, so that the device is not reopened. */
  async #look(): Promise<Want | undefined> {
    const settings = this.#settings
    const interfaces = await this.#deps.interfaces()
    this.#deps.feeds.learn(interfaces)
    const wish = standbyWish(settings, interfaces)
    const { captureArgsTemplate, captureCommand, meterArgsTemplate, meterBackend } = settings
    const key = JSON.stringify([wish, captureArgsTemplate, captureCommand, meterArgsTemplate, meterBackend])
    if (!wish || key !== this.#want?.key) this.#want = wish && { key, want: await this.#wantOf(wish, settings) }
    return this.#want?.want
  }

  async #wantOf({ asked, device, interfaceRef }: StandbyWish, settings: Settings): Promise<Want> {
    const { childEnv: env, clock, feeds } = this.#deps
    const { captureCommand: command, captureRights: rights, meterBackend } = settings
    const backend = meterBackend === 'synthetic' ? 'alsa' : meterBackend
    const request = {
      ...{ argsTemplate: settings.meterArgsTemplate ?? settings.captureArgsTemplate, asked, backend, command },
      ...{ device, env, rights, seconds: ENDLESS_SECONDS },
    }
    return { ...(await captureRequest(request, { clock, feeds })), interfaceRef }
  }
}
