// The format of an audio file, from its first bytes. ffmpeg is told it and never guesses.
import * as fs from 'node:fs/promises'
import { isWav } from '../../kernel/wav.rules.ts'

export type AudioFormat = 'flac' | 'mp3' | 'wav'

/** A file whose format is known. */
export interface AudioFile {
  file: string
  format: AudioFormat
}

const HEAD = 12
const ID3_HEAD = 10
// More tags than any player writes before one file.
const MAX_TAGS = 8

/** Undefined for any format recorders do not make. */
export async function formatOf(file: string): Promise<AudioFormat | undefined> {
  const handle = await fs.open(file)
  try {
    let at = 0
    for (let tags = 0; tags <= MAX_TAGS; tags++) {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD), 0, HEAD, at)
      const head = buffer.subarray(0, bytesRead)
      const tag = id3Bytes(head)
      if (tag === 0) return signature(head)
      at += tag
    }
    return undefined
  } finally {
    await handle.close()
  }
}

/** Length of the ID3v2 tag that begins here, bytes; 0 without one. It is stored with seven bits per byte. */
function id3Bytes(head: Buffer): number {
  if (head.length < ID3_HEAD || head.toString('latin1', 0, 3) !== 'ID3') return 0
  const body = [6, 7, 8, 9].reduce((sum, at) => sum * 128 + ((head[at] as number) & 127), 0)
  return ID3_HEAD + body + (((head[5] as number) & 16) > 0 ? ID3_HEAD : 0)
}

function signature(head: Buffer): AudioFormat | undefined {
  if (isWav(head)) return 'wav'
  if (head.toString('latin1', 0, 4) === 'fLaC') return 'flac'
  return isMp3Frame(head) ? 'mp3' : undefined
}

/** MPEG layer III, of any version, with a bit rate and a sample rate that exist. */
function isMp3Frame(head: Buffer): boolean {
  const [sync = 0, kind = 0, rates = 0] = head
  const version = (kind >> 3) & 3
  const layer = (kind >> 1) & 3
  return sync === 0xff && kind >= 0xe0 && version !== 1 && layer === 1 && rates >> 4 !== 15 && ((rates >> 2) & 3) !== 3
}
