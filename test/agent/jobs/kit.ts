import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import type { TestContext } from 'node:test'
import { cutWav } from '../../../src/agent/audio/cut.ts'
import { parseWav } from '../../../src/agent/audio/wav.rules.ts'
import { tonePeriod } from '../../../src/agent/capture/tones.ts'
import type { Enhancer } from '../../../src/agent/enhance/enhance.ts'
import type { Happening } from '../../../src/agent/health/report.ts'
import { createJobRunner, type JobRunner, type JobRunnerDeps } from '../../../src/agent/jobs/runner.ts'
import { defaultJobSettings, type JobSettings } from '../../../src/agent/jobs/settings.ts'
import { type BeatAnswer, type Link, LinkError, type Upload } from '../../../src/agent/link/link.ts'
import { systemClock } from '../../../src/kernel/clock.ts'
import type { Log } from '../../../src/kernel/log.ts'
import type { AgentJob, JobProgress } from '../../../src/wire/recordings.ts'
import type { SoundReading } from '../../../src/wire/soundreadings.ts'

export const quiet: Log = { debug: () => {}, error: () => {}, info: () => {}, warn: () => {} }

export const quick: JobSettings = {
  ...defaultJobSettings,
  growthGraceSeconds: 1,
  pollSeconds: 0.05,
  retryMaxSeconds: 0.1,
  retryMinSeconds: 0.02,
  retryPauseSeconds: 0.1,
  retryWindowSeconds: 2,
  stalledSeconds: 0.4,
}

export interface Sent extends Upload {
  bytes: Buffer
}

/** The controller's side of the conversation, in memory: the border of the agent. */
export class FakeLink implements Link {
  readonly cancelled: [string, string][] = []
  readonly failed: [string, string][] = []
  readonly heartbeats: string[] = []
  /** What the heartbeats said of where each job is, in order. */
  readonly progress: [string, JobProgress][] = []
  readonly jobs = new Map<string, AgentJob>()
  readonly uploads: Sent[] = []
  readonly offers: string[] = []
  readonly readings: SoundReading[] = []
  /** Thrown by the next uploads, one each; `undefined` lets one pass. */
  refusals: (LinkError | undefined)[] = []
  /** Thrown by every heartbeat and read while set. */
  outage: LinkError | undefined
  onOffer: () => Promise<void> = async () => {}
  onUpload: (upload: Upload) => Promise<void> = async () => {}

  add(...jobs: AgentJob[]): AgentJob[] {
    for (const job of jobs) this.jobs.set(job.id, job)
    return jobs
  }

  set(jobId: string, patch: Partial<AgentJob>): void {
    this.jobs.set(jobId, { ...this.jobs.get(jobId)!, ...patch })
  }

  async jobHeartbeat(jobId: string, progress?: JobProgress): Promise<AgentJob> {
    this.heartbeats.push(jobId)
    if (progress) this.progress.push([jobId, { ...progress }])
    const job = await this.readJob(jobId)
    if (['completed', 'failed', 'cancelled'].includes(job.status)) throw new LinkError('not heartbeatable', 409)
    return job
  }

  async readJob(jobId: string): Promise<AgentJob> {
    if (this.outage) throw this.outage
    const job = this.jobs.get(jobId)
    if (!job) throw new LinkError('not found', 404, 'recording_job_not_found')
    return job
  }

  async reportCancelled(jobId: string, reason: string): Promise<void> {
    this.cancelled.push([jobId, reason])
    this.set(jobId, { status: 'cancelled' })
  }

  async reportFailed(jobId: string, reason: string): Promise<void> {
    this.failed.push([jobId, reason])
    this.set(jobId, { status: 'failed' })
  }

  async upload(file: Upload, signal: AbortSignal): Promise<void> {
    await this.onUpload(file)
    const refusal = this.refusals.shift()
    if (refusal) throw refusal
    signal.throwIfAborted()
    this.uploads.push({ ...file, bytes: fs.readFileSync(file.path) })
    // The primary completes the job: of a take in chunks, the one that says how many there are (docs/contract/agent.md:
    // Chunks).
    const completes = file.rendition !== 'raw' && (file.chunk === undefined || file.chunkTotal !== undefined)
    if (file.jobId && completes) this.set(file.jobId, { status: 'completed' })
  }

