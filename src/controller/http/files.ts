// Stored files over HTTP: one range, validators, HEAD (RFC 9110), confined to one directory.
import * as fs from 'node:fs/promises'
import * as path from 'node:path'
import { conflict, Fail } from '../../kernel/fail.ts'
import type { Incoming } from './route.ts'

/** A stored file as the database knows it. */
export interface OutgoingFile {
  contentType: string
  disposition: 'attachment' | 'inline'
  /** Called when the answer is over: after the last byte, when the client goes, at once when there is no body. */
  ended?: () => void
  /** Called when the first byte is read; what it returns is called after the last, or when the client has gone. */
  hold?: () => () => void
  /** Asked before each piece: whether the caller may have more. */
  mayGoOn?: () => boolean
  /** Thrown when the file is missing; by default the failure for a take. */
  missing?: () => Fail
  name: { ascii: string; unicode: string }
  /** Relative to the root. */
  path: string
  /** Bytes as they were counted when the file was stored. */
  size: number
  storedAt: string
  /** Names these bytes and no others: a checksum. */
  tag: string
}

/** First and last byte, both included. */
export interface ByteRange {
  start: number
  end: number
}

interface Place {
  file: string
  ino: number
  size: number
}

const CHUNK = 256 * 1024
const MISSING: ReadonlySet<string> = new Set(['EACCES', 'ELOOP', 'ENAMETOOLONG', 'ENOENT', 'ENOTDIR'])
const codeOf = (e: unknown): string => (e as NodeJS.ErrnoException).code ?? ''

/** What a route with `sendFile` may answer beside the whole file. */
export const IN_PARTS = { 206: 'The range that was asked for', 304: 'Not changed' } as const

interface Sent {
  response: Response
  /** Of the whole file, bytes. */
  size: number
}

/** Where the bytes of an answer come from. */
interface ByteSource {
  /** Called once the answer has a body; what it throws is the answer instead. */
  open(range: ByteRange): ReadableStream<Uint8Array> | Promise<ReadableStream<Uint8Array>>
  /** In place of an answer with the whole or a part of it, where there is one. */
  elsewhere?: (() => Promise<Response | undefined>) | undefined
  size: number
}

/**
 * The answer to a GET or HEAD of a file below `root`. The file is opened when the first byte is asked for and closed with the
 * last one, or when the client goes.
 * @throws Fail 409 when the file is missing, unreadable or outside of `root`; 416 with the size for a range beyond it.
 */
export async function sendFile(request: Incoming, root: string, file: OutgoingFile): Promise<Sent> {
  const place = await located(root, file)
  const open = (range: ByteRange) =>
    new ReadableStream(new RangeSource(place, range, request.gone(), file), { highWaterMark: 0 })
  return sendBytes(request, file, { open, size: place.size })
}

/** The same for bytes from anywhere. @throws Fail 416; what the source throws when it is opened */
export async function sendBytes(request: Incoming, file: OutgoingFile, source: ByteSource): Promise<Sent> {
  const { size } = source
  // A file whose length has changed is still audio, but the checksum no longer describes it.
  const etag = size === file.size ? `"${file.tag}"` : undefined
  const modified = Math.floor(Date.parse(file.storedAt) / 1000) * 1000
  const headers = new Headers({
    'Accept-Ranges': 'bytes',
    // The browser may cache it, but must revalidate each time: access may have been revoked.
    'Cache-Control': 'private, no-cache',
    'Last-Modified': new Date(modified).toUTCString(),
    ...(etag ? { ETag: etag } : {}),
  })
  const settled = precondition(request, etag, modified)
  const response = settled
    ? new Response(null, { status: settled, headers })
    : await content(request, source, file, headers, { etag, modified })
  if (!response.body) file.ended?.()
  return { response, size }
}

interface Validators {
  etag: string | undefined
  modified: number
}

