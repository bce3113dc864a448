import * as fs from 'node:fs/promises'
import * as path from 'node:path'
import { sizeOf } from '../../kernel/durable.ts'
import { errorFields } from '../../kernel/log.ts'
import type { AgentJob } from '../../wire/recordings.ts'
import { fileFormat } from '../audio/format.rules.ts'
import { MARKED_HEADER, type Moment, msBetween } from '../audio/marks.rules.ts'
import { moment } from '../audio/marks.ts'
import { wavFrameBytes } from '../audio/wav.rules.ts'
import { repairTake } from '../audio/wav.ts'
import type { Left } from '../capture/recorder.ts'
import { LinkError } from '../link/link.ts'
import type { JobContext, OwnedJob } from './owned.ts'
import { limitOf } from './parts.rules.ts'
import { pauseBeforeRetry } from './retry.ts'

const RESTARTED = 'agent_restarted_during_recording'
/** A claim younger than this is started without asking while the controller cannot be reached. */
const FRESH_MS = 60_000

/** What to do with a job of an earlier process; `left`: what the take continues from. */
type Recovered = { left?: Left; next: 'capture' } | { next: 'finish' | 'kept' | 'stuck' }

interface OnDisk {
  count: number
  format: NonNullable<OwnedJob['state']['format']>
  rate: number
  lastAt: Moment
}

/**
 * Examines what an earlier process left of a job, repairs the take and corrects the state. `capture`: start or continue
 * capturing; `finish`: continue from its state; `kept`: only an operator can decide; `stuck`: so it is, and the disk does
 * not even let it be moved. Never rejects: one damaged take must not keep the recorder from its others.
 */
export async function recoverJob(ctx: JobContext, job: OwnedJob): Promise<Recovered> {
  try {
    return await examine(ctx, job)
  } catch (e) {
    ctx.log.error('take of an earlier run cannot be read: check the disk of the spool', {
      jobId: job.id,
      ...errorFields(e),
    })
    return putAside(ctx, job, 'take_unreadable')
  }
}

async function examine(ctx: JobContext, job: OwnedJob): Promise<Recovered> {
  const { status } = job.state
  // Finally refused, then stopped while its files were being put aside: they are still for an operator.
  if (status === 'failed' && job.state.toFrame !== undefined) return putAside(ctx, job, job.state.reason)
  if (['uploaded', 'failed', 'cancelled'].includes(status)) return { next: 'finish' }
  const whole = await listWhatIsThere(ctx, job)
  if (status === 'uploading' && whole) {
    tellRecovered(job, status, { willUpload: true })
    return { next: 'finish' }
  }
  const frames = await framesOnDisk(job)
  if (frames === 'unreadable') return putAside(ctx, job, 'take_unreadable')
  const { fromFrame } = job.state
  if (frames === undefined || frames.count <= fromFrame) return nothingThere(job)
  const limit = limitOf(job.state, frames.rate)
  const cutOff = status === 'claimed' || status === 'capturing'
  const left = cutOff ? await goesOn(ctx, job, frames, limit) : undefined
  if (left) return { left, next: 'capture' }
  const toFrame = Math.min(job.state.toFrame ?? limit, frames.count)
  await job.advance({ type: 'captured', format: frames.format, reason: cutOff ? RESTARTED : undefined, toFrame })
  tellRecovered(job, status, { frames: toFrame - fromFrame, missingFrames: limit - toFrame, willUpload: true })
  return { next: 'finish' }
}

/** Continues a take whose time is not over: what is said now is worth as much as what was said before. */
async function goesOn(ctx: JobContext, job: OwnedJob, found: OnDisk, whole: number): Promise<Left | undefined> {
  const { count, format, lastAt, rate } = found
  const awayMs = msBetween(lastAt, moment())
  if (awayMs >= ((whole - count) / rate) * 1000) return undefined
  // Killed between the first sample and the next saved state: the file itself tells its format.
  await job.advance({ type: 'capturing', format })
  tellRecovered(job, 'capturing', { frames: count, awaySeconds: awayMs / 1000, willResume: true })
  return { frames: count, lastAt: ctx.clock.monotonic() - awayMs }
}

