// Whether a room sounds as it should before a take: what was heard of each channel against its last good takes (ADR-0041).
import { BANDS_HZ, SILENCE_DBFS } from '../../../wire/bands.ts'
import type { Severity } from '../../../wire/health.ts'
import type { Command } from '../../../wire/recordings.ts'
import type { ChannelVerdict, SoundPrint, SoundVerdict } from '../../../wire/soundreadings.ts'

/** The channels of the device a take wants, from 1. */
export function wantedOf({ captureChannels, captureChannelSelection, channelMap }: Command): number[] {
  const mapped = channelMap?.entries.filter(({ included }) => included).map((entry) => entry.sourceChannelIndex) ?? []
  if (mapped.length > 0) return [...new Set(mapped)]
  return captureChannelSelection ?? Array.from({ length: captureChannels }, (_, i) => i + 1)
}

/** Whether a take keeps its channels as separate microphones; a stereo pair may well carry one voice. */
export const keepsApart = ({ channelMap, channelMode }: Command): boolean =>
  (channelMap?.channelMode ?? channelMode) === 'multichannel'

/** A channel a take wants, and its prints of good takes, the newest first. */
export interface Wanted {
  channelIndex: number
  label: string
  usual: readonly SoundPrint[]
}

interface Reading {
  prints: readonly SoundPrint[]
  seconds: number
}

/** Good takes a channel has to be known from before it is judged by them. */
const FEWEST = 3
/** A bang clips for a second; a line that is too loud does it most of the time. */
const CLIPPING_PART = 0.75
/** Hum this far above what is usual, and loud enough to be heard in a take; without anything usual: a bare cable. */
const HUM_MORE_DB = 15
const HUM_HEARD_DBFS = -70
const BARE_HUM_DBFS = -45
/** Part of the floor that is hum, as dB below it. */
const HUM_REIGNS_DB = 6
/** The same sound on two channels: for sure, and when in good takes they are much less alike. */
const IDENTICAL = 0.98
const ALIKE = 0.9
const ALIKE_NEWS = 0.1
/** A dead line is quieter than the room ever was, and hisses where the room rumbles. */
const DEAD_DB = 6
const DEAD_TILT_DB = 8
/** Whatever it sounds like: no ventilation that is switched off makes so much of a difference. */
const SURELY_DEAD_DB = 25
/** The same sound, but so much louder or fainter than it ever was: somebody turned a knob. */
const KNOB_DB = 16
const ALIKE_DB = 3

const power = (db: number): number => 10 ** (db / 10)
const decibels = (p: number): number => (p > 0 ? 10 * Math.log10(p) : -160)
const widthOf = (hz: number): number => hz / Math.SQRT2
const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] as number

/** How far the rumble (88 to 354 Hz, without hum) lies above the hiss (from 1.4 kHz), per Hz; white noise: 0 dB. */
export function tiltOf({ bandsDbfs, humDbfs }: Pick<SoundPrint, 'bandsDbfs' | 'humDbfs'>): number {
  const sum = (from: number, to: number) => {
    const bands = BANDS_HZ.map((hz, i) => ({ hz, level: bandsDbfs[i] as number }))
    const within = bands.filter(({ hz, level }) => hz >= from && hz <= to && level > -150)
    const total = within.reduce((all, { level }) => all + power(level), 0)
    return { total, width: within.reduce((all, { hz }) => all + widthOf(hz), 0) }
  }
  const [low, high] = [sum(125, 250), sum(2000, 4000)]
  // The rest beside the hum cannot be told better than to a thousandth of it.
  const rumble = Math.max(low.total - power(humDbfs), low.total / 1000)
  if (low.width === 0 || high.width === 0) return 0
  return decibels(rumble / low.width) - decibels(high.total / high.width)
}

/** What is usual of a channel. */
interface Usual {
  floor: number
  /** Extremes over the good takes. */
  hum: number
  likeness: number
  lowestFloor: number
  prints: readonly SoundPrint[]
  /** Of the quietest of them. */
  tilt: number
}

function usualOf(prints: readonly SoundPrint[]): Usual | undefined {
  if (prints.length < FEWEST) return undefined
  // Some takes have hardly a pause: their quietest moments are still somebody's voice.
  const quietest = prints.toSorted((a, b) => a.floorDbfs - b.floorDbfs).slice(0, Math.ceil(prints.length / 3))
  return {
    floor: median(prints.map((p) => p.floorDbfs)),
    hum: Math.max(...prints.map((p) => p.humDbfs)),
    likeness: median(prints.map((p) => Math.abs(p.likeness?.score ?? 0))),
    lowestFloor: Math.min(...prints.map((p) => p.floorDbfs)),
    prints,
    tilt: median(quietest.map(tiltOf)),
  }
}

/** How much louder all of it is than another print, and how far the bands are from being that much louder, dB. */
function shiftOf(print: SoundPrint, other: SoundPrint): { apart: number; shift: number } {
  const differences = other.bandsDbfs.flatMap((level, i) =>
    level > -150 ? [(print.bandsDbfs[i] as number) - level] : [],
  )
  const shift = differences.reduce((sum, d) => sum + d, 0) / Math.max(1, differences.length)
  const apart = Math.sqrt(differences.reduce((sum, d) => sum + (d - shift) ** 2, 0) / Math.max(1, differences.length))
  return { apart, shift }
}

/** Far from every known print, but of the shape of the nearest. */
function isTurned(print: SoundPrint, { prints }: Usual): boolean {
  const [nearest] = prints.map((one) => shiftOf(print, one)).sort((a, b) => Math.abs(a.shift) - Math.abs(b.shift))
  return nearest !== undefined && Math.abs(nearest.shift) >= KNOB_DB && nearest.apart <= ALIKE_DB
}

