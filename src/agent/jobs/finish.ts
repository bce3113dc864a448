import { LinkError } from '../link/link.ts'
import { headerReason } from './backoff.rules.ts'
import type { Delivery } from './delivery.ts'
import type { JobContext, OwnedJob } from './owned.ts'
import { pauseBeforeRetry } from './retry.ts'
import { tellSound } from './takesound.ts'

/**
 * Delivers a captured take completely, then releases it. Goes on until all audio is accepted or finally refused; an abort
 * leaves everything on disk. Throws only the abort.
 */
export async function finishTake(ctx: JobContext, job: OwnedJob, delivery: Delivery): Promise<void> {
  const { outputs, partsMade, status } = job.state
  if (status === 'uploaded') return release(ctx, job)
  const nothingSent = partsMade === 0 && !outputs.some((output) => output.uploaded)
  // Completed elsewhere before anything was sent: this take must not replace what is there.
  if (status === 'captured' && job.lease.latest?.status === 'completed' && nothingSent) {
    await delivery.cancel()
    return keep(ctx, job, 'job_already_completed')
  }
  if (job.state.offered) await offer(ctx, job)
  const refusal = await delivery.finish()
  if (refusal) return keep(ctx, job, refusal.reason, refusal.status)
  const { chunkTotal } = job.state
  if (chunkTotal !== undefined) job.tell('info', 'chunked_completed', { chunkCount: chunkTotal })
  if (totalUndelivered(job)) await tellEnd(ctx, job, 'failed', 'final_chunk_total_undelivered')
  await release(ctx, job)
}

/**
 * Tells a controller that may not know the recording what it is. What is refused for good is left to the upload, which is
 * refused then as well. Throws only the abort.
 */
async function offer(ctx: JobContext, job: OwnedJob): Promise<void> {
  const note = job.command.custody
  for (let attempt = 1; note !== undefined; attempt++) {
    ctx.signal.throwIfAborted()
    try {
      return await ctx.link.offer(note)
    } catch (e) {
      const failure = e instanceof LinkError ? e : new LinkError(String(e))
      if (!failure.transient && failure.status !== 401 && failure.status !== 403) return
      await pauseBeforeRetry(ctx, attempt, !failure.transient)
    }
  }
}

/**
 * All chunks are sent, but a power cut ended the take before its last chunk, so that none was marked as the last. The
 * controller ends the job with what it has (docs/contract/agent.md: Chunks).
 */
const totalUndelivered = ({ state }: OwnedJob): boolean =>
  state.partSeconds !== undefined && state.chunkTotal === undefined

/** The controller will not take this audio: moves it to `kept/` for an operator and raises an event. Never deletes it. */
async function keep(ctx: JobContext, job: OwnedJob, reason: string, status?: number): Promise<void> {
  job.lease.stop()
  await job.advance({ type: 'failed', reason })
  const kept = await ctx.spool.keep(job.id)
  job.tell('critical', 'cache_upload_failed', { path: kept, reason, status: status ?? null, willRetry: false })
}

/** The controller is responsible now. That is saved durably before the first byte is deleted. */
async function release(ctx: JobContext, job: OwnedJob): Promise<void> {
  job.lease.stop()
  for (let attempt = 1; !(await job.advance({ type: 'delivered' })); attempt++) await pauseBeforeRetry(ctx, attempt)
  tellSound(ctx, job)
  await ctx.cache.release(job.state)
}

/** Tells the controller about a job that ended without audio; throws only the abort. */
export async function reportEnd(ctx: JobContext, job: OwnedJob, delivery: Delivery): Promise<void> {
  job.lease.stop()
  await delivery.cancel()
  const { reason = 'agent_failed', status } = job.state
  await tellEnd(ctx, job, status === 'cancelled' ? 'cancelled' : 'failed', reason)
  await ctx.spool.remove(job.id)
}

async function tellEnd(ctx: JobContext, job: OwnedJob, end: 'cancelled' | 'failed', reason: string): Promise<void> {
  const tellIt = end === 'cancelled' ? ctx.link.reportCancelled : ctx.link.reportFailed
  for (let attempt = 1; ; attempt++) {
    ctx.signal.throwIfAborted()
    try {
      return await tellIt.call(ctx.link, job.id, headerReason(reason))
    } catch (e) {
      const failure = e instanceof LinkError ? e : new LinkError(String(e))
      // Already ended or deleted on the controller: nothing left to report.
      if (!failure.transient && failure.status !== 401 && failure.status !== 403) return
      await pauseBeforeRetry(ctx, attempt, !failure.transient)
    }
  }
}
