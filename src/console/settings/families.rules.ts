// The families of settings as tables of fields: list, form and body come from them.

export interface FieldSpec {
  /** What an empty field means to the API; left out unless told otherwise. */
  empty?: 'null' | 'text'
  kind: 'choice' | 'number' | 'secret' | 'text' | 'tick'
  max?: number
  min?: number
  /** A value inside has dots in its name. */
  name: string
  /** Ticked on a new one: what the API does when nothing is said. */
  initially?: true
  /** Values of a choice; words stand in `settings.values`. */
  of?: readonly string[]
  /** Where the values of a choice are read, by id and name. */
  from?: string
  required?: true
  /** Shown only where the thing is of this kind. */
  when?: readonly [name: string, value: string]
}

export interface Family {
  /** Whether one can be deleted. */
  deletes?: true
  fields: readonly FieldSpec[]
  /** The field a thing is called by. */
  named: 'displayName' | 'name'
  path: string
}

const smb = (name: string): FieldSpec => ({ kind: 'text', name: `smb.${name}`, when: ['kind', 'smb'] })
const s3 = (name: string): FieldSpec => ({ kind: 'text', name: `s3.${name}`, when: ['kind', 's3'] })

const PRESETS = ['custom', 'aws', 'minio', 'cloudflare_r2', 'backblaze_b2', 'wasabi', 'digitalocean_spaces']

export const FAMILIES: Readonly<Record<'destinations' | 'retention' | 'uploads', Family>> = {
  destinations: {
    deletes: true,
    fields: [
      { kind: 'text', max: 160, name: 'displayName', required: true },
      { kind: 'choice', name: 'kind', of: ['s3', 'smb'] },
      { initially: true, kind: 'tick', name: 'enabled' },
      { kind: 'choice', name: 's3.preset', of: PRESETS, when: ['kind', 's3'] },
      ...['endpoint', 'region', 'bucket', 'prefix', 'accessKeyId'].map(s3),
      { kind: 'tick', name: 's3.forcePathStyle', when: ['kind', 's3'] },
      { kind: 'secret', name: 's3SecretAccessKey', when: ['kind', 's3'] },
      ...['server', 'share', 'path', 'domain', 'username'].map(smb),
      { kind: 'number', max: 65_535, min: 1, name: 'smb.port', when: ['kind', 'smb'] },
      { kind: 'secret', name: 'smbPassword', when: ['kind', 'smb'] },
    ],
    named: 'displayName',
    path: '/settings/upload-destinations',
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
  },
}
export type FamilyName = keyof typeof FAMILIES

/** The value at a name with dots. */
export const valueAt = (thing: Record<string, unknown> | undefined, name: string): unknown =>
  name.split('.').reduce<unknown>((at, step) => (at as Record<string, unknown> | undefined)?.[step], thing)
