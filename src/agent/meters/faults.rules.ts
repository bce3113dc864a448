// Classifies failing devices by the output of the capture program (docs/contract/health.md: Rules of the
// agent).
import type { Severity } from '../../wire/health.ts'

type FaultKind = 'capture_failed' | 'device_unavailable' | 'xrun'

const SEVERITY: Record<FaultKind, Severity> = {
  capture_failed: 'warning',
  device_unavailable: 'critical',
  xrun: 'warning',
}
const XRUN = /overrun|underrun|xrun|broken pipe/i
const UNAVAILABLE =
  /no such device|no such file or directory|unknown pcm|cannot find card|device or resource busy|input\/output error/i

export const classify = (words: string): FaultKind =>
  XRUN.test(words) ? 'xrun' : UNAVAILABLE.test(words) ? 'device_unavailable' : 'capture_failed'

export interface DeviceEdge {
  details: Record<string, unknown>
  severity: Severity
  type: string
}

/** Bounds memory: device names come with the jobs and may be arbitrary. */
const MAX_DEVICES = 64
/** A device with occasional overruns does not recover with every good second. */
const WHOLE_FRAMES = { capture_failed: 1, device_unavailable: 1, xrun: 3 }

/** Reports each change of a device's state once. */
export class DeviceWatch {
  readonly #troubles = new Map<string, { good: number; kind: FaultKind }>()

  fault(name: string, kind: FaultKind, details: Record<string, unknown>): DeviceEdge[] {
    const device = plain(name)
    const before = this.#troubles.get(device)?.kind
    this.#troubles.delete(device)
    if (this.#troubles.size >= MAX_DEVICES) this.#troubles.delete(this.#troubles.keys().next().value!)
    this.#troubles.set(device, { good: 0, kind })
    if (before === kind) return []
    const told = { classification: kind, device: name, ...details, usingSyntheticFallback: false }
    return [{ details: told, severity: SEVERITY[kind], type: `agent.meter.${kind}` }]
  }

  /** A frame of it was measured. */
  heard(name: string): DeviceEdge[] {
    const device = plain(name)
    const trouble = this.#troubles.get(device)
    if (!trouble || ++trouble.good < WHOLE_FRAMES[trouble.kind]) return []
    this.#troubles.delete(device)
    const details = { device: name, previousKind: trouble.kind, previousType: `agent.meter.${trouble.kind}` }
    return [{ details, severity: 'info', type: 'agent.meter.capture_recovered' }]
  }
}

/** The same device with or without ALSA's conversion layer. */
const plain = (name: string): string => name.replace(/^plug(?=hw:)/, '')
