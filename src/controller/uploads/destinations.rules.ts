import type { Destination, DestinationKind, S3Options, SmbOptions } from '../../wire/uploads.ts'

/** A stored destination; of its secrets only whether they are set. */
export interface StoredDestination {
  displayName: string
  enabled: boolean
  hasS3SecretAccessKey: boolean
  hasSmbPassword: boolean
  id: string
  keepsLibrary: boolean
  kind: DestinationKind
  s3?: S3Options | undefined
  smb?: SmbOptions | undefined
  updatedAt: string
}

/** Why a kind cannot be used on this machine; undefined when it can. */
export type Unavailable = (kind: DestinationKind) => string | undefined

const REQUIRED: Record<DestinationKind, readonly string[]> = {
  s3: ['s3.bucket', 's3.accessKeyId', 's3.secretAccessKey', 's3.region|s3.endpoint'],
  smb: ['smb.server', 'smb.share', 'smb.username', 'smb.password'],
}

function isGiven(d: StoredDestination, field: string): boolean {
  if (field === 'smb.password') return d.hasSmbPassword
  if (field === 's3.secretAccessKey') return d.hasS3SecretAccessKey
  if (field.includes('|')) return field.split('|').some((one) => isGiven(d, one))
  const [kind, name = ''] = field.split('.') as [DestinationKind, string]
  return Boolean((d[kind] as Record<string, unknown> | undefined)?.[name])
}

/** A destination in its wire format, with its state (docs/contract/uploads.md: Destinations). */
export function describe(d: StoredDestination, unavailable: Unavailable): Destination {
  const requiredFields = [...REQUIRED[d.kind]]
  const missingFields = requiredFields.filter((field) => !isGiven(d, field))
  const absent = unavailable(d.kind)
  const { status, reason } = stateOf(d, missingFields, absent)
  const target = targetOf(d)
  return {
    configured: d.enabled && missingFields.length === 0,
    displayName: d.displayName,
    enabled: d.enabled,
    hasS3SecretAccessKey: d.hasS3SecretAccessKey,
    hasSmbPassword: d.hasSmbPassword,
    id: d.id,
    implemented: absent === undefined,
    keepsLibrary: d.keepsLibrary,
    kind: d.kind,
    missingFields,
    ...(reason ? { reason } : {}),
    requiredFields,
    ...(d.s3 ? { s3: d.s3 } : {}),
    ...(d.smb ? { smb: d.smb } : {}),
    status,
    ...(target ? { target } : {}),
    updatedAt: d.updatedAt,
  }
}

function stateOf(
  d: StoredDestination,
  missing: string[],
  absent: string | undefined,
): Pick<Destination, 'status'> & { reason?: string } {
  if (missing.length > 0) return { status: 'not_configured', reason: `missing_${missing.join('_and_')}` }
  if (!d.enabled) return { status: 'disabled', reason: 'destination_disabled' }
  if (absent !== undefined) return { status: 'not_implemented', reason: absent }
  return { status: 'ready' }
}

/** `smb://server/share[/path]` or `s3://bucket[/prefix]`; undefined while the first two are not known. */
function targetOf({ kind, s3, smb }: StoredDestination): string | undefined {
  if (kind === 'smb')
    return smb?.server && smb.share ? `smb://${[smb.server, smb.share, ...segments(smb.path)].join('/')}` : undefined
  return s3?.bucket ? `s3://${[s3.bucket, ...segments(s3.prefix)].join('/')}` : undefined
}

/** The folders of a path: split at slashes and backslashes, without empty, `.` and `..` segments. */
export const segments = (path: string | undefined): string[] =>
  (path ?? '')
    .split(/[/\\]/)
    .map((part) => part.trim())
    .filter((part) => part !== '' && part !== '.' && part !== '..')

/** Where items of a policy are sent, as text for people. */
export const targetWith = (destination: Destination, pathOverride: string | undefined): string | undefined =>
  destination.target && [destination.target, ...segments(pathOverride)].join('/')

const SMB_PORT = 445

// Normalised for comparison: names without case, a missing port as the default one.
const SMB_PLACE = ({ port, server, share }: SmbOptions) => ({
  port: port ?? SMB_PORT,
  server: server?.toLowerCase(),
  share: share?.toLowerCase(),
})
const S3_PLACE = ({ endpoint }: S3Options) => ({ endpoint: endpoint?.replace(/\/+$/, '') })

const named = <T extends object>(before: T, after: T): string[] =>
  (Object.keys(after) as (keyof T & string)[]).filter((k) => after[k] !== undefined && after[k] !== before[k])

/**
 * The changed fields that would send the stored secret (or what is signed with it) to another place than it was entered
 * for. Removing a field redirects nothing; setting it again does.
 */
export const redirections = {
  s3: (before: S3Options | undefined, after: S3Options): string[] => named(S3_PLACE(before ?? {}), S3_PLACE(after)),
  smb: (before: SmbOptions | undefined, after: SmbOptions): string[] =>
    named(SMB_PLACE(before ?? {}), SMB_PLACE(after)),
}

/** Whether the settings of a destination name another place: what lies at the one before is not there. */
export const isMoved = {
  s3: (before: S3Options | undefined, after: S3Options): boolean =>
    before?.bucket !== after.bucket || S3_PLACE(before ?? {}).endpoint !== S3_PLACE(after).endpoint,
  smb: (before: SmbOptions | undefined, after: SmbOptions): boolean =>
    JSON.stringify(SMB_PLACE(before ?? {})) !== JSON.stringify(SMB_PLACE(after)),
}
