// Makes the joined file of a chunked take again: only the chunks of such a take were uploaded.

import * as fs from 'node:fs/promises'
import * as path from 'node:path'
import { checksumOf } from '../../kernel/checksum.ts'
import { codecOfPath } from '../recordings/chunks/chunks.rules.ts'
import { chunkStore } from '../recordings/chunks/chunks.store.ts'
import { joinFiles } from '../recordings/chunks/join.ts'
import type { Db } from '../store/db.ts'
import type { Source, StoredFile } from './takes.ts'
import type { ControllerFiles } from './verb.ts'

// Lossless samples are copied at the speed of the disk; encoders need minutes for hours of audio.
const JOIN_TIMEOUT_MS = 4 * 3_600_000

interface ChunkSet {
  jobId: string
  recordingId: string
}

/**
 * Fetches the chunks of a take from `source` and joins them as the controller did. Lossless takes get the same bytes again;
 * another version of an encoder may produce others, which the checksum reveals. Raw masters are uploaded in one piece.
 */
export function fromChunks(db: Db, { config }: ControllerFiles, source: Source): Source {
  const setOf = db.stmt<{ path: string }, ChunkSet>(
    `SELECT c.recording_id AS recordingId, c.job_id AS jobId FROM recording_files f
       JOIN chunked_recordings c ON c.recording_id = f.recording_id WHERE f.path = @path AND f.rendition <> 'raw'`,
  )
  const chunksOf = db.stmt<{ id: string }, Pick<StoredFile, 'checksum' | 'path'>>(
    `SELECT cache_path AS path, checksum, max(updated_at) FROM upload_queue
      WHERE recording_id = @id AND status = 'succeeded' AND chunk_index IS NOT NULL
      GROUP BY chunk_index ORDER BY chunk_index`,
  )
  const { encoder } = chunkStore(db)

  const fetchChunks = async (joined: StoredFile, set: ChunkSet, dir: string): Promise<string[] | undefined> => {
    const files: string[] = []
    for (const { checksum, path: place } of chunksOf.all({ id: set.recordingId })) {
      const file = path.join(dir, `${files.length + 1}${path.extname(place)}`)
      // By the path of the joined file: the rows of the chunks may be gone.
      if ((await source({ ...joined, checksum }, file)) !== checksum) return undefined
      files.push(file)
    }
    return files.length > 0 ? files : undefined
  }

  return async (file, part) => {
    const set = setOf.get({ path: file.path })
    const codec = codecOfPath(file.path)
    if (!set || !codec) return undefined
    const dir = `${part}.chunks`
    await fs.mkdir(dir, { recursive: true, mode: 0o750 })
    try {
      const files = await fetchChunks(file, set, dir)
      if (!files) return undefined
      const signal = new AbortController().signal
      const how = { ffmpegCommand: config.SVC_FFMPEG_COMMAND, signal, timeoutMs: JOIN_TIMEOUT_MS }
      const { sha256 } = await joinFiles({ ...how, codec, encoder: encoder(set.jobId), files, part })
      return checksumOf(sha256)
    } finally {
      await fs.rm(dir, { force: true, recursive: true })
    }
  }
}
