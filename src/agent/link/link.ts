import { UserError } from '../../kernel/fail.ts'
import type { Custody } from '../../wire/custody.ts'
import type { DoctorReport } from '../../wire/doctor.ts'
import type { MonitorRendition } from '../../wire/listen.ts'
import type { MeterFrame } from '../../wire/meters.ts'
import type { AgentHealthEvent, InterfaceInput, NodeConfig } from '../../wire/nodes.ts'
import type { AgentJob, JobProgress, Rendition, RenditionDetails } from '../../wire/recordings.ts'
import type { Runtime } from '../../wire/runtime.ts'
import type { SoundReading } from '../../wire/soundreadings.ts'

/** Body of heartbeat; the controller reads the fields it owns and ignores the rest. */
interface Beat {
  agentVersion: string
  hostname: string
  ipAddresses: string[]
  /** Recordings whose takes it keeps, and asks about. */
  kept?: string[] | undefined
  runtime: Partial<Runtime>
  status: 'online' | 'recording' | 'degraded'
}

/** The answer to a heartbeat, as far as it says so. */
export interface BeatAnswer {
  /** The controller's clock (`Date` header, unix ms), for the skew rule. */
  at?: number | undefined
  /** By recording, what becomes of the takes that were asked about. */
  kept?: Record<string, Custody> | undefined
}

export interface Upload {
  /** Number of this chunk, from 0; undefined for a take in one piece. */
  chunk?: number
  /** How many chunks there are: only with the primary rendition of the last one, which completes the job. */
  chunkTotal?: number
  contentType: string
  details?: RenditionDetails
  /** Seconds of audio in the file, from the sample count. */
  durationSeconds: number
  /** Name shown to the operator. */
  fileName: string
  jobId?: string
  /** Called with the fraction (0..1) sent so far. */
  onProgress?: (part: number) => void
  path: string
  recordingId: string
  rendition?: Rendition
}

/** A piece of live audio: a whole WAV file. */
export interface LiveChunk {
  audio: Uint8Array
  /** Unix ms of its first sample. */
  capturedAt: number
  durationMs: number
  rendition: MonitorRendition
  /** Increases by one with every piece of a rendition; gaps mean missing audio. */
  sequence: number
}

/** The node's config, and its tag for the next request. */
export interface TaggedConfig {
  config: NodeConfig
  etag: string | undefined
}

/** A channel map as the controller assigns it; read leniently, printed as it came. */
type ChannelMapAssignment = Record<string, unknown>

/**
 * The agent's whole conversation with the controller. Every call throws `LinkError`; nothing else.
 * No call retries by itself except `upload`, which resumes at the offset the controller confirms.
 */
export interface Link {
  bootstrap(
    token: string,
    body: {
      hostKeys: string[]
      interfaces: InterfaceInput[]
      privateKey: string
      publicKey: string
      username: string
    },
  ): Promise<{ controllerToken: string; fingerprint?: string }>
  /** Trades a pairing code for a node and its bootstrap token; needs no token of its own. */
  pair(code: string): Promise<{ nodeId: string; token: string }>
  /**
   * Long poll: resolves with no job after `waitSeconds`. `holding` lists the job ids this agent still owns; `joinOnly`:
   * no further device may be opened, so only a job that joins a running capture will do.
   */
  claim(holding: string[], waitSeconds: number, signal: AbortSignal, joinOnly?: boolean): Promise<AgentJob[]>
  channelMapAssignments(): Promise<ChannelMapAssignment[]>
  /** The config; with an `etag`, waits up to `waitSeconds` for another than that: then undefined when it is the same. */
  config(known?: { etag: string; waitSeconds: number; signal: AbortSignal }): Promise<TaggedConfig | undefined>
  /** What the doctor found, for a request of the configuration. */
  doctorReport(requestId: string, report: DoctorReport): Promise<void>
  heartbeat(beat: Beat): Promise<BeatAnswer>
  healthEvent(event: AgentHealthEvent): Promise<void>
  inventory(interfaces: InterfaceInput[]): Promise<void>
  /** Renews the lease. With `wait` the answer comes when the job is to end, or after so many (whole) seconds. */
  jobHeartbeat(
    jobId: string,
    progress?: JobProgress,
    wait?: { seconds: number; signal: AbortSignal },
  ): Promise<AgentJob>
  listenChunk(chunk: LiveChunk, signal?: AbortSignal): Promise<void>
  meterFrame(frame: MeterFrame): Promise<void>
  /** Several, oldest first, where the config says that they may come together. */
  meterFrames(frames: readonly MeterFrame[]): Promise<void>
  /** Makes a recording known again by the note of its job; what is known stays as it is. */
  offer(note: string): Promise<void>
  readJob(jobId: string): Promise<AgentJob>
  reportCancelled(jobId: string, reason: string): Promise<void>
  reportFailed(jobId: string, reason: string): Promise<void>
  /** The same reading twice is one. */
  soundReading(reading: SoundReading): Promise<void>
  /** One attempt, resumable: streams the file from the confirmed offset, with Content-Digest. Throws LinkError. */
  upload(file: Upload, signal: AbortSignal): Promise<void>
  /** The highest term of a controller seen; absent or 0 where there is no second box. */
  term?(): number
  close(): void
}

/** Reason of a LinkError: by the clock of this machine the controller's certificate is not valid. */
export const WRONG_TIME = 'wrong_time'

/** What went wrong with a call: no answer at all (`status` undefined), or an answer that is not 2xx or not readable. */
export class LinkError extends UserError {
  readonly status: number | undefined
  readonly reason: string | undefined
  /** Retry-After of the controller, ms; 0: none. */
  readonly retryAfterMs: number

  constructor(message: string, status?: number, reason?: string, retryAfterMs = 0) {
    super(message)
    this.status = status
    this.reason = reason
    this.retryAfterMs = retryAfterMs
  }

  /** Whatever was thrown, as a failure of the link: what is none counts as no answer. */
  static of(e: unknown): LinkError {
    return e instanceof LinkError ? e : new LinkError(String(e))
  }

  /** Worth trying again: no answer, time-outs, throttling, server trouble, an unreadable answer. */
  get transient(): boolean {
    return this.status === undefined || this.status >= 500 || this.status === 408 || this.status === 429
  }
}
