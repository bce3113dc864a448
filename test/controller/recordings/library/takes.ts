// Recordings, jobs and stored files to test with: rows made by the stores, bytes on a real disk.
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { StoredRendition } from '../../../../src/controller/recordings/library/recordings.rules.ts'
import { type NewRecording, recordingStore } from '../../../../src/controller/recordings/library/recordings.store.ts'
import { Enhancement } from '../../../../src/wire/profiles.ts'
import type { Job } from '../../../../src/wire/recordings.ts'
import type { Kit } from '../../../kit/kit.ts'

/** Bytes that tell their own place, so that a range is checked to the byte. */
export const pattern = (size: number): Buffer =>
  Buffer.from(Uint32Array.from({ length: Math.ceil(size / 4) }, (_, i) => i).buffer, 0, size)

/** Of a job whose take is enhanced: a raw master is supplementary. */
export const ENHANCEMENT = Enhancement.parse({ loudnorm: { enabled: true } })

export function takes(k: Kit) {
  const store = recordingStore(k.db)
  const root = k.config.SVC_RECORDING_CACHE_DIR as string

  const node = (id: string, site = 'North', roomId: string | null = null): void => {
    if (roomId)
      k.sql(
        'INSERT OR IGNORE INTO rooms VALUES (?, ?, ?, NULL, NULL, NULL, NULL, ?, ?)',
        roomId,
        site,
        roomId,
        k.now(),
        k.now(),
      )
    k.sql(
      `INSERT OR IGNORE INTO nodes (id, alias, hostname, site, room, room_id, last_seen_at, created_at, updated_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      id,
      id,
      id,
      site,
      roomId ?? '',
      roomId,
      k.now(),
      k.now(),
      k.now(),
    )
  }
  const recording = (id: string, more: Partial<NewRecording> = {}) => {
    node(more.nodeId ?? 'n1')
    const plain = {
      folder: 'Ad Hoc',
      id,
      name: id,
      nodeId: 'n1',
      recordedAt: k.now(),
      source: 'ad_hoc',
      status: 'recording',
    } as const
    return k.db.tx(() => store.create({ ...plain, tags: [], uploadPolicyIds: [], ...more }, k.now()))
  }
  /** Writes the bytes and files them; the extension decides the content type. */
  const file = (recordingId: string, rendition: StoredRendition, bytes: Uint8Array, extension = 'wav'): string => {
    const path = `ad-hoc/${recordingId}${rendition === 'raw' ? '.raw' : ''}.${extension}`
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), bytes)
    const checksum = `sha256:${createHash('sha256').update(bytes).digest('hex')}`
    const row = {
      recordingId,
      rendition,
      path,
      checksum,
      sizeBytes: bytes.length,
      mimeType: 'audio/wav',
      durationSeconds: 7,
      jobId: null,
      joined: 0,
    }
    k.db.tx(() => store.attach(row, k.now()))
    return path
  }
  const job = (
    id: string,
    recordingId: string,
    more: Partial<Omit<Job, 'command'>> & { command?: object } = {},
  ): void => {
    const command = {
      captureDevice: 'hw:1',
      captureFormat: 'S16_LE',
      outputFileName: `${recordingId}.mp3`,
      ...more.command,
    }
    k.sql(
      `INSERT INTO recording_jobs (id, recording_id, node_id, status, command, created_at, claimed_by, failure_reason)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      id,
      recordingId,
      more.nodeId ?? 'n1',
      more.status ?? 'completed',
      JSON.stringify(command),
      more.createdAt ?? k.now(),
      more.claimedBy ?? null,
      more.failureReason ?? null,
    )
  }
  return { file, job, node, recording, root, store }
}
