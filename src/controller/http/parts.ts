// Files of unfinished uploads, below the takes directory.
import * as fs from 'node:fs/promises'
import * as path from 'node:path'
import { removeFiles } from './files.ts'

export const INCOMING = '.incoming'
// How long a part of an interrupted upload is kept for its sender.
const KEEP_MS = 14 * 24 * 3600 * 1000

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

/** At start: removes temporary files of plain uploads, and parts of resumable ones that are too old. @returns how many */
export async function sweepIncoming(takes: string, now: number = performance.timeOrigin): Promise<number> {
  const dir = path.join(takes, INCOMING)
  await fs.mkdir(dir, { recursive: true, mode: 0o750 })
  let swept = 0
  for (const name of await fs.readdir(dir)) {
    const file = path.join(dir, name)
    const resumable = name.startsWith('rec_')
    if (resumable && now - (await fs.stat(file)).mtimeMs < KEEP_MS) continue
    await removeFiles(takes, [path.join(INCOMING, name)])
    swept++
  }
  return swept
}
