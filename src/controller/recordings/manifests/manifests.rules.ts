import { backoff } from '../../../kernel/backoff.ts'
import { isoPlus } from '../../../kernel/clock.ts'
import {
  type ChunkFile,
  MAX_MANIFEST_CHUNKS,
  ManifestRecording,
  type RenditionFile,
  type TakeManifest,
} from '../../../wire/manifests.ts'
import type { Recording } from '../../../wire/recordings.ts'

/** All that the manifests of a recording tell, but the file they lie beside. */
export type Described = Omit<TakeManifest, 'file' | 'version' | 'writtenAt'>

/** A recording whose manifest is to be written. */
export interface Queued {
  attempts: number
  recordingId: string
  revision: number
}

/** A manifest that has to lie beside a file; `path` is that file's, below the takes directory. */
export interface Beside {
  file: TakeManifest['file']
  path: string
}

const [LEAST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS] = [10, 3600]

/** When to try again what failed `attempts` times before. */
export const retryAt = (now: string, attempts: number): string =>
  isoPlus(now, backoff(attempts, LEAST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS))

const FIELDS = Object.keys(ManifestRecording.shape) as (keyof ManifestRecording)[]

/** What a manifest tells of the row the API shows. */
export const manifestFields = (recording: Recording): ManifestRecording =>
  Object.fromEntries(
    FIELDS.map((field) => [field, recording[field]]).filter(([, value]) => value !== undefined),
  ) as unknown as ManifestRecording

/** Where manifests lie: beside each rendition, and beside the first chunk of a take that has none yet. */
export function besides({ chunks, renditions }: Described): Beside[] {
  if (renditions.length > 0)
    return renditions.map(({ checksum, path, rendition }) => ({ file: { checksum, rendition }, path }))
  return (chunks?.files ?? [])
    .slice(0, 1)
    .map(({ checksum, index, path, rendition }) => ({ file: { checksum, index, rendition }, path }))
}

/** The file with these bytes, as a manifest names the one it lies beside. */
export function fileOf({ chunks, renditions }: Described, checksum: string): TakeManifest['file'] | undefined {
  const found = renditions.find((file) => file.checksum === checksum)
  if (found) return { checksum, rendition: found.rendition }
  const chunk = chunks?.files.find((file) => file.checksum === checksum)
  return chunk && { checksum, index: chunk.index, rendition: chunk.rendition }
}

/** The text of a manifest. */
export const manifestText = (described: Described, file: TakeManifest['file'], now: string): string =>
  `${JSON.stringify({ version: 1, writtenAt: now, file, ...described } satisfies TakeManifest)}\n`

/** Chunks as a manifest lists them; undefined when there are none, or too many. */
export const listedChunks = (
  files: ChunkFile[],
  { exact, jobId, total }: { exact: number; jobId: string; total: number | null },
): TakeManifest['chunks'] =>
  files.length === 0 || files.length > MAX_MANIFEST_CHUNKS
    ? undefined
    : { exact: exact === 1, files, jobId, ...(total === null ? {} : { total }) }

/** The entry of the file a manifest lies beside; undefined when it names none of its own. */
export function ownEntry({ chunks, file, renditions }: TakeManifest): RenditionFile | ChunkFile | undefined {
  const { checksum, index, rendition } = file
  const among = index === undefined ? renditions : (chunks?.files ?? []).filter((chunk) => chunk.index === index)
  return among.find((one) => one.rendition === rendition && one.checksum === checksum)
}
