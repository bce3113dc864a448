// Bodies as S3 clients send them, plain or in signed chunks.
import { createHash, type Hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { hex, hmac, Refusal, type Signed } from './s3.signature.ts'

/** Counts and hashes what it takes, and keeps it if asked. */
export function sinkOf(keep: boolean) {
  const hash: Hash = createHash('sha256')
  const kept: Buffer[] = []
  let size = 0
  return {
    take(chunk: Buffer): void {
      hash.update(chunk)
      size += chunk.length
      if (keep) kept.push(chunk)
    },
    done: () => ({ body: keep ? Buffer.concat(kept) : undefined, sha256: hash.digest('hex'), size }),
  }
}
type Sink = ReturnType<typeof sinkOf>

/** A body as it is. */
export async function plain(request: IncomingMessage, sink: Sink): Promise<Record<string, string>> {
  for await (const chunk of request) sink.take(chunk as Buffer)
  return {}
}

/** aws-chunked: `<hex>[;chunk-signature=...]CRLF data CRLF` until 0, then trailers. */
export async function chunked(
  request: IncomingMessage,
  sink: Sink,
  auth: Signed | undefined,
): Promise<Record<string, string>> {
  const pieces: Buffer[] = []
  for await (const chunk of request) pieces.push(chunk as Buffer)
  const all = Buffer.concat(pieces)
  let at = 0
  let previous = auth?.seed ?? ''
  for (;;) {
    const end = all.indexOf('\r\n', at)
    if (end < 0) throw new Refusal(400, 'IncompleteBody', 'the chunks break off')
    const [size = '', signature] = all.toString('latin1', at, end).split(';chunk-signature=')
    const length = Number.parseInt(size, 16)
    const data = all.subarray(end + 2, end + 2 + length)
    if (auth) {
      const text = ['AWS4-HMAC-SHA256-PAYLOAD', auth.date, auth.scope, previous, hex(''), hex(data)].join('\n')
      const expected = hmac(auth.key, text).toString('hex')
      if (expected !== signature) throw new Refusal(403, 'SignatureDoesNotMatch', 'a chunk is not signed')
      previous = expected
    }
    at = end + 2 + length + (length > 0 ? 2 : 0)
    if (length === 0) break
    sink.take(data)
  }
  const lines = all.toString('latin1', at).split('\r\n').filter(Boolean)
  return Object.fromEntries(lines.map((line) => line.split(/:(.*)/s).map((part) => part.trim()) as [string, string]))
}
