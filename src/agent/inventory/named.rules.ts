// A device that is not a card: a sound server, a name in asound.conf, a custom program.
import type { AudioDefaults, CaptureBackend } from '../../wire/nodes.ts'
import { alsaCard } from './alsa.rules.ts'
import { channelList, type LocalInterface } from './alsa.ts'

/** The settings that say how to record. */
interface CaptureSettings {
  captureArgsTemplate?: string | undefined
  captureBackend: CaptureBackend
  captureChannels: number
  captureCommand: string
  captureDevice: string
  captureSampleRate: number
  /** The operator set a device, even if it is `default`. */
  deviceNamed: boolean
}

const ARECORD = /(^|\/)arecord$/

/** Whether somebody configured what to record from. */
function isNamed(s: CaptureSettings): boolean {
  if (s.captureBackend !== 'alsa' || s.captureArgsTemplate !== undefined) return true
  if (!ARECORD.test(s.captureCommand)) return true
  return s.deviceNamed && alsaCard(s.captureDevice) === undefined
}

/**
 * The interface of the device that the settings name, or the controller's defaults, which win; undefined when neither
 * names one.
 */
export function namedInterface(settings: CaptureSettings, defaults: AudioDefaults): LocalInterface | undefined {
  const said = Object.fromEntries(Object.entries(defaults).filter(([, value]) => value !== undefined))
  const s: CaptureSettings = { ...settings, ...said }
  if (!isNamed({ ...s, deviceNamed: settings.deviceNamed || defaults.captureDevice !== undefined })) return undefined
  const { captureBackend: backend, captureChannels: channelCount, captureDevice: name, captureSampleRate } = s
  return {
    alias: `Configured device ${name}`.slice(0, 160),
    backend,
    channelCount,
    channels: channelList(channelCount),
    id: 'iface_configured',
    sampleRates: [captureSampleRate],
    systemName: name,
    systemRef: name,
  }
}
