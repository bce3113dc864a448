import * as z from 'zod'
import { BANDS_HZ } from './bands.ts'
import { MAX_LEVELS } from './meters.ts'
import { instant, text, toldText } from './scalars.ts'

const dbfs = z.number().min(-160).max(24)
const channel = z.number().int().min(1).max(32_767)

/** What one channel sounds like in its quiet moments (docs/contract/agent.md: Sound readings). */
export const SoundPrint = z.strictObject({
  /** Level of each octave band, in the order of `BANDS_HZ`. */
  bandsDbfs: z.array(dbfs).length(BANDS_HZ.length),
  channelIndex: channel,
  /** Seconds in which it clipped. */
  clippedSeconds: z.number().min(0).max(1e9),
  /** Every sample had the same value. */
  flat: z.boolean(),
  /** Noise floor, without a constant offset. */
  floorDbfs: dbfs,
  /** Mains hum: all its lines together. */
  humDbfs: dbfs,
  humHz: z.union([z.literal(50), z.literal(60)]),
  /** The channel it resembles most, from 0.8 on; negative: with inverted phase. */
  likeness: z.strictObject({ peerChannelIndex: channel, score: z.number().min(-1).max(1) }).optional(),
  /** Constant offset, full scale = 1. */
  offset: z.number().min(-2).max(2),
  peakDbfs: dbfs,
})
export type SoundPrint = z.infer<typeof SoundPrint>

const distinct = (prints: { channelIndex: number }[]): boolean =>
  new Set(prints.map((print) => print.channelIndex)).size === prints.length

const id = text(1, 160)
const ahead = { heardAt: instant, scheduleId: id, startsAt: instant }
const heard = {
  heardAt: instant,
  prints: z.array(SoundPrint).min(1).max(MAX_LEVELS).refine(distinct, 'a channel is named twice'),
  seconds: z.number().min(0).max(1e9),
}

/**
 * What a recorder heard: before a scheduled take (`preflight`, or `unopened` when the device could not be opened), in the
 * first minute of a take (`begun`), and in the quiet parts of a whole one (`take`).
 */
export const SoundReading = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('preflight'), ...ahead, ...heard }),
  z.strictObject({ kind: z.literal('unopened'), ...ahead, fault: toldText(1, 500) }),
  z.strictObject({ kind: z.literal('begun'), recordingId: id, ...heard }),
  z.strictObject({ kind: z.literal('take'), recordingId: id, ...heard }),
])
export type SoundReading = z.infer<typeof SoundReading>

/** A take a recorder has to listen to its device for, before it begins: what to open, and when. */
export interface PlannedPreflight {
  /** From when on, by the controller's clock. */
  listenAt: string
  command: {
    captureBackend?: 'alsa' | 'jack' | 'pipewire' | undefined
    captureDevice: string
    captureFormat: string
    captureSampleRate: number
    captureSystemRef?: string | undefined
    /** The channels of the take, from 1. */
    channels: number[]
  }
  scheduleId: string
  startsAt: string
}

/** How a channel is judged by what was heard of it. */
const SOUND_VERDICTS = ['ok', 'dead', 'hum', 'clipping', 'identical', 'unlike'] as const
export type SoundVerdict = (typeof SOUND_VERDICTS)[number]

export interface ChannelVerdict {
  channelIndex: number
  floorDbfs: number
  humDbfs: number
  label: string
  peakDbfs: number
  peerChannelIndex?: number
  /** Noise floor of the last good takes; absent while too few of them are known. */
  usualFloorDbfs?: number
  verdict: SoundVerdict
}

/** What was heard before the last take of a schedule. */
export interface Preflight {
  channels: ChannelVerdict[]
  /** Why the device could not be opened. */
  fault?: string
  heardAt: string
  /** In words, the worst first; empty when all is well. */
  messages: string[]
  nodeId: string
  scheduleId: string
  startsAt: string
}
