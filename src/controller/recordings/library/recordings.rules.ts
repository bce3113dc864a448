import type { Codec } from '../../../wire/profiles.ts'
import {
  type BulkMetadata,
  CONTENT_TYPES,
  type Recording,
  type RecordingStatus,
  type Rendition,
} from '../../../wire/recordings.ts'
import type { Column } from '../../http/csv.ts'

/** The rendition of a stored file; `primary` for one that was sent without a rendition. */
export type StoredRendition = 'primary' | Rendition

const SECURED: ReadonlySet<RecordingStatus> = new Set(['cached', 'partial', 'uploaded'])
const ACTIVE: ReadonlySet<RecordingStatus> = new Set(['queued', 'recording'])

/** Whether the take is still being made. */
export const isActive = (status: RecordingStatus): boolean => ACTIVE.has(status)

/** Whether the played file was stored, even if a policy has deleted it since. */
export const isSecured = (status: RecordingStatus): boolean => SECURED.has(status)

/** Tags without blanks and repetitions; of two that differ only in case the first spelling stays. */
export function distinctTags(tags: readonly string[]): string[] {
  const byFold = new Map<string, string>()
  for (const tag of tags.map((t) => t.trim()).filter(Boolean)) {
    const fold = tag.toLowerCase()
    if (!byFold.has(fold)) byFold.set(fold, tag)
  }
  return [...byFold.values()]
}

/**
 * The status of a recording after its take ended as `to`. Stored audio never counts as lost: a secured recording keeps its
 * status, and a failure with a file leaves it `partial`.
 */
export function settledStatus(
  from: RecordingStatus,
  to: 'cached' | 'completed' | 'failed' | 'partial',
  hasFile: boolean,
): RecordingStatus {
  if (to === 'cached') return 'cached'
  if (to === 'partial') return from === 'uploaded' ? from : to
  if (isSecured(from)) return from
  return to === 'failed' && hasFile ? 'partial' : to
}

// Enhanced wins over a file without a rendition, which wins over the raw master (docs/contract/api.md: Files). A request for
// the master is never answered with enhanced audio.
const PREFERENCE: Record<'default' | Rendition, readonly StoredRendition[]> = {
  default: ['enhanced', 'primary', 'raw'],
  enhanced: ['enhanced', 'primary', 'raw'],
  raw: ['raw', 'primary'],
}

/** Stored files by rendition. */
export const byRendition = <F extends { rendition: StoredRendition }>(
  files: readonly F[],
): Partial<Record<StoredRendition, F>> =>
  Object.fromEntries(files.map((file) => [file.rendition, file])) as Partial<Record<StoredRendition, F>>

/** The stored file that answers a request for `wanted`; undefined when the recording has none. */
export function chosenFile<F>(
  files: Partial<Record<StoredRendition, F>>,
  wanted: 'default' | Rendition = 'default',
): F | undefined {
  const rendition = PREFERENCE[wanted].find((name) => files[name] !== undefined)
  return rendition && files[rendition]
}

const extensionOf = (path: string): string => /\.(mp3|flac|wav)$/.exec(path)?.[0] ?? '.mp3'

/** Content type by extension: the type that a sender claimed is never sent to a browser. */
export const contentTypeOf = (path: string): string => CONTENT_TYPES[extensionOf(path).slice(1) as Codec]

/**
 * The name a download is saved under: the recording's name, safe in any shell and file system (docs/contract/recordings.md:
 * Files).
 */
export function downloadName(recording: Pick<Recording, 'name'>, path: string): { ascii: string; unicode: string } {
  const extension = extensionOf(path)
  return {
    ascii: recording.name.replace(/[^\w .-]/g, '_') + extension,
    unicode: recording.name.toWellFormed().replace(/[^\p{L}\p{M}\p{N}_ .-]/gu, '_') + extension,
  }
}

/** Tags after a bulk edit; undefined when it does not touch them. What is removed is compared without case. */
export function changedTags(
  tags: readonly string[],
  { addTags, removeTags, replaceTags }: Pick<BulkMetadata, 'addTags' | 'removeTags' | 'replaceTags'>,
): string[] | undefined {
  if (replaceTags) return distinctTags(replaceTags)
  if (!addTags && !removeTags) return undefined
  const gone = new Set(removeTags?.map((tag) => tag.toLowerCase()))
  return distinctTags([...tags.filter((tag) => !gone.has(tag.toLowerCase())), ...(addTags ?? [])])
}

/** Columns of the exported manifest (docs/contract/api.md: Exports). */
export const EXPORT_COLUMNS: readonly Column<Recording>[] = [
  ['id', (r) => r.id],
  ['name', (r) => r.name],
  ['notes', (r) => r.notes],
  ['transcriptSnippets', (r) => r.transcriptSnippets?.join(' | ')],
  ['folder', (r) => r.folder],
  ['tags', (r) => r.tags.join(';')],
  ['status', (r) => r.status],
  ['healthStatus', (r) => r.healthStatus],
  ['source', (r) => r.source],
  ['recordedAt', (r) => r.recordedAt],
  ['durationSeconds', (r) => r.durationSeconds],
  ['nodeId', (r) => r.nodeId],
  ['scheduleId', (r) => r.scheduleId],
  ['recordingProfileId', (r) => r.recordingProfileId],
  ['uploadPolicyIds', (r) => r.uploadPolicyIds.join(';')],
  ['watchdogPolicyId', (r) => r.watchdogPolicyId],
  // Split takes are a thing of the past; the columns stay for those who read them.
  ['trackGroupId', () => undefined],
  ['trackIndex', () => undefined],
  ['trackTotal', () => undefined],
  ['cached', (r) => r.cached],
  ['cachePath', (r) => r.cachePath],
  ['checksum', (r) => r.checksum],
]
