import type { CaptureBackend } from '../../wire/nodes.ts'
import type { CaptureRights } from '../capture/rights.rules.ts'

/** What the recording part of the agent may be told; the agent's config fills it. Times in seconds. */
export interface JobSettings {
  /** Used when the job names none. */
  captureBackend: CaptureBackend
  /** Executable of the capture; `arecord` stands for the backend's own program. */
  captureCommand: string
  /** What the controller may ask for of command, template and device; undefined: everything. */
  captureRights?: CaptureRights
  /** Replaces the whole argument list: shell-style words with {device} {format} {sample_rate} {channels} {seconds} {output}. */
  captureArgsTemplate?: string
  /** Length of a chunk when the job names none; 0 or undefined: one file. */
  chunkSeconds?: number
  /** Time a device gets until its first sample, before growth is judged. */
  growthGraceSeconds: number
  /** Without new bytes for this long a capture counts as stalled. */
  stalledSeconds: number
  /** Pause between two attempts to open a device. */
  retryPauseSeconds: number
  /** How long a lost device is tried for before the take ends with what is there. */
  retryWindowSeconds: number
  /** Cadence of the job heartbeat, which renews the lease. */
  pollSeconds: number
  /** Captures at once, until the controller's configuration says otherwise. */
  maxConcurrentRecordings: number
  /** ffmpeg. */
  renderCommand: string
  /** Keep the files of accepted uploads below `kept/`. */
  keepUploaded: boolean
  /** Time for render and upload after a stop of the agent; the rest waits for the next start. */
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
