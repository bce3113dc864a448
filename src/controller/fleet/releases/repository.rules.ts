import {
  ARCHES,
  type Arch,
  archiveOf,
  compareVersions,
  DIGEST,
  LATEST,
  SIGNATURE,
  SUMS,
  sumLine,
  tagOfVersion,
  versionOfTag,
} from '../../../system/host/release.rules.ts'

export interface HeldFile {
  arch: Arch
  /** When it was written, ISO. */
  at: string
  name: string
  /** Relative to the repository's directory. */
  path: string
  sha256: string
  /** Bytes. */
  size: number
  version: string
}

/** Archives, each verified against the list of checksums. */
export interface Held {
  archives: HeldFile[]
  signature?: Uint8Array
  /** SHA256SUMS, unchanged. */
  sums: string
  version: string
}

/** What the last segment of a download's path asks for. */
export type Asked =
  | { arch: Arch; kind: 'archive' | 'digest'; version: string }
  | { kind: 'facts' | 'signature' | 'sums'; version: string }

/** What a file name asks for; undefined for a name that no release can have. */
export function askedFor(file: string): Asked | undefined {
  const archive = archiveOf(file.endsWith(DIGEST) ? file.slice(0, -DIGEST.length) : file)
  if (archive) return { ...archive, kind: file.endsWith(DIGEST) ? 'digest' : 'archive' }
  for (const [ending, kind] of [[SIGNATURE, 'signature'] as const, [SUMS, 'sums'] as const]) {
    if (file === ending) return { kind, version: LATEST }
    if (file.endsWith(`.${ending}`)) return named(file.slice(0, -ending.length - 1), kind)
  }
  return named(file, 'facts')
}

const VERSION = /^[A-Za-z0-9][\w.+-]{0,79}$/
const named = (name: string, kind: 'facts' | 'signature' | 'sums'): Asked | undefined =>
  VERSION.test(name) ? { kind, version: versionOfTag(name) ?? name } : undefined

/**
 * One release from those held: for each architecture the newest archive of `version`, or of all versions for the latest. If
 * it combines several releases, it gets a list of checksums of its own, which is not signed.
 */
export function offerOf(held: readonly Held[], version: string): Held | undefined {
  const fitting = version === LATEST ? held : held.filter((one) => one.version === version)
  const [newest, ...older] = [...fitting].sort((a, b) => compareVersions(b.version, a.version))
  if (!newest) return undefined
  const all = [newest, ...older].flatMap((one) => one.archives)
  const archives = ARCHES.flatMap((arch) => all.find((one) => one.arch === arch) ?? [])
  if (archives.every((one) => newest.archives.includes(one))) return newest
  const sums = archives.map(({ name, sha256 }) => sumLine(name, sha256)).join('')
  return { archives, sums, version: newest.version }
}

/** Whether the controller's own executable is needed: no held release is as good. */
export function ownWanted(held: readonly Held[], own: { arch: Arch; version: string }, version: string): boolean {
  const has = (one: Held) => one.archives.some(({ arch }) => arch === own.arch)
  if (version !== LATEST) return version === own.version && !held.some((one) => one.version === version && has(one))
  return !held.some((one) => has(one) && compareVersions(one.version, own.version) >= 0)
}

/** A release as JSON. */
export const factsOf = ({ archives, version }: Held) => ({
  tag: tagOfVersion(version),
  version,
  files: archives.map(({ arch, name, sha256, size, version: of }) => ({ arch, name, sha256, size, version: of })),
})
