import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'

/** A SHA-256 in hex, as the database, manifests and the wire write the checksum of audio. */
export const checksumOf = (sha256: string): string => `sha256:${sha256}`

/** SHA-256 of what comes, lower-case hex; `each` is called with every piece. Rejects as either of them does. */
export async function sha256Of(bytes: AsyncIterable<Uint8Array>, each?: (piece: Uint8Array) => void): Promise<string> {
  const hash = createHash('sha256')
  for await (const piece of bytes) {
    each?.(piece)
    hash.update(piece)
  }
  return hash.digest('hex')
}

/** Rejects when the file cannot be read, and with an AbortError once `signal` aborts. */
export const checksumOfFile = async (file: string, signal?: AbortSignal): Promise<string> =>
  checksumOf(await sha256Of(createReadStream(file, { signal })))
