import * as path from 'node:path'
import { LinkError } from '../link/link.ts'
import type { Output } from '../spool/state.ts'
import { uploadVerdict } from './backoff.rules.ts'
import type { JobContext, OwnedJob } from './owned.ts'
import { FEW_TRIES, pauseBeforeRetry } from './retry.ts'

interface Sending {
  ctx: JobContext
  job: OwnedJob
  onProgress: (part: number) => void
  output: Output
  /** Aborted when the agent stops. */
  signal: AbortSignal
}

export interface Refusal {
  reason: string
  status: number | undefined
}

/**
 * Tries until the controller has the file. Other uploads may go between two attempts, the oldest take first, so that a stuck
 * one blocks nobody. Resolves with the refusal when retrying cannot help; throws only the abort.
 */
export async function sendOutput(sending: Sending): Promise<Refusal | undefined> {
  const { ctx, job, signal } = sending
  for (let attempt = 1, few = 0; ; attempt++) {
    const failure = await inTurn(sending)
    if (!failure) {
      if (attempt > 1) job.tell('info', 'control_plane_recovered', { attempts: attempt })
      return undefined
    }
    signal.throwIfAborted()
    const { message: error, reason, status, transient } = failure
    const verdict = uploadVerdict(status, reason, transient)
    if (verdict === 'final' || (verdict === 'retry_few' && ++few >= FEW_TRIES))
      return { reason: reason ?? `http_${status}`, status }
    const told = { error, reason: reason ?? null, status: status ?? null, willRetry: true }
    if (attempt === 1) job.tell('warning', failedName(sending.output), { ...told, ...about(sending.output) })
    await pauseBeforeRetry({ ...ctx, signal }, attempt, verdict === 'retry_slowly')
  }
}

const about = ({ chunk }: Output) => (chunk === undefined ? {} : { chunkIndex: chunk })

const failedName = ({ chunk, rendition }: Output) => {
  if (rendition === 'raw') return 'raw_rendition_upload_failed'
  return chunk === undefined ? 'cache_upload_failed' : 'chunk_upload_failed'
}

async function inTurn({ ctx, job, onProgress, output, signal }: Sending): Promise<LinkError | undefined> {
  const { file, refused: _, uploaded: __, ...about } = output
  const filePath = path.join(ctx.spool.dir(job.id), file)
  const done = await ctx.uploads.take(job.state.claimedAt, signal)
  try {
    const { recordingId } = job.state.job
    await ctx.link.upload({ ...about, jobId: job.id, onProgress, path: filePath, recordingId }, signal)
    return undefined
  } catch (e) {
    return LinkError.of(e)
  } finally {
    done()
  }
}