const isDead = ({ flat, floorDbfs }: SoundPrint): boolean => flat || floorDbfs <= SILENCE_DBFS

function hums({ floorDbfs, humDbfs }: SoundPrint, usual: Usual | undefined): boolean {
  if (humDbfs < floorDbfs - HUM_REIGNS_DB) return false
  return usual ? humDbfs >= Math.max(HUM_HEARD_DBFS, usual.hum + HUM_MORE_DB) : humDbfs >= BARE_HUM_DBFS
}

function judged(print: SoundPrint, seconds: number, usual: Usual | undefined, apart: boolean): SoundVerdict {
  if (isDead(print)) return 'dead'
  if (print.clippedSeconds >= Math.max(2, CLIPPING_PART * seconds)) return 'clipping'
  if (hums(print, usual)) return 'hum'
  const alike = Math.abs(print.likeness?.score ?? 0)
  if (usual ? alike >= ALIKE && usual.likeness < alike - ALIKE_NEWS : apart && alike >= IDENTICAL) return 'identical'
  if (!usual) return 'ok'
  const lower = usual.lowestFloor - print.floorDbfs
  if (lower >= SURELY_DEAD_DB || (lower >= DEAD_DB && tiltOf(print) <= usual.tilt - DEAD_TILT_DB)) return 'dead'
  return isTurned(print, usual) ? 'unlike' : 'ok'
}

/**
 * Judges what was heard of each wanted channel. `apart`: whether the take keeps them as separate microphones. A channel the
 * device did not give is dead.
 */
export function verdictsOf({ prints, seconds }: Reading, wanted: readonly Wanted[], apart: boolean): ChannelVerdict[] {
  const own = new Set(wanted.map(({ channelIndex }) => channelIndex))
  return wanted.map(({ channelIndex, label, usual: known }) => {
    const print = prints.find((one) => one.channelIndex === channelIndex)
    if (!print) return { channelIndex, floorDbfs: -160, humDbfs: -160, label, peakDbfs: -160, verdict: 'dead' }
    const usual = usualOf(known)
    const peer = print.likeness?.peerChannelIndex
    const verdict = judged(print, seconds, usual, apart && peer !== undefined && own.has(peer))
    return {
      channelIndex,
      floorDbfs: print.floorDbfs,
      humDbfs: print.humDbfs,
      label,
      peakDbfs: print.peakDbfs,
      ...(verdict === 'identical' && peer !== undefined ? { peerChannelIndex: peer } : {}),
      ...(usual ? { usualFloorDbfs: usual.floor } : {}),
      verdict,
    }
  })
}

/** Good takes a room is known by. */
export const REMEMBERED = 10

/**
 * The prints a channel is known by after a good take, the newest first. A line that was judged not to be in order teaches
 * nothing; one whose level was set to another place begins anew.
 */
export function usualAfter<T>(known: readonly T[], print: T, verdict: SoundVerdict): T[] {
  if (verdict === 'unlike') return [print]
  return verdict === 'ok' ? [print, ...known].slice(0, REMEMBERED) : [...known]
}

type Found = { channels: readonly ChannelVerdict[]; fault?: string | undefined }

/** Critical: nothing at all would be recorded. */
export const severityOf = ({ channels }: Found): Severity =>
  channels.every(({ verdict }) => verdict === 'dead') ? 'critical' : 'warning'

/** What is wrong, in words; none when all is well. */
export function messagesOf({ channels, fault }: Found): string[] {
  if (fault !== undefined)
    return [
      `The device of the take could not be opened: ${fault.replace(/[.\s]+$/, '')}. Check that it is connected, and that no other program uses it.`,
    ]
  const dead = channels.filter(({ verdict }) => verdict === 'dead')
  return [...dead, ...channels.filter((one) => !dead.includes(one))].flatMap((one) => messageOf(one) ?? [])
}

const dB = (value: number): string => `${Math.round(value)} dBFS`

/** What is wrong with a channel, and what to do; undefined when nothing is. */
function messageOf(verdict: ChannelVerdict): string | undefined {
  const { channelIndex, floorDbfs, humDbfs, label, peakDbfs, peerChannelIndex, usualFloorDbfs } = verdict
  const name = label === `Channel ${channelIndex}` ? label : `Channel ${channelIndex} (${label})`
  const usual = usualFloorDbfs === undefined ? '' : `; usual is ${dB(usualFloorDbfs)}`
  switch (verdict.verdict) {
    case 'ok':
      return undefined
    case 'dead':
      return `${name}: no microphone is heard (${floorDbfs <= SILENCE_DBFS ? 'digital silence' : `only ${dB(floorDbfs)} of noise`}${usual}). Check its cable, its power and whether it is muted.`
    case 'hum':
      return `${name}: loud mains hum (${dB(humDbfs)}${usual}). Check for a cable that is open or half plugged in, and for a ground loop.`
    case 'clipping':
      return `${name}: clips (peaks at ${dB(peakDbfs)}). Turn its gain down.`
    case 'identical':
      return `${name}: carries the same sound as channel ${peerChannelIndex}. Check which input each microphone is plugged into.`
    case 'unlike':
      return `${name}: sounds as usual, but much ${floorDbfs > (usualFloorDbfs ?? floorDbfs) ? 'louder' : 'fainter'} (${dB(floorDbfs)}${usual}). Check its gain.`
  }
}
