// The families of settings as tables of fields: list, form and body come from them.
import type { Permission } from '../../wire/permissions.ts'
import type { ChannelMode, Codec, Enhancement } from '../../wire/profiles.ts'
import type { BUILT_IN } from '../../wire/settings.ts'

export interface FieldSpec {
  /** What an empty field means to the API; left out unless told otherwise. A choice may be empty then. */
  empty?: 'null' | 'text'
  /** Fields of one group stand together; its word is that of the group. */
  group?: string
  /** Of a secret: what tells that one is stored. */
  has?: string
  kind: 'choice' | 'list' | 'map' | 'number' | 'secret' | 'text' | 'tick'
  max?: number
  min?: number
  /** A value inside has dots in its name. */
  name: string
  /** Of a secret that can be made here, of bytes that `random` fills. */
  made?: (random: (bytes: Uint8Array<ArrayBuffer>) => Uint8Array) => string
  /** Ticked on a new one: what the API does when nothing is said. */
  initially?: true
  /** Values of a choice; words stand in `settings.values`. */
  of?: readonly string[]
  /** Where the values of a choice are read, by id and name. */
  from?: string
  required?: true
  /** Of a number: whole unless told otherwise. */
  step?: 'any'
  /** Shown only where the thing is of this kind. */
  when?: readonly [name: string, value: string]
  /** What its words go by, where the name alone does not say what it is. */
  word?: string
}

export type Values = Record<string, unknown>
/** One of a family, as the API lists it. */
export type Thing = Values & { id: string }

export interface Family {
  /** What a form stands for, as the API takes it; without it as it is. */
  bodyOf?(entered: Values): Values
  /** Whether one can be deleted. */
  deletes?: true
  fields: readonly FieldSpec[]
  /** The thing whose values a new one has unless told otherwise. */
  model?: string
  /** The field a thing is called by. */
  named: 'displayName' | 'name'
  path: string
  read: Permission
  /** What a form shows of a thing; without it the thing itself. */
  valuesOf?(thing: Values): Values
  write: Permission
}

const settings = { read: 'settings:read', write: 'settings:manage' } as const

const smb = (name: string): FieldSpec => ({ kind: 'text', name: `smb.${name}`, when: ['kind', 'smb'] })
const s3 = (name: string): FieldSpec => ({ kind: 'text', name: `s3.${name}`, when: ['kind', 's3'] })

const PRESETS = ['custom', 'aws', 'minio', 'cloudflare_r2', 'backblaze_b2', 'wasabi', 'digitalocean_spaces']

const CODECS: readonly Codec[] = ['mp3', 'flac', 'wav']
const CHANNEL_MODES: readonly ChannelMode[] = ['mono_to_stereo_mix', 'mono', 'stereo', 'multichannel']
const DENOISERS: readonly Enhancement['denoise']['engine'][] = ['deepfilternet3', 'rnnoise']
const BUILT_IN_PROFILE: typeof BUILT_IN.profile = 'voice-mp3-vbr'
const BUILT_IN_WATCHDOG: typeof BUILT_IN.watchdog = 'scheduled-voice-watchdog'

const SECONDS = { kind: 'number', min: 1 } as const

/** A stage of the chain with its numbers, in the order in which they are heard. */
const stage = (name: string, ...values: readonly Omit<FieldSpec, 'group' | 'when'>[]): FieldSpec[] =>
  [{ kind: 'tick', name: 'enabled' } as const, ...values].map((spec) => ({
    ...spec,
    group: name,
    name: `enhancement.${name}.${spec.name}`,
    when: ['enhances', 'on'],
  }))
const number = (name: string, min: number, max: number, step?: 'any'): FieldSpec => ({
  kind: 'number',
  ...{ max, min, name },
  ...(step ? { step } : {}),
})

