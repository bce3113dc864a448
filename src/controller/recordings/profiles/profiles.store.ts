import { Fail } from '../../../kernel/fail.ts'
import type { Profile, ProfileInput, ProfilePatch } from '../../../wire/profiles.ts'
import type { Visibility } from '../../http/visibility.ts'
import type { Db, Params } from '../../store/db.ts'
import { Lister, present } from '../../store/filter.ts'
import { amended, fresh, profileFault } from './profiles.rules.ts'

type Flag = 'silenceDetectionEnabled' | 'silenceSkipEnabled' | 'vbr'
type Row = { [K in Exclude<keyof Required<Profile>, Flag | 'enhancement'>]: Required<Profile>[K] | null } & {
  enhancement: string | null
} & Record<Flag, number>

const COLUMNS = `x.id, x.name, x.codec, x.bitrate_kbps AS bitrateKbps, x.vbr, x.channel_mode AS channelMode,
  x.silence_detection AS silenceDetectionEnabled, x.silence_skip AS silenceSkipEnabled,
  x.chunk_seconds AS chunkSeconds, x.max_track_seconds AS maxTrackSeconds, x.enhancement`

const profileOf = (row: Row): Profile =>
  present({
    ...row,
    enhancement: row.enhancement && JSON.parse(row.enhancement),
    silenceDetectionEnabled: row.silenceDetectionEnabled === 1,
    silenceSkipEnabled: row.silenceSkipEnabled === 1,
    vbr: row.vbr === 1,
  }) as Profile

const columns = (profile: Profile, now: string): Params => ({
  id: profile.id,
  name: profile.name,
  codec: profile.codec,
  bitrate: profile.bitrateKbps,
  vbr: Number(profile.vbr),
  channelMode: profile.channelMode,
  detection: Number(profile.silenceDetectionEnabled),
  skip: Number(profile.silenceSkipEnabled),
  chunk: profile.chunkSeconds ?? null,
  track: profile.maxTrackSeconds ?? null,
  enhancement: profile.enhancement ? JSON.stringify(profile.enhancement) : null,
  now,
})

function consistent(profile: Profile): Profile {
  const fault = profileFault(profile)
  if (fault) throw fault
  return profile
}

export function profileStore(db: Db) {
  const list = new Lister<Row>(db, { columns: COLUMNS, from: 'recording_profiles x' })
  const byId = db.stmt<{ id: string }, Row>(`SELECT ${COLUMNS} FROM recording_profiles x WHERE x.id = @id`)
  const insert = db.stmt<Params>(
    `INSERT INTO recording_profiles (id, name, codec, bitrate_kbps, vbr, channel_mode, silence_detection, silence_skip,
       chunk_seconds, max_track_seconds, enhancement, created_at, updated_at)
     VALUES (@id, @name, @codec, @bitrate, @vbr, @channelMode, @detection, @skip, @chunk, @track, @enhancement, @now, @now)`,
  )
  const update = db.stmt<Params>(
    `UPDATE recording_profiles SET name = @name, codec = @codec, bitrate_kbps = @bitrate, vbr = @vbr,
       channel_mode = @channelMode, silence_detection = @detection, silence_skip = @skip, chunk_seconds = @chunk,
       max_track_seconds = @track, enhancement = @enhancement, updated_at = @now WHERE id = @id`,
  )

  const find = (id: string): Profile | undefined => {
    const row = byId.get({ id })
    return row && profileOf(row)
  }
  const get = (id: string): Profile => {
    const profile = find(id)
    if (!profile) throw new Fail(404, 'not_found', 'Recording profile not found')
    return profile
  }

  return {
    find,
    /** @throws Fail 404 `not_found`. */
    get,
    /** Newest first. */
    list: (visibility: Visibility): Profile[] =>
      list.all(visibility.own('recording_profile'), 'x.created_at DESC, x.id').map(profileOf),
    /** Missing fields have the defaults of the built-in profile. @throws Fail 400 when it contradicts itself. */
    create(id: string, input: ProfileInput, now: string): Profile {
      insert.run(columns(consistent(fresh(id, input)), now))
      return get(id)
    },
    /** @throws Fail 404, or 400 when it would contradict itself. */
    patch(id: string, patch: ProfilePatch, now: string): { before: Profile; after: Profile } {
      const before = get(id)
      update.run(columns(consistent(amended(before, patch)), now))
      return { before, after: get(id) }
    },
  }
}
export type ProfileStore = ReturnType<typeof profileStore>
