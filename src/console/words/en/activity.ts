import type { JobStatus } from '../../../wire/recordings.ts'
import type { UploadStatus } from '../../../wire/uploads.ts'
import { counted } from './counted.ts'

const jobStatus: Record<JobStatus, string> = {
  queued: 'waits for the recorder',
  running: 'running',
  stop_requested: 'stopping',
  cancelled: 'cancelled',
  completed: 'completed',
  failed: 'failed',
}

const uploadStatus: Record<UploadStatus, string> = {
  queued: 'waiting',
  retrying: 'will be tried again',
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
    ['checksum_mismatch', 'The destination holds other bytes'],
    ['controller_stopping', 'The controller was stopped meanwhile'],
    ['destination_', 'The destination is not set up, or off'],
    ['s3_', 'The store refused it, or did not answer'],
    ['smb_config_', 'The share is not set up'],
    ['smb_', 'The share refused it, or did not answer'],
    ['source_checksum_mismatch', 'The file on the controller has changed: look at its disk'],
    ['source_unreadable', 'The file on the controller cannot be read: look at its disk'],
    ['upload_interrupted', 'The controller was restarted meanwhile'],
    ['upload_stalled', 'It did not go on: the line is too slow, or cut'],
    ['upload_timeout', 'It took too long'],
    ['verification_', 'The destination would not let it be checked'],
  ] as [string, string][],
  noUploads: 'No upload matches.',
  created: 'Created',
  take: 'Take',
  recorder: 'Recorder',
  why: 'Why it failed',
  retry: 'Try again',
  retried: (n: number) => `${counted(n, 'capture', 'captures')} started again.`,
  stopped: (n: number) => `${counted(n, 'capture', 'captures')} asked to stop.`,
  notDone: (n: number) => `${counted(n, 'capture was', 'captures were')} left as it was and stays selected.`,
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