const profiles: Family = {
  bodyOf: ({ enhancement, enhances, ...rest }) => ({ ...rest, enhancement: enhances === 'on' ? enhancement : null }),
  fields: [
    { kind: 'text', max: 160, name: 'name', required: true },
    { kind: 'choice', name: 'codec', of: CODECS },
    { ...number('bitrateKbps', 1, 512), when: ['codec', 'mp3'] },
    { kind: 'tick', name: 'vbr', when: ['codec', 'mp3'] },
    { kind: 'choice', name: 'channelMode', of: CHANNEL_MODES },
    { ...SECONDS, empty: 'null', max: 604_800, name: 'chunkSeconds' },
    { ...SECONDS, empty: 'null', max: 604_800, name: 'maxTrackSeconds' },
    { kind: 'tick', name: 'silenceDetectionEnabled' },
    { kind: 'tick', name: 'silenceSkipEnabled' },
    { kind: 'choice', name: 'enhances', of: ['off', 'on'] },
    { initially: true, kind: 'tick', name: 'enhancement.keepRaw', when: ['enhances', 'on'] },
    ...stage('denoise', { kind: 'choice', name: 'engine', of: DENOISERS }),
    ...stage('highpass', number('hz', 20, 500)),
    ...stage('lowpass', number('hz', 2000, 20_000)),
    ...stage('deesser', number('intensity', 0, 1, 'any')),
    ...stage('compressor'),
    ...stage(
      'loudnorm',
      number('targetI', -70, -5, 'any'),
      number('truePeak', -9, 0, 'any'),
      number('lra', 1, 50, 'any'),
    ),
    ...stage('gate', number('thresholdDb', -80, 0, 'any')),
  ],
  model: BUILT_IN_PROFILE,
  named: 'name',
  path: '/settings/recording-profiles',
  ...settings,
  valuesOf: (profile) => ({ ...profile, enhances: profile.enhancement ? 'on' : 'off' }),
}

/** A rule that is off unless its mode says otherwise; an empty number is the value of the handbook. */
const rule = (mode: string, of: readonly [off: string, on: string], ...values: readonly FieldSpec[]): FieldSpec[] => [
  { empty: 'null', group: mode, kind: 'choice', name: mode, of },
  ...values.map((spec) => ({ empty: 'null' as const, group: mode, ...spec, when: [mode, of[1]] as const })),
]
const score = (name: string): FieldSpec => number(name, 0, 1, 'any')
const sum = (name: string): FieldSpec => number(name, 0, 86_400, 'any')

const watchdog: Family = {
  fields: [
    { kind: 'text', max: 160, name: 'name', required: true },
    { kind: 'choice', name: 'severity', of: ['critical', 'warning', 'info'] },
    { kind: 'choice', name: 'activeDuring', of: ['scheduled_recording', 'recording', 'always'] },
    { kind: 'choice', name: 'metric', of: ['rms', 'peak', 'percentile_95'] },
    number('thresholdDbfs', -160, 24, 'any'),
    sum('minCumulativeSecondsAboveThreshold'),
    number('windowSeconds', 1, 86_400),
    number('graceSeconds', 0, 86_400),
    number('repeatEverySeconds', 1, 86_400),
    ...rule(
      'qualityMode',
      ['signal_only', 'speech_required'],
      score('minSpeechScore'),
      sum('minCumulativeSpeechSeconds'),
    ),
    ...rule('clippingMode', ['off', 'alert_on_clipping'], sum('minCumulativeClippingSeconds')),
    ...rule(
      'flatlineMode',
      ['off', 'alert_on_flatline'],
      number('flatlineThresholdDbfs', -160, 24, 'any'),
      sum('minCumulativeFlatlineSeconds'),
    ),
    ...rule(
      'channelCorrelationMode',
      ['off', 'alert_on_high'],
      score('channelCorrelationThreshold'),
      sum('minCumulativeChannelCorrelationSeconds'),
    ),
    ...rule(
      'qualityAlertMode',
      ['off', 'alert_on_noise_hum_static'],
      ...['noise', 'broadbandNoise', 'hum', 'static'].map((what) => score(`${what}ScoreThreshold`)),
      sum('minCumulativeQualitySeconds'),
    ),
  ],
  model: BUILT_IN_WATCHDOG,
  named: 'name',
  path: '/settings/watchdog-policies',
  ...settings,
}

/** What is left empty goes where the order of the sources puts it. */
const maps: Family = {
  bodyOf: ({ entries, ...rest }) => ({ ...rest, entries: Object.values((entries ?? {}) as Values) }),
  fields: [
    { kind: 'text', max: 160, name: 'name', required: true },
    { kind: 'choice', name: 'channelMode', of: CHANNEL_MODES },
    { kind: 'list', name: 'tags' },
    { kind: 'map', name: 'entries' },
  ],
  named: 'name',
  path: '/settings/channel-map-templates',
  ...settings,
}

const switchers: Family = {
  deletes: true,
  fields: [
    { kind: 'text', max: 160, name: 'displayName', required: true },
    { initially: true, kind: 'tick', name: 'enabled' },
    { kind: 'choice', name: 'mode', of: ['observe', 'enforce', 'disabled'] },
    { kind: 'text', max: 255, name: 'host', required: true },
    { kind: 'number', max: 65_535, min: 1, name: 'port' },
    { empty: 'text', kind: 'text', max: 120, name: 'username' },
    { has: 'hasPassword', kind: 'secret', name: 'password' },
  ],
  named: 'displayName',
  path: '/settings/switchers',
  read: 'switcher:read',
  write: 'switcher:manage',
}