  async channelMapAssignments(): Promise<never[]> {
    return []
  }
  async listenChunk(): Promise<void> {}
  async meterFrame(): Promise<void> {}
  async meterFrames(): Promise<void> {}
  async soundReading(reading: SoundReading): Promise<void> {
    this.readings.push(reading)
  }
  async bootstrap(): Promise<never> {
    throw new Error('not here')
  }
  async pair(): Promise<never> {
    throw new Error('not here')
  }
  async claim(): Promise<AgentJob[]> {
    return []
  }
  async config(): Promise<never> {
    throw new Error('not here')
  }
  async doctorReport(): Promise<void> {}
  async heartbeat(): Promise<BeatAnswer> {
    return {}
  }

  async offer(note: string): Promise<void> {
    this.offers.push(note)
    await this.onOffer()
  }

  async healthEvent(): Promise<void> {}
  async inventory(): Promise<void> {}
  close(): void {}
}

export function job(id: string, command: Partial<AgentJob['command']> = {}): AgentJob {
  return {
    command: {
      captureChannels: 2,
      captureDevice: 'test:speed=20',
      captureFormat: 'S16_LE',
      captureSampleRate: 48_000,
      durationSeconds: 2,
      outputFileName: `rec_${id}.wav`,
      ...command,
    },
    id,
    nodeId: 'node_1',
    recordingId: `rec_${id}`,
    status: 'running',
  }
}

/** An enhancer without a denoiser: one channel of the take, quickly, or what `fails` throws. */
export function plainEnhancer(fails?: () => Error | undefined): Enhancer {
  return {
    enhance: async ({ output, take }, { onProgress, signal }) => {
      signal.throwIfAborted()
      const error = fails?.()
      if (error) throw error
      onProgress?.(50)
      await cutWav(take.file, output, [0], take.fromFrame, take.toFrame)
      onProgress?.(100)
      const denoiser = { engine: 'rnnoise', model: 'none' } as const
      return { details: { denoiser }, durationSeconds: (take.toFrame - take.fromFrame) / 48_000 }
    },
  }
}

/** The first `frames` frames of the stereo test source at 48 kHz. */
export function tones(frames: number): Buffer {
  const period = tonePeriod({ channels: 2, format: 'S16_LE', rate: 48_000 })
  return Buffer.concat(Array(Math.ceil((frames * 4) / period.length)).fill(period)).subarray(0, frames * 4)
}

export interface World {
  events: Happening[]
  link: FakeLink
  /** Names of the events so far, without their prefix. */
  names(): string[]
  runner: JobRunner
  workDir: string
}

export function tempDir(t: TestContext): string {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'roomtone-jobs-'))
  // Beside it lies what the controller of a child had. What is told to stop after this may still be writing its last file.
  const options = { force: true, maxRetries: 20, recursive: true, retryDelay: 50 }
  t.after(() => {
    for (const name of [dir, `${dir}.sent`]) fs.rmSync(name, options)
  })
  return dir
}

export function world(
  t: TestContext,
  settings: Partial<JobSettings> = {},
  workDir = tempDir(t),
  more: Partial<JobRunnerDeps> = {},
): World {
  const events: Happening[] = []
  const link = new FakeLink()
  const all = { ...quick, ...settings }
  const report = (h: Happening) => void events.push(h)
  const runner = createJobRunner({ clock: systemClock, link, log: quiet, report, settings: all, workDir, ...more })
  t.after(() => runner.stop())
  return { events, link, names: () => events.map((e) => e.type.split('.').at(-1)!), runner, workDir }
}

/** Status of a take on disk; undefined when there is none. */
export function status(workDir: string, id = 'a'): string | undefined {
  const file = path.join(workDir, 'takes', id, 'state.json')
  return fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, 'utf8')).status : undefined
}

/** Waits for a fact that other code brings about; the test's own time-out is its only limit. */
export async function until(fact: () => boolean): Promise<void> {
  while (!fact()) await new Promise((resolve) => setTimeout(resolve, 5))
}

/** Samples of a WAV file, and what its header says. */
export function wav(bytes: Buffer) {
  const layout = parseWav(bytes)
  if (!layout) throw new Error('not a WAV file')
  return { ...layout, pcm: bytes.subarray(layout.dataOffset, layout.dataOffset + layout.dataBytes) }
}
