import { backoff } from '../../kernel/backoff.ts'

/** Seconds before attempt number `attempt` (from 1): doubling, reduced by up to half at random to spread the agents. */
export const backoffSeconds = (attempt: number, min: number, max: number, random: number): number =>
  backoff(attempt - 1, min, max, random)

/** What to do after a failed upload: retry, retry slowly, retry a few times, or give up. */
type UploadVerdict = 'retry' | 'retry_slowly' | 'retry_few' | 'final'

/** Refusals that retrying cannot change. */
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
  // An unknown refusal, or bytes damaged on the way.
  return 'retry_few'
}

/** Refusals that mean: try again later. */
const PASSING_REASONS = ['upload_interrupted', 'upload_in_progress', 'upload_taken_over', 'upload_offset_mismatch']

/** A reason as it may stand in a header: printable ASCII, short. */
export const headerReason = (reason: string): string =>
  reason
    .replaceAll(/[^\x20-\x7e]+/g, ' ')
    .trim()
    .slice(0, 200)
