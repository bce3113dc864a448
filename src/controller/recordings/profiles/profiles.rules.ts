import { type Fail, invalid } from '../../../kernel/fail.ts'
import { Enhancement, enhances, type Profile, type ProfileInput, type ProfilePatch } from '../../../wire/profiles.ts'

/** The defaults of a profile: those of the built-in voice profile. */
export const PROFILE_DEFAULTS: Omit<Profile, 'id' | 'name'> = {
  bitrateKbps: 128,
  channelMode: 'mono_to_stereo_mix',
  codec: 'mp3',
  enhancement: Enhancement.parse({}),
  silenceDetectionEnabled: false,
  silenceSkipEnabled: false,
  vbr: true,
}

/** `profile` with the given fields; null removes an optional one, `enhancement` is replaced whole. */
export function amended(profile: Profile, fields: ProfileInput | ProfilePatch): Profile {
  const merged = { ...profile, ...fields }
  const kept = Object.entries(merged).filter(([, value]) => value !== null && value !== undefined)
  return Object.fromEntries(kept) as unknown as Profile
}

/** A new profile with the defaults for missing fields; the enhancement chain only for a voice profile. */
export function fresh(id: string, input: ProfileInput): Profile {
  const voice = (input.channelMode ?? PROFILE_DEFAULTS.channelMode) !== 'multichannel'
  const { enhancement: chain, ...plain } = PROFILE_DEFAULTS
  return amended({ ...plain, ...(voice && chain ? { enhancement: chain } : {}), id, name: input.name }, input)
}

/** Why a profile contradicts itself: 400, or undefined when it does not. */
export const profileFault = ({ channelMode, enhancement }: Profile): Fail | undefined =>
  channelMode === 'multichannel' && enhances(enhancement)
    ? invalid(
        'A multichannel profile cannot enhance: enhancement makes one voice of all channels',
        ['enhancement'],
        'turn its enhancement off (null), or choose a mono, stereo or mixing mode',
        'enhancement_channel_mode',
      )
    : undefined
