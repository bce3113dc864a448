import type { CaptureBackend } from '../../wire/nodes.ts'
import type { CaptureRights } from '../capture/rights.rules.ts'

/** Settings of the job runner, filled from the agent's config. Times in seconds. */
export interface JobSettings {
  /** Used when the job names none. */
  captureBackend: CaptureBackend
  /** Executable of the capture; `arecord` stands for the backend's own program. */
  captureCommand: string
  /** Which commands, templates and devices the controller may ask for; undefined: any. */
  captureRights?: CaptureRights
  /** Replaces the whole argument list: shell-style words with {device} {format} {sample_rate} {channels} {seconds} {output}. */
  captureArgsTemplate?: string
  /** Length of a chunk when the job names none; 0 or undefined: one file. */
  chunkSeconds?: number
  /** Time allowed for the first sample, before stalls are detected. */
  growthGraceSeconds: number
  /** A capture without new bytes for this long counts as stalled. */
  stalledSeconds: number
  /** Pause between two attempts to open a device. */
  retryPauseSeconds: number
  /** How long an unavailable device is retried before a take that has not begun fails. */
  retryWindowSeconds: number
  /** Interval of the job heartbeat, which renews the lease. */
  pollSeconds: number
  /** Simultaneous captures, until the controller's configuration says otherwise. */
  maxConcurrentRecordings: number
  /** ffmpeg. */
  renderCommand: string
  /** Keep copies of accepted uploads below `cache/`. */
  keepUploaded: boolean
  /** Time for rendering and uploading when the agent stops; the rest waits for the next start. */
  stopGraceSeconds: number
  /** First pause after a failed upload; doubles up to `retryMaxSeconds`. */
  retryMinSeconds: number
  retryMaxSeconds: number
}

export const defaultJobSettings: JobSettings = {
  captureBackend: 'alsa',
  captureCommand: 'arecord',
  growthGraceSeconds: 10,
  stalledSeconds: 30,
  retryPauseSeconds: 1,
  retryWindowSeconds: 30,
  pollSeconds: 2,
  maxConcurrentRecordings: 1,
  renderCommand: 'ffmpeg',
  keepUploaded: false,
  stopGraceSeconds: 20,
  retryMinSeconds: 1,
  retryMaxSeconds: 60,
}
