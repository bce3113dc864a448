import { backoff } from '../../kernel/backoff.ts'

/** Seconds before try number `attempt` (from 1): doubling, with up to half of it drawn off so that agents spread. */
export const backoffSeconds = (attempt: number, min: number, max: number, random: number): number =>
  backoff(attempt - 1, min, max, random)

/** What an answer to an upload means: try again, try again rarely, a few times more, or never. */
type UploadVerdict = 'retry' | 'retry_slowly' | 'retry_few' | 'final'

/** Refusals that no repetition can change. */
const FINAL_REASONS = [
  'recording_job_not_completable',
  'recording_terminal_failed',
  'superseded',
  'take_already_stored',
  'file_too_large',
  'empty_file',
]

export function uploadVerdict(
  status: number | undefined,
  reason: string | undefined,
  transient: boolean,
): UploadVerdict {
  if (transient || PASSING_REASONS.includes(reason ?? '')) return 'retry'
  // The credential may be rotated at any time (ADR-0006).
  if (status === 401 || status === 403) return 'retry_slowly'
  if (status === 404 || status === 413 || status === 415 || FINAL_REASONS.some((r) => reason?.includes(r)))
    return 'final'
  // A refusal we do not know, or a digest of bytes hurt on the way.
  return 'retry_few'
}

/** Refusals by which the controller means: come again. */
const PASSING_REASONS = ['upload_interrupted', 'upload_in_progress', 'upload_taken_over', 'upload_offset_mismatch']

/** A reason as it may stand in a header: printable ASCII, short. */
export const headerReason = (reason: string): string =>
  reason
    .replaceAll(/[^\x20-\x7e]+/g, ' ')
    .trim()
    .slice(0, 200)
