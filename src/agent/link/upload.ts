// Sends one take: asks for the offset, streams the rest, stops when the controller has answered.

import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import * as fsp from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { checksumOf } from '../../kernel/checksum.ts'
import type { Answer } from '../../kernel/http.ts'
import { faultWords } from '../../kernel/words.ts'
import { HEADERS } from '../../wire/headers.ts'
import { readData, StoredAnswer } from './answers.ts'
import type { Http } from './http.ts'
import { LinkError, type Upload } from './link.ts'
import type { Throttle } from './throttle.ts'

type Digests = (path: string, stat: fs.Stats, signal: AbortSignal) => Promise<string>

const KEPT = 16

/** RFC 9530 digests of whole files, computed once per file and state: a retry must not read gigabytes again. */
export function createDigests(): Digests {
  const known = new Map<string, string>()
  return async (path, stat, signal) => {
    const key = `${path}\0${stat.ino}\0${stat.size}\0${stat.mtimeMs}`
    const cached = known.get(key)
    if (cached) return cached
    const hash = createHash('sha256')
    await pipeline(fs.createReadStream(path, { highWaterMark: 256 * 1024 }), hash, { signal })
    const digest = `sha-256=:${hash.digest('base64')}:`
    if (known.size >= KEPT) known.delete(known.keys().next().value as string)
    known.set(key, digest)
    return digest
  }
}

/** A header holds visible ASCII only. */
export const headerText = (text: string): string => text.replace(/[^\x20-\x7e]/g, '_').slice(0, 240)

interface Sending {
  digests: Digests
  file: Upload
  headers: Record<string, string>
  http: Http
  path: string
  signal: AbortSignal
  throttle: Throttle
}

const confirmedOffset = (answer: Answer): number | undefined => {
  const text = answer.headers[HEADERS.uploadOffset]
  return typeof text === 'string' && /^\d{1,16}$/.test(text) ? Number(text) : undefined
}

async function askOffset({ http, path, headers, signal }: Sending, size: number): Promise<number> {
  const answer = await http.ask({ method: 'HEAD', path, headers, signal })
  const offset = answer.status === 200 || answer.status === 204 ? (confirmedOffset(answer) ?? 0) : 0
  // A part longer than the file belongs to another file: start over.
  return offset > size ? 0 : offset
}

async function send(sending: Sending, stat: fs.Stats, offset: number): Promise<Answer> {
  const { http, path, file, signal, digests } = sending
  const headers = {
    ...sending.headers,
    'content-length': stat.size - offset,
    'content-type': file.contentType,
    [HEADERS.contentDigest]: await digests(file.path, stat, signal),
    [HEADERS.uploadComplete]: '?1',
    [HEADERS.uploadLength]: String(stat.size),
    [HEADERS.uploadOffset]: String(offset),
  }
  if (offset === stat.size) return http.ask({ method: 'PUT', path, headers, signal })
  const body = Readable.from(pieces(sending, stat.size, offset), { objectMode: false })
  return http.ask({ method: 'PUT', path, headers, signal, body })
}

/** The rest of the file at the allowed rate; reports progress. */
async function* pieces({ file, signal, throttle }: Sending, size: number, offset: number): AsyncGenerator<Buffer> {
  // Bounded at `size`: a file that grows meanwhile must not send more than the length we announced.
  const bounds = { start: offset, end: size - 1, highWaterMark: throttle.pieceBytes }
  let sent = offset
  for await (const piece of fs.createReadStream(file.path, bounds) as AsyncIterable<Buffer>) {
    await throttle.pass(piece.length, signal)
    sent += piece.length
    file.onProgress?.(sent / size)
    yield piece
  }
}

/** What to retry: another offset the controller names, or the whole file when a stored part does not match. */
function nextOffset(answer: Answer, offset: number): number | undefined {
  const other = answer.status === 409 ? confirmedOffset(answer) : undefined
  if (other !== undefined && other !== offset) return other
  return offset > 0 && (answer.status === 400 || answer.status === 416) ? 0 : undefined
}

/**
 * A 2xx alone does not prove that the take is stored, since a portal answers 200 to everything and the take is deleted
 * afterwards: the answer must be a controller's, with the checksum of our bytes. Throws a LinkError worth retrying.
 */
async function confirm({ digests, file, signal }: Sending, stat: fs.Stats, answer: Answer): Promise<void> {
  const { checksum } = readData('the upload', answer, StoredAnswer).file
  const [, base64 = ''] = /:(.+):/.exec(await digests(file.path, stat, signal)) ?? []
  const ours = checksumOf(Buffer.from(base64, 'base64').toString('hex'))
  if (checksum.toLowerCase() !== ours) throw new LinkError('the controller stored other bytes than were sent')
}

/** Throws LinkError; the caller decides about trying again. */
export async function uploadFile(sending: Sending): Promise<void> {
  const stat = await fsp.stat(sending.file.path).catch((e: NodeJS.ErrnoException) => {
    throw new LinkError(`the take cannot be opened: ${e.code}`, 400, 'local_file_unreadable')
  })
  if (stat.size === 0) throw new LinkError('the take is empty', 400, 'empty_file')
  try {
    const offset = await askOffset(sending, stat.size)
    let answer = await send(sending, stat, offset)
    const again = nextOffset(answer, offset)
    if (again !== undefined && again <= stat.size) answer = await send(sending, stat, again)
    await confirm(sending, stat, answer)
  } catch (e) {
    if (e instanceof LinkError) throw e
    if (sending.signal.aborted) throw new LinkError('stopped')
    throw new LinkError(`the take cannot be read: ${faultWords(e)}`)
  }
}
