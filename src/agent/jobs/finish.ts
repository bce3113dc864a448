import * as fs from 'node:fs/promises'
import * as path from 'node:path'
import { errorFields } from '../../kernel/log.ts'
import { LinkError } from '../link/link.ts'
import { codecArgs, filterOf, type RenderPlan, renderPlan } from '../render/plan.rules.ts'
import { render } from '../render/render.ts'
import { cutWav } from '../spool/cut.ts'
import { isDiskFull, syncFile } from '../spool/durable.ts'
import { wavFrameBytes } from '../spool/wav.rules.ts'
import { readWav } from '../spool/wav.ts'
import { headerReason, uploadVerdict } from './backoff.rules.ts'
import type { JobContext, OwnedJob } from './owned.ts'
import { pauseBeforeRetry } from './retry.ts'

/** Tries of what may pass by itself, yet mostly does not: with the usual pauses, two minutes of them. */
const FEW = 8
const TAKE = 'take.wav'

/**
 * Brings a captured take to the controller: render, upload, let go. Goes on until the audio is accepted or finally
 * refused; an abort leaves everything on disk. Throws only the abort.
 */
export async function finishTake(ctx: JobContext, job: OwnedJob): Promise<void> {
  const { status } = job.state
  if (status === 'uploaded') return letGo(ctx, job)
  // Ended elsewhere before anything was sent: ours must not replace what is there.
  if (status === 'captured' && job.remote?.status === 'completed') return keep(ctx, job, 'job_already_completed')
  for (let attempt = 1; !job.state.output; attempt++) {
    try {
      await prepare(ctx, job)
    } catch (e) {
      ctx.signal.throwIfAborted()
      ctx.log.error('take not prepared', { jobId: job.id, ...errorFields(e) })
      // A full disk may be emptied by other uploads; anything else does not heal.
      if (!isDiskFull(e) && attempt >= FEW) return keep(ctx, job, 'take_not_prepared')
      await pauseBeforeRetry(ctx, attempt)
    }
  }
  if (await upload(ctx, job)) await letGo(ctx, job)
}

/** Makes the file to upload: rendered, or the take itself when that is what was asked for. */
async function prepare(ctx: JobContext, job: OwnedJob): Promise<void> {
  const layout = await readWav(job.takeFile)
  if (!layout) throw new Error('take is not readable')
  const inFile = Math.floor(layout.dataBytes / wavFrameBytes(layout))
  const { fromFrame, toFrame = inFile } = job.state
  const frames = job.growing ? Number.POSITIVE_INFINITY : inFile
  const plan = renderPlan(job.command, layout, frames, fromFrame, toFrame)
  const durationSeconds = (toFrame - fromFrame) / layout.rate
  if (plan.mixes)
    job.tell('info', 'channel_map_applied', { outputChannels: plan.outputChannels, sources: plan.sources })
  let file = TAKE
  let { contentType } = plan
  let { outputFileName: fileName } = job.command
  if (plan.needed) {
    const rendered = await renderOr(ctx, job, plan, layout.format, durationSeconds)
    if (rendered === 'failed') {
      file = await rawOutput(ctx, job, plan, { from: fromFrame, to: toFrame })
      contentType = 'audio/wav'
      fileName = `${path.parse(fileName).name}.wav`
    } else file = rendered
  }
  await job.update({ output: { contentType, durationSeconds, file, fileName }, status: 'rendered' })
}

async function renderOr(
  ctx: JobContext,
  job: OwnedJob,
  plan: RenderPlan,
  format: Parameters<typeof codecArgs>[2],
  seconds: number,
): Promise<string> {
  const file = `rendered.${plan.codec}`
  const request = {
    codecArgs: codecArgs(job.command, plan.codec, format),
    command: ctx.settings.renderCommand,
    env: ctx.childEnv,
    filter: filterOf(plan),
    input: job.takeFile,
    output: path.join(ctx.spool.dir(job.id), file),
    seconds,
  }
  try {
    await render(request, ctx.signal)
    job.tell('info', 'output_rendered', { codec: plan.codec, durationSeconds: seconds })
    return file
  } catch (e) {
    ctx.signal.throwIfAborted()
    job.tell('critical', 'output_render_failed', { codec: plan.codec, error: String(e), uploading: 'raw take as WAV' })
    return 'failed'
  }
}