async function content(
  request: Incoming,
  source: ByteSource,
  file: OutgoingFile,
  headers: Headers,
  validators: Validators,
): Promise<Response> {
  const { size } = source
  const asked = rangeAsked(request, validators) ? byteRange(request.header('range'), size) : 'whole'
  if (asked === 'unsatisfiable')
    throw new Fail(416, 'range_not_satisfiable', 'The range is outside of the file', {
      headers: { 'Content-Range': `bytes */${size}` },
    })
  const away = request.method === 'GET' ? await source.elsewhere?.() : undefined
  if (away) return away
  const range = asked === 'whole' ? { start: 0, end: size - 1 } : asked
  headers.set('Content-Type', file.contentType)
  headers.set('Content-Disposition', contentDisposition(file.disposition, file.name))
  headers.set('Content-Length', String(range.end - range.start + 1))
  headers.set('X-Content-Type-Options', 'nosniff')
  if (asked !== 'whole') headers.set('Content-Range', `bytes ${range.start}-${range.end}/${size}`)
  const empty = request.method === 'HEAD' || range.end < range.start
  const body = empty ? null : await source.open(range)
  return new Response(body, { status: asked === 'whole' ? 200 : 206, headers })
}

/** `filename` for everybody and, where it says more, `filename*` in UTF-8 (RFC 6266). Both names hold no quotes. */
export function contentDisposition(disposition: string, { ascii, unicode }: OutgoingFile['name']): string {
  const plain = `${disposition}; filename="${ascii}"`
  if (unicode === ascii) return plain
  // RFC 8187 allows less than encodeURIComponent leaves.
  const encoded = encodeURIComponent(unicode).replace(
    /['()*]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `${plain}; filename*=UTF-8''${encoded}`
}

/**
 * The one range a `Range` header asks for. Absent, malformed and multiple ranges mean the whole file, which the RFC
 * leaves to the server (14.2).
 */
export function byteRange(header: string | undefined, size: number): ByteRange | 'unsatisfiable' | 'whole' {
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/i.exec(header?.trim() ?? '') ?? []
  if (!first && !last) return 'whole'
  if (!first) {
    const length = Math.min(Number(last), size)
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size - 1 }
  }
  const [start, end] = [Number(first), last ? Number(last) : Number.POSITIVE_INFINITY]
  if (end < start) return 'whole'
  return start >= size ? 'unsatisfiable' : { start, end: Math.min(end, size - 1) }
}

/** Evaluates the conditional headers in the order of RFC 9110, 13.2.2; undefined: go on. */
function precondition(request: Incoming, etag: string | undefined, modified: number): 304 | 412 | undefined {
  const match = request.header('if-match')
  const noneMatch = request.header('if-none-match')
  const unmodifiedSince = Date.parse(request.header('if-unmodified-since') ?? '')
  const modifiedSince = Date.parse(request.header('if-modified-since') ?? '')
  if (match !== undefined ? !named(match, etag, false) : modified > unmodifiedSince) return 412
  if (noneMatch !== undefined ? named(noneMatch, etag, true) : modified <= modifiedSince) return 304
}

/** Whether a list of entity tags names ours; `weak` comparison looks past the `W/`. */
function named(list: string, etag: string | undefined, weak: boolean): boolean {
  if (list.trim() === '*') return true
  const tags = list.split(',').map((tag) => (weak ? tag.trim().replace(/^W\//, '') : tag.trim()))
  return etag !== undefined && tags.includes(etag)
}

// Ranges are defined for GET alone (14.2), and under If-Range only while the file is still the one the client has.
function rangeAsked(request: Incoming, { etag, modified }: Validators): boolean {
  if (request.method !== 'GET') return false
  const condition = request.header('if-range')?.trim()
  if (condition === undefined) return true
  return /^(W\/)?"/.test(condition) ? condition === etag : Date.parse(condition) === modified
}

async function located(root: string, { missing = unavailable, path: relative }: OutgoingFile): Promise<Place> {
  try {
    const [base, file] = await Promise.all([fs.realpath(root), fs.realpath(path.join(root, relative))])
    const stat = await fs.stat(file)
    if (!file.startsWith(base + path.sep) || !stat.isFile()) throw missing()
    await fs.access(file, fs.constants.R_OK)
    return { file, ino: stat.ino, size: stat.size }
  } catch (e) {
    throw MISSING.has(codeOf(e)) ? missing() : e
  }
}

const unavailable = (): Fail => conflict('recording_file_unavailable', 'Recording cache file is unavailable')

/** The bytes of a range, read as fast as the client takes them. An answer that nobody reads opens no file. */
class RangeSource {
  private readonly place: Place
  private readonly end: number
  private at: number
  private handle: fs.FileHandle | undefined
  private stopped = false
  private readonly file: OutgoingFile
  private release: () => void = () => {}

  constructor(place: Place, { start, end }: ByteRange, signal: AbortSignal, file: OutgoingFile) {
    this.place = place
    this.file = file
    this.at = start
    this.end = end
    if (signal.aborted) void this.cancel()
    signal.addEventListener('abort', () => void this.cancel(), { once: true })
  }

  async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    try {
      controller.enqueue(await this.next())
      if (this.at <= this.end) return
      await this.cancel()
      controller.close()
    } catch (e) {
      await this.cancel()
      throw e
    }
  }

  async cancel(): Promise<void> {
    const open = this.handle
    this.stopped = true
    this.handle = undefined
    this.release()
    this.release = () => {}
    this.file.ended?.()
    await open?.close()
  }

  private async next(): Promise<Uint8Array> {
    if (!this.stopped && !this.handle) {
      this.release = this.file.hold?.() ?? (() => {})
      this.handle = await reopened(this.place)
    }
    // The client may have gone while the file was being opened.
    if (this.stopped || !this.handle) throw new Error('the client has gone')
    if (this.file.mayGoOn?.() === false) throw new Error('the caller is no longer allowed to have it')
    const chunk = Buffer.allocUnsafe(Math.min(CHUNK, this.end + 1 - this.at))
    const { bytesRead } = await this.handle.read(chunk, 0, chunk.length, this.at)
    if (bytesRead === 0) throw new Error('the file became shorter while it was sent')
    this.at += bytesRead
    return chunk.subarray(0, bytesRead)
  }
}

// The headers are already sent: bytes of another file with that name must not follow them.
async function reopened({ file, ino, size }: Place): Promise<fs.FileHandle> {
  const handle = await fs.open(file, fs.constants.O_RDONLY)
  const stat = await handle.stat()
  if (stat.ino === ino && stat.size === size) return handle
  await handle.close()
  throw new Error('the file was replaced while it was sent')
}

/** Unlinks files below `root`; a missing file is fine. Returns those that could not be removed, and why. */
export async function removeFiles(
  root: string,
  relative: readonly string[],
): Promise<{ path: string; error: string }[]> {
  const failures: { path: string; error: string }[] = []
  for (const name of relative) {
    try {
      await removeFile(root, name)
    } catch (e) {
      // The others are removed all the same.
      if (codeOf(e) !== 'ENOENT') failures.push({ path: name, error: (e as Error).message })
    }
  }
  return failures
}

/** Where large files wait to be deleted, below the takes directory. */
export const REMOVED = '.removed'
const SMALL = 32 * 1024 * 1024

async function removeFile(root: string, relative: string): Promise<void> {
  const target = path.join(root, relative)
  const [base, folder] = await Promise.all([fs.realpath(root), fs.realpath(path.dirname(target))])
  if (folder !== base && !folder.startsWith(base + path.sep)) throw new Error('outside of the takes directory')
  const file = path.join(folder, path.basename(target))
  const { ino, size } = await fs.lstat(file)
  if (size <= SMALL) return fs.unlink(file)
  // Large files are moved aside now and deleted piece by piece (scheduler/filereaper.ts).
  const bin = path.join(base, REMOVED)
  await fs.mkdir(bin, { recursive: true, mode: 0o750 })
  await fs.rename(file, path.join(bin, `${path.basename(file)}.${ino}`))
}
