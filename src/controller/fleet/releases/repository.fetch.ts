// Fetches a release from the release host into the release directory: complete and verified, or not at all.
import { createWriteStream } from 'node:fs'
import * as fs from 'node:fs/promises'
import * as path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { counted, NoAnswer, send } from '../../../kernel/http.ts'
import {
  archiveOf,
  compareVersions,
  SIGNATURE,
  SUMS,
  tagOfVersion,
  versionOfTag,
} from '../../../system/host/release.rules.ts'
import { releaseFault, sumsFault } from '../../../system/host/release.ts'
import type { ReleaseAsset } from '../../../wire/nodes.ts'
import { HOPS, REDIRECTS, ReleaseError, type ReleaseSource, releaseReason } from './release.http.ts'

interface FetchParts {
  dir: string
  publicKey: string | undefined
  source: ReleaseSource
}

const MAX_ARCHIVE_BYTES = 512 * 1024 * 1024
const MAX_SMALL_BYTES = 64 * 1024
// Enough for an archive on a slow line.
const LONGEST_MS = 3_600_000
const KEPT = 3
/** Marks folders that were fetched: only those are ever removed. */
const MARK = '.fetched'
const WORK = '.fetching-'

/**
 * Downloads checksums, signature and archives of `version`, verifies them and puts them into a folder of their own; of earlier
 * fetched releases the newest stay. @throws ReleaseError for a fault of the host or its release, or the disk's own error; the
 * directory is then unchanged.
 */
export async function fetchRelease(
  parts: FetchParts,
  version: string,
  assets: readonly ReleaseAsset[],
  signal: AbortSignal,
): Promise<void> {
  await fs.mkdir(parts.dir, { recursive: true, mode: 0o750 })
  await removeAll(parts.dir, (name) => name.startsWith(WORK))
  const work = await fs.mkdtemp(path.join(parts.dir, WORK))
  try {
    await fill(work, parts, version, assets, signal)
    await fs.writeFile(path.join(work, MARK), '')
    await publish(work, path.join(parts.dir, tagOfVersion(version)))
  } finally {
    await fs.rm(work, { recursive: true, force: true })
  }
  await forgetOld(parts.dir)
}

async function fill(
  work: string,
  { publicKey, source }: FetchParts,
  version: string,
  assets: readonly ReleaseAsset[],
  signal: AbortSignal,
): Promise<void> {
  const archives = assets.filter(({ name }) => archiveOf(name)?.version === version)
  const papers = assets.filter(({ name }) => name === SUMS || name === SIGNATURE)
  if (archives.length === 0 || !papers.some(({ name }) => name === SUMS)) throw new ReleaseError('release_incomplete')
  for (const asset of papers) await download(source, asset, path.join(work, asset.name), MAX_SMALL_BYTES, signal)
  const sums = await fs.readFile(path.join(work, SUMS), 'utf8')
  const signature = await fs.readFile(path.join(work, SIGNATURE)).catch(() => undefined)
  const unsigned = sumsFault({ key: publicKey, signature, sums })
  if (unsigned) throw new ReleaseError('release_not_genuine', unsigned)
  for (const asset of archives) {
    const file = path.join(work, asset.name)
    await download(source, asset, file, MAX_ARCHIVE_BYTES, signal)
    const fault = await releaseFault(file, asset.name, { key: publicKey, signature, sums })
    if (fault) throw new ReleaseError('release_not_genuine', fault)
  }
}

/** Replaces an earlier fetched folder, which was not valid, or this one would not have been fetched. */
async function publish(work: string, folder: string): Promise<void> {
  if (await exists(path.join(folder, MARK))) await fs.rm(folder, { recursive: true, force: true })
  await fs.rename(work, folder)
}

async function forgetOld(dir: string): Promise<void> {
  const names = await fs.readdir(dir)
  const marked = await Promise.all(names.map((name) => exists(path.join(dir, name, MARK))))
  const version = (name: string) => versionOfTag(name) ?? ''
  const fetched = names.filter((_, i) => marked[i]).sort((a, b) => compareVersions(version(b), version(a)))
  const old = new Set(fetched.slice(KEPT))
  await removeAll(dir, (name) => old.has(name))
}

async function removeAll(dir: string, which: (name: string) => boolean): Promise<void> {
  for (const name of (await fs.readdir(dir)).filter(which))
    await fs.rm(path.join(dir, name), { recursive: true, force: true })
}

const exists = (file: string): Promise<boolean> =>
  fs.access(file).then(
    () => true,
    () => false,
  )

/** Follows redirects of the release host, but never from https to http, and never sends the token to another host. */
async function download(
  source: ReleaseSource,
  asset: ReleaseAsset,
  file: string,
  maxBytes: number,
  signal: AbortSignal,
) {
  let at = new URL((source.token && asset.url) || asset.browser_download_url)
  for (let hop = 0; hop <= HOPS; hop++) {
    if (new URL(source.apiUrl).protocol === 'https:' && at.protocol !== 'https:')
      throw new ReleaseError('release_source_redirects_elsewhere')
    const next = await step(source, at, file, maxBytes, signal)
    if (!next) return
    at = next
  }
  throw new ReleaseError('release_source_redirects_elsewhere')
}

/** One request: writes the file, or returns the address it redirects to. */
async function step(source: ReleaseSource, url: URL, file: string, maxBytes: number, signal: AbortSignal) {
  const home = new URL(source.apiUrl).origin === url.origin
  const headers = {
    accept: 'application/octet-stream',
    'user-agent': 'roomtone',
    ...(source.token && home ? { authorization: `Bearer ${source.token}` } : {}),
  }
  const wish = { headers, method: 'GET', signal, timeoutMs: LONGEST_MS, url } as const
  const answer = await send(wish, async (response) => {
    const { location } = response.headers
    if (response.statusCode === 200)
      await pipeline(counted(response, maxBytes), createWriteStream(file, { flags: 'wx' }))
    else response.destroy()
    return { location, status: response.statusCode ?? 0 }
  }).catch((e: unknown) => {
    throw e instanceof NoAnswer ? new ReleaseError(releaseReason(e), e.message) : e
  })
  if (answer.status === 200) return undefined
  const to = REDIRECTS.includes(answer.status) && URL.parse(answer.location ?? '', url.href)
  if (!to) throw new ReleaseError(`release_source_${answer.status}`)
  return to
}