async function putAside(ctx: JobContext, job: OwnedJob, reason = 'unknown'): Promise<Recovered> {
  const previousStatus = job.state.status
  const kept = await ctx.spool.keep(job.id).catch((e) => {
    ctx.log.error('damaged take could not be moved and stays where it is', { jobId: job.id, ...errorFields(e) })
    return undefined
  })
  const path = kept ?? ctx.spool.dir(job.id)
  job.tell('critical', 'capture_segments_unrecoverable', { path, previousStatus, reason })
  return { next: kept === undefined ? 'stuck' : 'kept' }
}

async function nothingThere(job: OwnedJob): Promise<Recovered> {
  const { status } = job.state
  const cutOff = status === 'claimed' || status === 'capturing'
  if (cutOff) await fs.rm(job.takeFile, { force: true })
  await job.advance({ type: 'take_missing', reason: RESTARTED })
  if (cutOff) return { next: 'capture' }
  tellRecovered(job, status, { willUpload: false })
  return { next: 'finish' }
}

function tellRecovered(job: OwnedJob, previousStatus: string, details: Record<string, unknown>): void {
  job.tell('warning', 'recovered_after_restart', { ...details, previousStatus })
}

/** Removes outputs from the list that are not on disk. True when none was missing. */
async function listWhatIsThere(ctx: JobContext, job: OwnedJob): Promise<boolean> {
  const missing: string[] = []
  for (const { file, uploaded } of job.state.outputs)
    if (!uploaded && !(await sizeOf(path.join(ctx.spool.dir(job.id), file)))) missing.push(file)
  if (missing.length > 0) await job.advance({ type: 'files_missing', files: missing })
  return missing.length === 0
}

/** Length of the take as far as its own records vouch for it. */
async function framesOnDisk(job: OwnedJob): Promise<OnDisk | 'unreadable' | undefined> {
  const size = await sizeOf(job.takeFile)
  if (size === undefined || size === 0) return undefined
  const { format: known } = job.state
  const repaired = await repairTake(job.takeFile, known && { ...known, format: fileFormat(known.format) })
  if (!repaired) return size > MARKED_HEADER ? 'unreadable' : undefined
  if (!repaired.lastAt) return undefined
  const { channels, format, rate } = repaired.layout
  const count = repaired.layout.dataBytes / wavFrameBytes(repaired.layout)
  return { count, format: { channels, format, rate }, lastAt: repaired.lastAt, rate }
}

/** Whether to start a job without audio now. Waits for an answer unless the claim is fresh; throws only the abort. */
export async function stillWanted(ctx: JobContext, job: OwnedJob): Promise<'capture' | 'drop' | 'report'> {
  for (let attempt = 1; ; attempt++) {
    const answer = await ask(ctx, job)
    if (answer === 'gone') return 'drop'
    if (answer) return verdict(job, answer)
    if (sinceClaim(job) < FRESH_MS) return 'capture'
    await pauseBeforeRetry(ctx, attempt)
  }
}

/** Milliseconds; a claim of unknown age counts as old. */
const sinceClaim = ({ state: { claimed } }: OwnedJob): number => (claimed ? msBetween(claimed, moment()) : Infinity)

async function verdict(job: OwnedJob, answer: AgentJob): Promise<'capture' | 'drop' | 'report'> {
  const { failureReason, status } = answer
  const timeLeft = sinceClaim(job) < job.command.durationSeconds * 1000
  // A lease that expired while the agent was away does not end the job: the take is delivered late (ADR-0009).
  if (status === 'running' || (status === 'failed' && failureReason === 'lease_expired' && timeLeft)) return 'capture'
  if (status !== 'stop_requested') return 'drop'
  await job.advance({ type: 'cancelled', reason: 'controller_stop_requested' })
  return 'report'
}

async function ask(ctx: JobContext, job: OwnedJob): Promise<AgentJob | 'gone' | undefined> {
  try {
    return await ctx.link.readJob(job.id)
  } catch (e) {
    return e instanceof LinkError && e.status === 404 ? 'gone' : undefined
  }
}
