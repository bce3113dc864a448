import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import * as fs from 'node:fs/promises'
import * as path from 'node:path'
import { type Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { checksumOf } from '../../kernel/checksum.ts'
import { hasCode, removeGently, sizeOf } from '../../kernel/durable.ts'
import type { Db } from '../store/db.ts'
import { Lister } from '../store/filter.ts'

/** Stored audio as its row describes it; `path` is relative to the takes directory. */
export interface StoredFile {
  checksum: string
  path: string
  sizeBytes: number
}

export interface TakesReport {
  /** Bytes of all files that are whole. */
  bytes: number
  copied: number
  damaged: string[]
  /** Files that are at destinations alone: they stay there. */
  elsewhere: number
  files: number
  missing: string[]
}

const SLICE = 500
const FILES = `(SELECT path, checksum, size_bytes FROM recording_files WHERE local = 1
  UNION ALL SELECT path, checksum, size_bytes FROM recording_chunk_files) f`

/** Every stored file of a database, by path; in slices, so that no long read blocks the controller's checkpoints. */
export function* storedFiles(db: Db): Generator<StoredFile> {
  const files = new Lister<StoredFile>(db, { columns: 'f.path, f.checksum, f.size_bytes AS sizeBytes', from: FILES })
  for (const slice of files.walk([], { direction: 'ASC', keys: ['f.path'] }, SLICE)) yield* slice
}

/** Writes one stored file to `part`. @returns its checksum in the database's format; undefined when the source lacks it */
export type Source = (file: StoredFile, part: string) => Promise<string | undefined>

/** Takes below a directory, as a controller or a backup holds them. */
export const fromDirectory =
  (dir: string): Source =>
  async (file, part) => {
    try {
      return await writeWithChecksum(part, createReadStream(path.join(dir, file.path)))
    } catch (e) {
      if (hasCode(e, 'ENOENT')) return undefined
      throw e
    }
  }

/** Tries the second source when the first does not have a file. */
export const either =
  (first: Source, second: Source): Source =>
  async (file, part) =>
    (await first(file, part)) ?? (await second(file, part))

/** Copies the audio of a database from a source into a directory; a file that is there with its size is left alone. */
export async function copyTakes(db: Db, from: Source, to: string, tell: (line: string) => void): Promise<TakesReport> {
  const report: TakesReport = { bytes: 0, copied: 0, damaged: [], elsewhere: countElsewhere(db), files: 0, missing: [] }
  for (const file of storedFiles(db)) {
    const outcome = await copyTake(file, from, to)
    if (outcome === 'missing' || outcome === 'damaged') report[outcome].push(file.path)
    else {
      report.files++
      report.bytes += file.sizeBytes
      if (outcome === 'copied') report.copied++
    }
    tell(`audio: ${report.files} files so far`)
  }
  return report
}

const countElsewhere = (db: Db): number =>
  db.stmt<object, { n: number }>('SELECT count(*) AS n FROM recording_files WHERE local = 0').get({})?.n ?? 0

async function copyTake(
  file: StoredFile,
  from: Source,
  to: string,
): Promise<'copied' | 'damaged' | 'missing' | 'there'> {
  const target = path.join(to, file.path)
  if ((await sizeOf(target)) === file.sizeBytes) return 'there'
  await fs.mkdir(path.dirname(target), { recursive: true, mode: 0o750 })
  const part = `${target}.part`
  const checksum = await from(file, part)
  if (checksum === file.checksum) {
    await fs.rename(part, target)
    return 'copied'
  }
  await removeGently(part)
  return checksum === undefined ? 'missing' : 'damaged'
}

/** Writes a file in flat memory, synced. @returns its checksum in the database's format, `sha256:<hex>` */
export async function writeWithChecksum(file: string, from: Readable): Promise<string> {
  const hash = createHash('sha256')
  const tap = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk)
      done(null, chunk)
    },
  })
  await pipeline(from, tap, createWriteStream(file, { mode: 0o640, flush: true }))
  return checksumOf(hash.digest('hex'))
}
