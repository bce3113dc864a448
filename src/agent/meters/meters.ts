// The node's meters: measures open devices, sends the levels to the controller, and judges them.
import type { Worker } from 'node:worker_threads'
import { startWorker } from '../../kernel/assets.ts'
import { type Clock, iso } from '../../kernel/clock.ts'
import { errorFields, type Log } from '../../kernel/log.ts'
import { MAX_LEVELS, type MeterFrame } from '../../wire/meters.ts'
import type { NodeConfig } from '../../wire/nodes.ts'
import type { Listener, Opening, SoundBus } from '../capture/bus.ts'
import type { Ear } from '../ear/ear.ts'
import type { Report } from '../health/report.ts'
import type { LocalInterface } from '../inventory/alsa.ts'
import type { Link } from '../link/link.ts'
import type { Service } from '../proc/bell.ts'
import type { Settings } from '../settings.ts'
import type { Token } from '../token.ts'
import type { Measurement } from './accumulator.ts'
import { Analysis } from './analysis.ts'
import { classify, type DeviceEdge, DeviceWatch } from './faults.rules.ts'
import { FramePoster } from './poster.ts'
import { SyntheticMeters } from './synthetic.ts'
import { InputWatch } from './watch.rules.ts'

export type MeterSettings = Pick<
  Settings,
  | 'captureDevice'
  | 'heartbeatSeconds'
  | 'meterBackend'
  | 'meterClipDbfs'
  | 'meterFlatlineDbfs'
  | 'meterLowSignalDbfs'
  | 'meterSampleSeconds'
  | 'nodeId'
>

interface MetersDeps {
  bus: Pick<SoundBus, 'subscribe'>
  clock: Clock
  /** Who listens closer than the meters do. Default: nobody. */
  ear?: Ear
  interfaces: () => Promise<LocalInterface[]>
  link: Pick<Link, 'meterFrame' | 'meterFrames'>
  log: Log
  report: Report
  settings: MeterSettings
  startAnalyst?: () => Worker
  token: Pick<Token, 'current' | 'refresh'>
}

/** Bounds memory: interface names come with the jobs and may be arbitrary. */
const MAX_WATCHED_DEVICES = 64
/**
 * Three ticks must agree (docs/contract/health.md: Rules of the agent). Every sample of a tick counts, so that a speaker's
 * pause is not taken for a low signal.
 */
const MAX_JUDGED_SECONDS = 5
/** A wire's limit: names of interfaces. */
const MAX_NAME_CHARACTERS = 255

/** It holds numbers; the sound is outside of its heap. Below 16 MB it would not start. */
const ANALYST_LIMITS = { maxOldGenerationSizeMb: 24, maxYoungGenerationSizeMb: 4 }
const startAnalyst = (): Worker => startWorker('agent/meters/analyst', { resourceLimits: ANALYST_LIMITS })

/** A measurement as the wire has it. */
export const frameOf = (opening: Opening, { capturedAt, levels, quick }: Measurement, nodeId: string): MeterFrame => ({
  capturedAt: iso(Math.round(capturedAt)),
  interfaceId: opening.interfaceRef.slice(0, MAX_NAME_CHARACTERS),
  levels: levels.slice(0, MAX_LEVELS),
  nodeId,
  ...(quick ? { quick } : {}),
  // A generator is shown, but not judged (ADR-0018).
  ...(opening.test ? { synthetic: true } : {}),
})

/** Owns analysis, sending and judging. Works without a controller as well. */
export class Meters implements Service {
  readonly #analysis: Analysis
  readonly #deps: MetersDeps
  readonly #devices = new DeviceWatch()
  readonly #poster: FramePoster
  readonly #synthetic: SyntheticMeters | undefined
  readonly #watches = new Map<string, InputWatch>()
  #heard: (opening: Opening, measurement: Measurement) => void = () => {}
  #unsubscribe = () => {}

