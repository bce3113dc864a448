import { Enhancement, type Profile, type ProfileInput, type ProfilePatch } from '../../wire/profiles.ts'

/** What a profile has when its maker gives only a name: the built-in voice profile as it was shipped. */
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
