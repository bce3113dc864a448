// Names of releases and their files: tag `agent-vYYYY.MM.DD-N`, one archive per architecture, SHA256SUMS.
//
// A controller serves them at /api/v1/nodes/<node>/agent-release/ for a node's credential or an unused bootstrap token:
//   latest, <tag>                    JSON `{ data: { tag, version, files: [{ name, arch, version, sha256, size }] } }`
//   roomtone-<version>-<target>.tar.gz, the same with .sha256; `latest` is a version, too
//   SHA256SUMS, SHA256SUMS.sig       of the latest; <tag>.SHA256SUMS and <tag>.SHA256SUMS.sig of that release
// The installer finds its archive in the line of SHA256SUMS with its target.

/** Supported architectures as Node names them, and the target in the names of their archives. */
const TARGETS = { x64: 'x86_64-unknown-linux-gnu', arm64: 'aarch64-unknown-linux-gnu' } as const
export type Arch = keyof typeof TARGETS
export const ARCHES = Object.keys(TARGETS) as Arch[]

/** One line per file of the release: 64 hex digits, two spaces, the name. */
export const SUMS = 'SHA256SUMS'
/** The Ed25519 signature of SHA256SUMS, 64 raw bytes. */
export const SIGNATURE = 'SHA256SUMS.sig'

/** Suffix of an archive's own checksum file. */
export const DIGEST = '.sha256'

const TAG = /^agent-v(\d{4}\.\d{2}\.\d{2}-\d{1,6})$/
const CALENDAR = /^(\d{4})\.(\d{2})\.(\d{2})-(\d{1,6})$/
// Any version, not only calendar ones: a controller offers its own executable, which may be a development build.
const ARCHIVE = /^roomtone-([A-Za-z0-9][\w.+-]{0,79})-((?:x86_64|aarch64)-unknown-linux-gnu)\.tar\.gz$/

/** The newest version, in requested names. */
export const LATEST = 'latest'

/** The version in a full tag; undefined for anything else. */
export const versionOfTag = (tag: string): string | undefined => TAG.exec(tag)?.[1]
/** The full tag of a calendar version; any other version is its own tag. */
export const tagOfVersion = (version: string): string => (CALENDAR.test(version) ? `agent-v${version}` : version)

export const archiveName = (version: string, arch: Arch): string => `roomtone-${version}-${TARGETS[arch]}.tar.gz`

/** Version and architecture in an archive's name; undefined for any other file. */
export function archiveOf(name: string): { arch: Arch; version: string } | undefined {
  const [, version, target] = ARCHIVE.exec(name) ?? []
  const arch = ARCHES.find((a) => TARGETS[a] === target)
  return arch && version ? { arch, version } : undefined
}

/**
 * Calendar versions by number (-10 is newer than -9), all other versions before them. Negative: `a` is older.
 */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [numbers(a), numbers(b)]
  const at = left.findIndex((n, i) => n !== right[i])
  return at === -1 ? 0 : (left[at] as number) - (right[at] as number)
}

const numbers = (version: string): number[] => CALENDAR.exec(version)?.slice(1).map(Number) ?? [0, 0, 0, 0]

const SUM_LINE = /^([0-9a-f]{64}) [ *]([^/\s][^/]{0,199})$/i

/** SHA-256 (lower case hex) by file name. @throws Error for any other line, since a partial list proves nothing */
export function parseSums(text: string): Map<string, string> {
  const sums = new Map<string, string>()
  for (const line of text.split('\n')) {
    if (!line.trim()) continue
    const [, digest, name] = SUM_LINE.exec(line.trimEnd()) ?? []
    if (!digest || !name) throw new Error(`${SUMS} has a line that is not a checksum: ${line.slice(0, 80)}`)
    sums.set(name, digest.toLowerCase())
  }
  return sums
}

export const sumLine = (name: string, digest: string): string => `${digest}  ${name}\n`