  constructor(deps: MetersDeps) {
    const { ear, link, log, report, settings, token } = deps
    this.#deps = deps
    const unexpected = (e: unknown) => log.error('unexpected error in the meters', errorFields(e))
    this.#poster = new FramePoster({ link, log, report, token })
    this.#analysis = new Analysis({
      measured: (opening, measurement) => this.#measured(opening, measurement),
      options: { clipDbfs: settings.meterClipDbfs, seconds: settings.meterSampleSeconds },
      report,
      sliced: (opening, slice) => ear?.heard(opening, slice),
      start: deps.startAnalyst ?? startAnalyst,
    })
    ear?.onDemand((wanted) => this.#analysis.listen(wanted))
    if (settings.meterBackend === 'synthetic') this.#synthetic = this.#madeUp(unexpected)
  }

  /** Quick frames as long as somebody watches, and several together while nobody does; an older controller says nothing of it. */
  apply({ liveMeters }: Pick<NodeConfig, 'liveMeters'>): void {
    const perSecond = liveMeters?.requested ? liveMeters.framesPerSecond : 0
    this.#poster.together(liveMeters?.requested ? 0 : (liveMeters?.togetherSeconds ?? 0))
    this.#analysis.pace(perSecond)
    this.#synthetic?.pace(perSecond)
  }

  /** Calls `listener` with every measurement of an open device, in place of an earlier one. */
  tell(listener: (opening: Opening, measurement: Measurement) => void): void {
    this.#heard = listener
  }

  start(): void {
    if (this.#synthetic) this.#synthetic.start()
    else this.#unsubscribe = this.#deps.bus.subscribe(this.#listener())
  }

  async stop(): Promise<void> {
    this.#unsubscribe()
    this.#poster.stop()
    await this.#synthetic?.stop()
    await this.#analysis.stop()
  }

  #madeUp(unexpected: (e: unknown) => void): SyntheticMeters {
    const { clock, interfaces, settings } = this.#deps
    const { captureDevice: device, meterSampleSeconds: seconds, nodeId } = settings
    return new SyntheticMeters({
      clock,
      device,
      interfaces,
      nodeId,
      post: (frame) => this.#poster.post(frame),
      seconds,
      unexpected,
    })
  }

  #listener(): Listener {
    return {
      block: (opening, frames, capturedAt) => this.#analysis.add(opening, frames, capturedAt),
      closed: (opening, fault) => {
        this.#analysis.close(opening)
        if (fault !== undefined) this.#faulty(opening.device, fault, opening.format.format)
      },
      gap: (opening, seconds) =>
        this.#tell(this.#devices.fault(opening.device, 'xrun', { ...this.#where(opening.format.format), seconds })),
      opened: (opening) => this.#analysis.open(opening),
      unavailable: (device, fault) => this.#faulty(device, fault),
    }
  }

  #where(format?: string): Record<string, unknown> {
    const { meterBackend: backend, nodeId } = this.#deps.settings
    return { backend, ...(format ? { format } : {}), nodeId }
  }

  #faulty(device: string, words: string, format?: string): void {
    const details = { ...this.#where(format), error: words.slice(-500) }
    this.#tell(this.#devices.fault(device, classify(words), details))
  }

  #tell(edges: DeviceEdge[]): void {
    for (const edge of edges) this.#deps.report(edge)
  }

  #measured(opening: Opening, measurement: Measurement): void {
    const frame = frameOf(opening, measurement, this.#deps.settings.nodeId)
    this.#heard(opening, measurement)
    this.#poster.post(frame)
    if (frame.quick) return
    this.#tell(this.#devices.heard(opening.device))
    if (!opening.test) this.#judge(frame)
  }

  #judge(frame: MeterFrame): void {
    for (const { details, raised, rule } of this.#watchOf(frame.interfaceId).add(frame))
      this.#deps.report({
        details,
        severity: raised ? 'warning' : 'info',
        type: `agent.meter.${rule}${raised ? '' : '_recovered'}`,
      })
  }

  #watchOf(interfaceId: string): InputWatch {
    const known = this.#watches.get(interfaceId)
    if (known) return known
    const { heartbeatSeconds, meterClipDbfs, meterFlatlineDbfs, meterLowSignalDbfs, meterSampleSeconds } =
      this.#deps.settings
    const thresholds = {
      clipDbfs: meterClipDbfs,
      flatlineDbfs: meterFlatlineDbfs,
      lowSignalDbfs: meterLowSignalDbfs,
    }
    const seconds = Math.min(heartbeatSeconds, MAX_JUDGED_SECONDS)
    const watch = new InputWatch(thresholds, Math.max(1, Math.round(seconds / meterSampleSeconds)))
    if (this.#watches.size >= MAX_WATCHED_DEVICES) this.#watches.delete(this.#watches.keys().next().value!)
    this.#watches.set(interfaceId, watch)
    return watch
  }
}
