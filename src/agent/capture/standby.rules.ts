// Which device is kept open for the meters while nothing is recorded (docs/contract/agent.md: Meters).

import type { PcmFormat, SampleFormat } from '../audio/format.rules.ts'
import { alsaCard } from '../inventory/alsa.rules.ts'
import type { LocalInterface } from '../inventory/alsa.ts'

export interface StandbySettings {
  captureChannels: number
  captureDevice: string
  captureFormat: SampleFormat
  captureSampleRate: number
  meterBackend: 'alsa' | 'jack' | 'pipewire' | 'synthetic'
}

export interface StandbyWish {
  asked: PcmFormat
  device: string
  interfaceRef: string
}

const plain = (text: string): string => text.toLowerCase().replaceAll(/[^a-z0-9]/g, '')

/** The interface a configured name means: by its ref, by position, or by the card's token in its name. */
export function interfaceOf(device: string, interfaces: LocalInterface[]): LocalInterface | undefined {
  const wanted = alsaCard(device)
  if (!wanted) return undefined
  const sameDevice = interfaces.filter((i) => alsaCard(i.systemRef ?? '')?.device === wanted.device)
  const byRef = sameDevice.find((i) => alsaCard(i.systemRef!)!.card === wanted.card)
  if (byRef) return byRef
  if (/^\d+$/.test(wanted.card)) return interfaces.find((i) => i.id === `alsa_hw_${wanted.card}_${wanted.device}`)
  return sameDevice.find((i) => plain(i.systemName).includes(plain(wanted.card)))
}

/** 48 kHz where it is offered, else the next higher rate, else the highest. */
const bestRate = (rates: number[]): number =>
  rates.includes(48_000) ? 48_000 : (rates.find((rate) => rate > 48_000) ?? rates.at(-1) ?? 48_000)

/** What to keep open; undefined when meters are made up, or there is nothing to open. */
export function standbyWish(s: StandbySettings, interfaces: LocalInterface[]): StandbyWish | undefined {
  if (s.meterBackend === 'synthetic') return undefined
  const { captureDevice: device, captureFormat: format } = s
  const named = s.meterBackend === 'alsa' ? interfaceOf(device, interfaces) : undefined
  // A name of its own, from asound.conf or another sound system: it is opened as it is configured.
  const own = s.meterBackend !== 'alsa' || (device !== 'default' && !alsaCard(device))
  const found = own ? undefined : (named ?? interfaces.find((i) => i.systemRef !== undefined))
  if (!found) {
    if (!own) return undefined
    const asked = { channels: s.captureChannels, format, rate: s.captureSampleRate }
    return { asked, device, interfaceRef: device }
  }
  const asked = { channels: found.channelCount, format, rate: bestRate(found.sampleRates) }
  return { asked, device: named ? device : found.systemRef!, interfaceRef: found.systemRef! }
}
