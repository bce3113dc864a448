import type { JobStatus } from '../../../wire/recordings.ts'
import type { UploadStatus } from '../../../wire/uploads.ts'
import { counted } from './counted.ts'

const jobStatus: Record<JobStatus, string> = {
  queued: 'waiting for the recorder',
  running: 'running',
  stop_requested: 'stopping',
  cancelled: 'cancelled',
  completed: 'completed',
  failed: 'failed',
}

const uploadStatus: Record<UploadStatus, string> = {
  queued: 'waiting',
  retrying: 'will be retried',
  failed: 'failed',
  succeeded: 'uploaded',
  cancelled: 'cancelled',
}

export const activity = {
  title: 'Activity',
  captures: 'Captures',
  uploads: 'Uploads',
  jobStatus,
  uploadStatus,
  search: 'Search captures',
  status: 'Status',
  noCaptures: 'No capture matches.',
  /** By the beginning of what the controller tells; the longest that fits. */
  uploadFaults: [
    ['cache_path_', 'The file is not on the controller'],
    ['checksum_mismatch', 'What arrived differs from what was sent'],
    ['controller_stopping', 'The controller was stopped in between'],
    ['destination_', 'The destination is not set up, or off'],
    ['s3_', 'The storage refused it, or did not answer'],
    ['smb_config_', 'The share is not set up'],
    ['smb_', 'The share refused it, or did not answer'],
    ['source_checksum_mismatch', 'The file on the controller has changed: check its disk'],
    ['source_unreadable', 'The file on the controller cannot be read: check its disk'],
    ['upload_interrupted', 'The controller was restarted in between'],
    ['upload_stalled', 'It stalled: the connection is too slow, or broken'],
    ['upload_timeout', 'It took too long'],
    ['verification_', 'The destination did not allow verification'],
  ] as [string, string][],
  /** By the beginning of what the controller or the recorder tells; the first that fits. */
  takeFaults: [
    ['slot_ended', 'No recorder began it before its slot was over'],
    ['lease_expired', 'The recorder was cut off. What it still has is sent once it is connected again'],
    ['stop_request_lease_expired', 'The recorder was cut off while it was asked to stop'],
    ['insufficient_capture_disk_space', 'The recorder’s disk was too full: free some space there'],
    ['job_state_not_written', 'The recorder’s disk could not be written: check it'],
    ['nothing_captured', 'No audio came from the sound device: check its cable, then record again'],
    ['capture_format_not_supported', 'The sound device does not support this sample format: change it in the setup'],
    ['agent_restarted_during_recording', 'The recorder restarted before anything was captured'],
    ['node_retired', 'The recorder was taken out of service'],
    ['controller_stop_requested', 'It was stopped before it began'],
    ['agent_error', 'The recorder met an unexpected error: see its log'],
  ] as [string, string][],
  noUploads: 'No upload matches.',
  created: 'Created',
  take: 'Take',
  recorder: 'Recorder',
  why: 'Why it failed',
  retry: 'Try again',
  retried: (n: number) => `${counted(n, 'capture', 'captures')} started again.`,
  stopped: (n: number) => `${counted(n, 'capture', 'captures')} asked to stop.`,
  notDone: (n: number) =>
    counted(n, 'capture was not changed and stays selected.', 'captures were not changed and stay selected.'),
  stopCaptures: (n: number) => `Stop ${counted(n, 'capture', 'captures')}`,
  stopExplained: 'What was recorded so far is kept. What follows is not recorded, and none of them can go on.',
  retryCaptures: (n: number) => `Record ${counted(n, 'take', 'takes')} again`,
  retryExplained: (other: string) =>
    `What is stored here of these takes is deleted, and what the recorder still holds of them is not accepted any more. This cannot be undone. “${other}” on the page of a take keeps both.`,
  deletes: (length: string) => `${length} are deleted`,
  parts: 'Parts',
  partsOf: (name: string) => `Parts of ${name}`,
  noParts: 'No part has arrived.',
  part: (n: number) => `Part ${n}`,
  from: 'From',
  size: 'Size',
  file: 'File',
  target: 'Destination',
  attempts: 'Attempts',
  attemptsOf: (made: number, most: number) => `${made} of ${most}`,
  next: 'Next attempt',
  runner: (last: string) => `The last run was at ${last}.`,
  neverRan: 'Uploads have not run yet.',
  run: 'Run now',
  ran: (attempted: number, succeeded: number) =>
    attempted === 0 ? 'Nothing was due.' : `${succeeded} of ${counted(attempted, 'upload', 'uploads')} succeeded.`,
}
