// Uploads under way, as they lie below the takes directory.
import * as fs from 'node:fs/promises'
import * as path from 'node:path'

export const INCOMING = '.incoming'

/** Parts of unfinished resumable uploads of these recordings, relative to `takes`. */
export async function partsOf(takes: string, recordingIds: readonly string[]): Promise<string[]> {
  const wanted = new Set(recordingIds)
  const names = await fs.readdir(path.join(takes, INCOMING)).catch(nothing)
  return names.filter((name) => wanted.has(name.split('.')[0] as string)).map((name) => path.join(INCOMING, name))
}

function nothing(e: NodeJS.ErrnoException): string[] {
  if (e.code === 'ENOENT') return []
  throw e
}
