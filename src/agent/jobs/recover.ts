import * as fs from 'node:fs/promises'
import * as path from 'node:path'
import type { AgentJob } from '../../wire/recordings.ts'
import { LinkError } from '../link/link.ts'
import { sizeOf } from '../spool/durable.ts'
import { wavFrameBytes } from '../spool/wav.rules.ts'
import { repairWav } from '../spool/wav.ts'
import type { JobContext, OwnedJob } from './owned.ts'
import { pauseBeforeRetry } from './retry.ts'

const RESTARTED = 'agent_restarted_during_recording'
/** A claim this young is begun without asking when the controller cannot be reached. */
const FRESH_MS = 60_000
/** More than any header: a file of this size holds something. */
const HEADER_MAX = 4096

/**
 * Looks at what an earlier process left of a job, repairs the take and sets the state to what is true.
 * `capture`: nothing was recorded yet; `finish`: go on from its state; `kept`: only a person can tell.
 */
export async function recoverJob(ctx: JobContext, job: OwnedJob): Promise<'capture' | 'finish' | 'kept'> {
  const { status } = job.state
  // Finally refused, and ended while its files were put aside: they still are nobody's but a person's.
  if (status === 'failed' && job.state.toFrame !== undefined) return putAside(ctx, job, job.state.reason)
  if (status === 'completed') return finishAs(job, 'uploaded')
  if (['uploaded', 'failed', 'cancelled'].includes(status)) return 'finish'
  if (await outputReady(ctx, job)) return told(job, status, { willUpload: true })
  const frames = await framesOnDisk(job)
  if (frames === 'unreadable') return putAside(ctx, job, 'take_unreadable')
  const { fromFrame } = job.state
  if (frames === undefined || frames.count <= fromFrame) return nothingThere(job)
  const whole = fromFrame + Math.round(job.command.durationSeconds * frames.rate)
  const toFrame = Math.min(job.state.toFrame ?? whole, frames.count)
  const reason = status === 'claimed' || status === 'capturing' ? { reason: RESTARTED } : {}
  await job.update({ ...reason, output: undefined, status: 'captured', toFrame })
  return told(job, status, { frames: toFrame - fromFrame, missingFrames: whole - toFrame, willUpload: true })
}

async function putAside(ctx: JobContext, job: OwnedJob, reason = 'unknown'): Promise<'kept'> {
  const previousStatus = job.state.status
  const kept = await ctx.spool.keep(job.id)
  job.tell('critical', 'capture_segments_unrecoverable', { path: kept, previousStatus, reason })
  return 'kept'
}

async function nothingThere(job: OwnedJob): Promise<'capture' | 'finish'> {
  const { status } = job.state
  if (status === 'claimed' || status === 'capturing') {
    await fs.rm(job.takeFile, { force: true })
    await job.update({ status: 'claimed' })
    return 'capture'
  }
  await job.update({ reason: RESTARTED, status: 'failed', toFrame: undefined })
  return told(job, status, { willUpload: false })
}

async function finishAs(job: OwnedJob, status: 'uploaded'): Promise<'finish'> {
  await job.update({ status })
  return 'finish'
}

function told(job: OwnedJob, previousStatus: string, details: Record<string, unknown>): 'finish' {
  job.tell('warning', 'recovered_after_restart', { ...details, previousStatus })
  return 'finish'
}

async function outputReady(ctx: JobContext, job: OwnedJob): Promise<boolean> {
  const { output, status } = job.state
  if (!output || (status !== 'rendered' && status !== 'uploading')) return false
  return ((await sizeOf(path.join(ctx.spool.dir(job.id), output.file))) ?? 0) > 0
}

/** True length of the take: its size decides, not its header. */
async function framesOnDisk(job: OwnedJob): Promise<{ count: number; rate: number } | 'unreadable' | undefined> {
  const size = await sizeOf(job.takeFile)
  if (size === undefined || size === 0) return undefined
  const layout = await repairWav(job.takeFile)
  if (!layout) return size > HEADER_MAX ? 'unreadable' : undefined
  return { count: layout.dataBytes / wavFrameBytes(layout), rate: layout.rate }
}

/** Whether a job without audio is to begin now. Waits for an answer unless the claim is fresh; throws only the abort. */
export async function stillWanted(ctx: JobContext, job: OwnedJob): Promise<'capture' | 'drop' | 'report'> {
  for (let attempt = 1; ; attempt++) {
    const answer = await ask(ctx, job)
    if (answer === 'gone') return 'drop'
    if (answer) return verdict(job, answer)
    if (ctx.clock.now() - job.state.claimedAt < FRESH_MS) return 'capture'
    await pauseBeforeRetry(ctx, attempt)
  }
}

async function verdict(job: OwnedJob, { status }: AgentJob): Promise<'capture' | 'drop' | 'report'> {
  if (status === 'running') return 'capture'
  if (status !== 'stop_requested') return 'drop'
  await job.update({ reason: 'controller_stop_requested', status: 'cancelled' })
  return 'report'
}

async function ask(ctx: JobContext, job: OwnedJob): Promise<AgentJob | 'gone' | undefined> {
  try {
    return await ctx.link.readJob(job.id)
  } catch (e) {
    return e instanceof LinkError && e.status === 404 ? 'gone' : undefined
  }
}