/** The audio as it was captured, but never more channels or time than the job may hear. */
async function rawOutput(
  ctx: JobContext,
  job: OwnedJob,
  plan: RenderPlan,
  { from, to }: { from: number; to: number },
): Promise<string> {
  if (!plan.cut && !plan.mixes) return TAKE
  const target = path.join(ctx.spool.dir(job.id), 'raw.wav')
  await fs.rm(target, { force: true })
  await cutWav(job.takeFile, target, plan.sources, from, to)
  await syncFile(target)
  return 'raw.wav'
}

/** Tries until the controller has the audio. False: finally refused, the files are in `kept/`. */
async function upload(ctx: JobContext, job: OwnedJob): Promise<boolean> {
  await job.update({ status: 'uploading' })
  for (let attempt = 1, few = 0; ; attempt++) {
    ctx.signal.throwIfAborted()
    const failure = await tryUpload(ctx, job)
    if (!failure) {
      if (attempt > 1) job.tell('info', 'control_plane_recovered', { attempts: attempt })
      return true
    }
    ctx.signal.throwIfAborted()
    const verdict = uploadVerdict(failure.status, failure.reason, failure.transient)
    if (verdict === 'final' || (verdict === 'retry_few' && ++few >= FEW)) {
      await keep(ctx, job, failure.reason ?? `http_${failure.status}`, failure.status)
      return false
    }
    if (attempt === 1) job.tell('warning', 'cache_upload_failed', { ...told(failure), willRetry: true })
    await pauseBeforeRetry(ctx, attempt, verdict === 'retry_slowly')
  }
}

const told = ({ message, reason, status }: LinkError): Record<string, unknown> => ({
  error: message,
  reason: reason ?? null,
  status: status ?? null,
})

async function tryUpload(ctx: JobContext, job: OwnedJob): Promise<LinkError | undefined> {
  const { file, ...output } = job.state.output!
  const { recordingId } = job.state.job
  const filePath = path.join(ctx.spool.dir(job.id), file)
  try {
    await ctx.link.upload({ ...output, jobId: job.id, path: filePath, recordingId }, ctx.signal)
    return undefined
  } catch (e) {
    return e instanceof LinkError ? e : new LinkError(String(e))
  }
}

/** Nobody takes this audio: it is put where a person finds it, and is said aloud. Never deleted. */
async function keep(ctx: JobContext, job: OwnedJob, reason: string, status?: number): Promise<void> {
  job.lease.stop()
  await job.update({ reason, status: 'failed' })
  const kept = await ctx.spool.keep(job.id)
  job.tell('critical', 'cache_upload_failed', { path: kept, reason, status: status ?? null, willRetry: false })
}

/** Custody is the controller's. That is noted durably before the first byte is deleted. */
async function letGo(ctx: JobContext, job: OwnedJob): Promise<void> {
  job.lease.stop()
  for (let attempt = 1; !(await job.update({ status: 'uploaded' })); attempt++) await pauseBeforeRetry(ctx, attempt)
  if (ctx.settings.keepUploaded) {
    await job.update({ status: 'completed' })
    await ctx.spool.keep(job.id)
  } else await ctx.spool.remove(job.id)
}

/** Tells the controller about a job that ended without audio; throws only the abort. */
export async function reportEnd(ctx: JobContext, job: OwnedJob): Promise<void> {
  job.lease.stop()
  const { reason = 'agent_failed', status } = job.state
  const tellIt = status === 'cancelled' ? ctx.link.reportCancelled : ctx.link.reportFailed
  for (let attempt = 1; ; attempt++) {
    ctx.signal.throwIfAborted()
    try {
      await tellIt.call(ctx.link, job.id, headerReason(reason))
      break
    } catch (e) {
      const failure = e instanceof LinkError ? e : new LinkError(String(e))
      // Ended on the controller already, or gone: nothing left to tell.
      if (!failure.transient && failure.status !== 401 && failure.status !== 403) break
      await pauseBeforeRetry(ctx, attempt, !failure.transient)
    }
  }
  await ctx.spool.remove(job.id)
}
