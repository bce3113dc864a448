import * as fs from 'node:fs/promises'
import * as path from 'node:path'
import { besideManifest } from '../../../wire/manifests.ts'
import type { Db } from '../../store/db.ts'

/** A file in the takes directory that no recording and no chunk names. */
interface Orphan {
  modifiedAt: number
  /** Relative to the takes directory. */
  path: string
  size: number
}

const DAY_MS = 24 * 3600 * 1000

/**
 * Files without a row that are older than `graceMs`: left by a crash between commit and delete, or put there by somebody. They
 * are reported, never deleted, because an unknown file may be audio. Names with a leading dot are parts of uploads, which are
 * cleaned up elsewhere. A manifest belongs to what its take belongs to.
 */
export async function* orphans(db: Db, takes: string, now: number, graceMs = DAY_MS): AsyncGenerator<Orphan> {
  const known = db.stmt<{ path: string }, { known: number }>(
    `SELECT EXISTS (SELECT 1 FROM recording_files WHERE path = @path)
       OR EXISTS (SELECT 1 FROM recording_chunk_files WHERE path = @path) AS known`,
  )
  const waiting = ['']
  for (let dir = waiting.pop(); dir !== undefined; dir = waiting.pop())
    for await (const entry of await fs.opendir(path.join(takes, dir))) {
      const name = path.join(dir, entry.name)
      if (entry.name.startsWith('.')) continue
      if (entry.isDirectory()) waiting.push(name)
      else if (known.get({ path: besideManifest(name) ?? name })?.known !== 1) yield* aged(takes, name, now - graceMs)
    }
}

async function* aged(takes: string, name: string, before: number): AsyncGenerator<Orphan> {
  const { mtimeMs, size } = await fs.lstat(path.join(takes, name))
  if (mtimeMs <= before) yield { modifiedAt: mtimeMs, path: name, size }
}
