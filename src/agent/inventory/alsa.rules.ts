// Parses the output of ALSA's tools and /proc/asound.

export interface Device {
  card: number
  /** ALSA card id, for example `MADI`; undefined when only the number is known. */
  cardId?: string
  device: number
  name: string
}

export interface Capabilities {
  channelCount?: number
  sampleRates?: number[]
}

/**
 * The usual rates, reported where a range contains them. At most sixteen are reported, so the two least common are left
 * out.
 */
const USUAL_RATES = [
  8000, 11_025, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 64_000, 88_200, 96_000, 176_400, 192_000, 352_800,
  384_000,
]
const MAX_RATES = 16
const MAX_CHANNELS = 256

const joined = (card: string, device: string): string =>
  card.toLowerCase() === device.toLowerCase() ? device : `${card} ${device}`

/** Lines `card N: ID [Label], device M: Name [Label]` of `arecord -l` in the C locale. */
export function parseArecordList(text: string): Device[] {
  const line = /^card (\d+): (\S+) \[(.*)\], device (\d+): .*? \[(.*)\]\s*$/
  return text.split('\n').flatMap((row) => {
    const m = line.exec(row)
    if (!m) return []
    const [card, cardId, cardLabel, device, label] = m.slice(1) as [string, string, string, string, string]
    return [{ card: Number(card), cardId, device: Number(device), name: joined(cardLabel.trim(), label.trim()) }]
  })
}

/** Lines `CC-DD: name : name : playback N : capture N` of /proc/asound/pcm that can capture. */
export function parseProcPcm(text: string): Device[] {
  return text.split('\n').flatMap((row) => {
    const m = /^(\d+)-(\d+): (.*?) : .*: capture \d+/.exec(row)
    return m ? [{ card: Number(m[1]), device: Number(m[2]), name: (m[3] as string).trim() }] : []
  })
}

const sortedRates = (rates: number[]): number[] => [...new Set(rates)].filter((r) => r > 0).sort((a, b) => a - b)

const within = (low: number, high: number): number[] => {
  const usual = USUAL_RATES.filter((rate) => rate >= low && rate <= high)
  return usual.length > 0 ? usual : [low]
}

/** At most sixteen; 48 and 44.1 kHz always stay, then the higher ones. */
export function cutRates(rates: number[]): number[] {
  if (rates.length <= MAX_RATES) return rates
  const first: number[] = rates.filter((rate) => rate === 48_000 || rate === 44_100)
  const rest = rates.filter((rate) => !first.includes(rate)).slice(first.length - MAX_RATES)
  return sortedRates([...first, ...rest])
}

const known = (channels: number[], rates: number[]): Capabilities => ({
  ...(channels.length > 0 ? { channelCount: Math.min(MAX_CHANNELS, Math.max(...channels)) } : {}),
  ...(rates.length > 0 ? { sampleRates: cutRates(sortedRates(rates)) } : {}),
})

/** The `Capture:` block of a USB card's stream file: the widest of its settings and the rates of all. */
export function parseStream(text: string): Capabilities {
  const start = text.search(/^Capture:/m)
  if (start < 0) return {}
  const block = text.slice(start).split(/^Playback:/m)[0] as string
  const channels = [...block.matchAll(/^\s*Channels:\s*(\d+)/gm)].map((m) => Number(m[1]))
  const rates = [...block.matchAll(/^\s*Rates:\s*(.+)$/gm)].flatMap((m) => {
    const line = m[1] as string
    const range = /^(\d+) - (\d+) \(continuous\)/.exec(line)
    return range ? within(Number(range[1]), Number(range[2])) : (line.match(/\d+/g) ?? []).map(Number)
  })
  return known(
    channels.filter((n) => n > 0),
    rates,
  )
}

/** One line of `--dump-hw-params`: a single value, a list, or an interval with open or closed ends. */
function dumped(text: string, key: string): number[] | undefined {
  const value = new RegExp(`^${key}:\\s*(.+)$`, 'm').exec(text)?.[1]
  const numbers = value?.match(/\d+/g)?.map(Number)
  return numbers && numbers.length > 0 ? numbers : undefined
}

/** Capabilities from `arecord --dump-hw-params`, whether or not recording then worked. */
export function parseHwDump(text: string): Capabilities {
  const rates = dumped(text, 'RATE')
  const interval = /^RATE:\s*[[(]\d+ \d+[\])]/m.test(text) && rates?.length === 2
  return known(
    dumped(text, 'CHANNELS') ?? [],
    interval ? within(rates[0] as number, rates[1] as number) : (rates ?? []),
  )
}

/** `hw_params` of an open substream: the mode in use. `closed` says nothing. */
export function parseOpenMode(text: string): Capabilities {
  const channels = /^channels:\s*(\d+)/m.exec(text)
  const rate = /^rate:\s*(\d+)/m.exec(text)
  return known(channels ? [Number(channels[1])] : [], rate ? [Number(rate[1])] : [])
}

const ALSA_HW = /^(?:plug)?hw:(?:CARD=)?([^,]+)(?:,(?:DEV=)?(\d+))?/

/** Card (id or number, as it was written) and device of an ALSA name; undefined when it names no hardware itself. */
export function alsaCard(device: string): { card: string; device: number } | undefined {
  const hit = ALSA_HW.exec(device)
  return hit ? { card: hit[1]!, device: Number(hit[2] ?? 0) } : undefined
}

/** Stable identity of a capture device; card numbers change on replugging and are the last resort. */
export const systemRef = (d: Device): string =>
  d.cardId ? `hw:CARD=${d.cardId},DEV=${d.device}` : `hw:${d.card},${d.device}`

/** The agent's own ID of an interface; the controller assigns another one. */
export function interfaceId(d: Device, listed: boolean): string {
  const token = (d.cardId ?? '').toLowerCase().replace(/[^a-z0-9]/g, '')
  return listed && token !== '' ? `alsa_card_${token}_dev_${d.device}` : `alsa_hw_${d.card}_${d.device}`
}
