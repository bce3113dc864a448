import * as z from 'zod'
import { someField, text } from './scalars.ts'

export const CODECS = ['mp3', 'flac', 'wav'] as const
export type Codec = (typeof CODECS)[number]
export const CHANNEL_MODES = ['mono', 'stereo', 'mono_to_stereo_mix', 'multichannel'] as const
export const ChannelMode = z.enum(CHANNEL_MODES)
export type ChannelMode = z.infer<typeof ChannelMode>

/** Most channels an encoder takes: LAME is stereo, FLAC ends at eight; WAV has no practical limit here. */
export const CODEC_CHANNELS: Record<Codec, number> = { mp3: 2, flac: 8, wav: 256 }

export const DENOISERS = ['deepfilternet3', 'rnnoise'] as const

/** The enhancement chain in its order, with its defaults (docs/contract/agent.md: Enhancement). */
export const Enhancement = z.strictObject({
  keepRaw: z.boolean().default(true),
  denoise: z
    .strictObject({ enabled: z.boolean().default(true), engine: z.enum(DENOISERS).default('deepfilternet3') })
    .prefault({}),
  highpass: z
    .strictObject({ enabled: z.boolean().default(true), hz: z.number().int().min(20).max(500).default(80) })
    .prefault({}),
  lowpass: z
    .strictObject({ enabled: z.boolean().default(false), hz: z.number().int().min(2000).max(20_000).default(12_000) })
    .prefault({}),
  deesser: z
    .strictObject({ enabled: z.boolean().default(false), intensity: z.number().min(0).max(1).default(0.1) })
    .prefault({}),
  compressor: z.strictObject({ enabled: z.boolean().default(false) }).prefault({}),
  loudnorm: z
    .strictObject({
      enabled: z.boolean().default(true),
      targetI: z.number().min(-70).max(-5).default(-16),
      truePeak: z.number().min(-9).max(0).default(-1.5),
      lra: z.number().min(1).max(50).default(11),
    })
    .prefault({}),
  gate: z
    .strictObject({ enabled: z.boolean().default(false), thresholdDb: z.number().min(-80).max(0).default(-40) })
    .prefault({}),
})
export type Enhancement = z.infer<typeof Enhancement>

const STAGES = ['denoise', 'highpass', 'lowpass', 'deesser', 'compressor', 'loudnorm', 'gate'] as const

/** Whether any stage would change the sound: with every stage off a recording is raw only. */
export const enhances = (e: Enhancement | null | undefined): boolean => !!e && STAGES.some((stage) => e[stage].enabled)

const seconds = z.number().int().min(1).max(604_800)
const fields = {
  bitrateKbps: z.number().int().min(1).max(512),
  channelMode: ChannelMode,
  chunkSeconds: seconds.nullable(),
  codec: z.enum(CODECS),
  enhancement: Enhancement.nullable(),
  maxTrackSeconds: seconds.nullable(),
  name: text(1, 160),
  silenceDetectionEnabled: z.boolean(),
  silenceSkipEnabled: z.boolean(),
  vbr: z.boolean(),
}

/** Only the name is required; the rest comes from the built-in profile. */
export const ProfileInput = z.strictObject(fields).partial().required({ name: true })
export type ProfileInput = z.infer<typeof ProfileInput>
export const ProfilePatch = z.strictObject(fields).partial().refine(someField, 'At least one profile field is required')
export type ProfilePatch = z.infer<typeof ProfilePatch>

export interface Profile {
  bitrateKbps: number
  channelMode: ChannelMode
  chunkSeconds?: number
  codec: Codec
  enhancement?: Enhancement
  id: string
  maxTrackSeconds?: number
  name: string
  silenceDetectionEnabled: boolean
  silenceSkipEnabled: boolean
  vbr: boolean
}