export type FamilyName = 'destinations' | 'maps' | 'profiles' | 'retention' | 'switchers' | 'uploads' | 'watchdog'

export const FAMILIES: Readonly<Record<FamilyName, Family>> = {
  profiles,
  watchdog,
  destinations: {
    // The share is replaced whole, also by nothing.
    bodyOf: (entered) => (entered.s3 === undefined ? { smb: {}, ...entered } : entered),
    deletes: true,
    fields: [
      { kind: 'text', max: 160, name: 'displayName', required: true },
      { kind: 'choice', name: 'kind', of: ['s3', 'smb'] },
      { initially: true, kind: 'tick', name: 'enabled' },
      { kind: 'choice', name: 's3.preset', of: PRESETS, when: ['kind', 's3'] },
      ...['endpoint', 'region', 'bucket', 'prefix', 'accessKeyId'].map(s3),
      { kind: 'tick', name: 's3.forcePathStyle', when: ['kind', 's3'] },
      { kind: 'tick', name: 'keepsLibrary', when: ['kind', 's3'] },
      { has: 'hasS3SecretAccessKey', kind: 'secret', name: 's3SecretAccessKey', when: ['kind', 's3'] },
      ...['server', 'share', 'path', 'domain', 'username'].map(smb),
      { kind: 'number', max: 65_535, min: 1, name: 'smb.port', when: ['kind', 'smb'] },
      { has: 'hasSmbPassword', kind: 'secret', name: 'smbPassword', when: ['kind', 'smb'] },
    ],
    named: 'displayName',
    path: '/settings/upload-destinations',
    ...settings,
  },
  retention: {
    fields: [
      { kind: 'text', max: 160, name: 'name', required: true },
      { initially: true, kind: 'tick', name: 'enabled' },
      { kind: 'choice', name: 'scope', of: ['controller_cache', 'recorder_cache'] },
      { kind: 'choice', name: 'action', of: ['keep', 'delete_cache'] },
      { empty: 'null', kind: 'number', max: 3650, min: 1, name: 'maxAgeDays' },
      { empty: 'null', kind: 'number', min: 1, name: 'maxBytes' },
      { empty: 'null', kind: 'number', max: 95, min: 0, name: 'minFreeDiskPercent' },
      { initially: true, kind: 'tick', name: 'deleteOnlyAfterUploaded' },
      { initially: true, kind: 'tick', name: 'preserveTagged' },
    ],
    named: 'name',
    path: '/settings/retention-policies',
    ...settings,
  },
  uploads: {
    fields: [
      { kind: 'text', max: 160, name: 'name', required: true },
      { initially: true, kind: 'tick', name: 'enabled' },
      { from: '/settings/upload-destinations', kind: 'choice', name: 'destinationId' },
      { kind: 'choice', name: 'trigger', of: ['manual', 'on_recording_cached'] },
      { kind: 'number', max: 100, min: 1, name: 'maxAttempts' },
      { empty: 'text', kind: 'text', max: 500, name: 'pathOverride' },
      { kind: 'tick', name: 'deleteCacheAfterUpload' },
    ],
    named: 'name',
    path: '/settings/upload-policies',
    ...settings,
  },
  maps,
  switchers,
}

/** The value at a name with dots. */
export const valueAt = (thing: Record<string, unknown> | undefined, name: string): unknown =>
  name.split('.').reduce<unknown>((at, step) => (at as Record<string, unknown> | undefined)?.[step], thing)

/**
 * Whether a field may not be left empty: what is left out of a body is kept by the API, unless it stands inside of
 * something (a name with dots) that is replaced whole.
 */
export const isNeeded = ({ empty, kind, name, required }: FieldSpec, stored: unknown): boolean =>
  required === true ||
  (['choice', 'number', 'text'].includes(kind) &&
    empty === undefined &&
    !name.includes('.') &&
    stored !== undefined &&
    stored !== null)

/** The word of a field: of its whole name, else of the last part. */
export const labelOf = ({ name, word = name }: FieldSpec, words: Readonly<Record<string, string>>): string =>
  words[word] ?? words[name.split('.').at(-1) ?? ''] ?? name

/** Neighbours of one group together; each field that has none stands alone. */
export const grouped = (fields: readonly FieldSpec[]): FieldSpec[][] =>
  fields.reduce<FieldSpec[][]>((groups, spec) => {
    const last = groups.at(-1)
    if (last && spec.group !== undefined && last[0]?.group === spec.group) last.push(spec)
    else groups.push([spec])
    return groups
  }, [])
