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
  const { custody } = job.command
  // A controller that may not know the recording is told what it is; if it refuses that for good, it refuses the upload, too.
  if (job.state.offered && custody) await untilAnswered(ctx, () => ctx.link.offer(custody))
  const refusal = await delivery.finish()
  if (refusal) return keep(ctx, job, refusal.reason, refusal.status)
  const { chunkTotal } = job.state
  if (chunkTotal !== undefined) job.tell('info', 'chunked_completed', { chunkCount: chunkTotal })
  if (totalUndelivered(job)) await tellEnd(ctx, job, 'failed', 'final_chunk_total_undelivered')
  await release(ctx, job)
}

/** Asks until the controller has answered, or refuses for good. Throws only the abort. */
async function untilAnswered(ctx: JobContext, ask: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    ctx.signal.throwIfAborted()
    try {
      return await ask()
    } catch (e) {
      const { status, transient } = LinkError.of(e)
      if (!transient && status !== 401 && status !== 403) return
      await pauseBeforeRetry(ctx, attempt, !transient)
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
  // A refusal says that the job has ended or was deleted on the controller: nothing is left to report.
  await untilAnswered(ctx, () => tellIt.call(ctx.link, job.id, headerReason(reason)))
}
