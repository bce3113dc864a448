import * as fs from 'node:fs/promises'
import * as path from 'node:path'
import { isDiskFull } from '../../kernel/durable.ts'
import { errorFields } from '../../kernel/log.ts'
import { faultWords } from '../../kernel/words.ts'
import { CONTENT_TYPES, type Rendition } from '../../wire/recordings.ts'
import { cutWav } from '../audio/cut.ts'
import { type WavLayout, wavFrameBytes } from '../audio/wav.rules.ts'
import { readWav } from '../audio/wav.ts'
import type { Levelled } from '../enhance/loudness.rules.ts'
import type { TakePart } from '../enhance/shape.ts'
import { codecArgs, filterOf, type RenderPlan, renderPlan } from '../render/plan.rules.ts'
import { render } from '../render/render.ts'
import type { Output } from '../spool/state.ts'
import type { JobContext, OwnedJob } from './owned.ts'
import {
  closedBy,
  detailsOf,
  fileNameOf,
  heardAround,
  limitOf,
  localName,
  type Part,
  renditionsOf,
} from './parts.rules.ts'
import { pauseUntilOver } from './retry.ts'
import { follow } from './watermark.ts'

/** What it takes to make the files of a take. */
export interface Making {
  ctx: JobContext
  job: OwnedJob
  layout: WavLayout
  /** Aborted when the take has ended and its state says so. */
  over: AbortSignal
  plan: RenderPlan
  /** Length of a chunk; undefined: the take is delivered in one piece. */
  partSeconds: number | undefined
  /** Aborted when the files are no longer wanted or the agent stops. */
  signal: AbortSignal
}

/** A part whose last frame is known. */
interface Closed extends Part {
  /** Whether the take ends with it. */
  last: boolean
}

/** The take's file as the capture writes it. */
export const TAKE = 'take.wav'
/** Attempts to encode, or to write to a full disk, once the take has ended; after that the take is uploaded as captured. */
const ENCODER_TRIES = 3
const DISK_TRIES = 8

export const makingOf = (job: OwnedJob, layout: WavLayout) => ({ layout, plan: renderPlan(job.command, layout) })

/**
 * Makes the files of one part and lists them in the state, except those an earlier process has listed already. Encodes
 * while the part is captured. False if the take ended before the part began. Throws if the files cannot be made.
 */
export async function makePart(m: Making, part: Part): Promise<boolean> {
  const { job } = m
  const wanted = renditionsOf(job.command)
  const listed = () => job.state.outputs.filter((o) => (o.chunk ?? 0) === part.index)
  if (!(await begun(m, part))) return false
  let plain = listed().find((o) => o.rendition !== 'enhanced')
  let enhancedFile = listed().find((o) => o.rendition === 'enhanced')
  if (wanted.raw && !plain) {
    plain = await plainOutput(m, part)
    // Listed at once, so that a crash during enhancement does not lose the encoding. It is sent once the part is made.
    if (wanted.enhanced) await job.advance({ type: 'part_begun', ...filesOf(m, part, [plain]) })
  }
  const end = await closed(m, part)
  let failure: string | undefined
  let levelled: Levelled | undefined
  if (wanted.enhanced && !enhancedFile && plain?.uploaded !== true) {
    const made = await enhanced(m, end)
    if (typeof made === 'string') failure = made
    else ({ levelled, output: enhancedFile } = made)
  }
  if (!enhancedFile) plain ??= await plainOutput(m, part)
  if (plain && failure !== undefined) plain = asPrimary(m, plain, failure)
  await job.advance({ type: 'part_made', last: end.last, levelled, ...filesOf(m, end, [enhancedFile, plain]) })
  return true
}

/** Turns the raw rendition into the only one, because the enhanced one could not be made; its details say why. */
function asPrimary(m: Making, { rendition: _, ...plain }: Output, enhancementFailure: string): Output {
  const details = { ...plain.details, enhancementFailure: enhancementFailure.slice(0, 500) }
  const extension = plain.file.split('.').at(-1)!
  return { ...plain, details, fileName: fileNameOf(m.job.command.outputFileName, extension, plain.chunk) }
}

const filesOf = ({ partSeconds }: Making, { index: part }: Part, files: (Output | undefined)[]) => ({
  files: files.filter((file) => file !== undefined),
  part,
  partSeconds,
})

const chunkOf = (m: Making, part: Part): number | undefined => (m.partSeconds === undefined ? undefined : part.index)

/** Whether the part has any frames; resolves when that is known. */
async function begun({ job, over, signal }: Making, part: Part): Promise<boolean> {
  if (part.from >= limitOf(job.state, job.state.format!.rate)) return false
  await job.watermark.beyond(part.from, signal)
  if (job.watermark.frames > part.from) return true
  await aborted(over, signal)
  return false
}

/** The part with its actual end, as soon as that is known and on disk. */
async function closed({ job, layout, over, signal }: Making, part: Part): Promise<Closed> {
  const limit = limitOf(job.state, layout.rate)
  if (part.to < limit) await job.watermark.beyond(part.to, signal)
  if (closedBy(part, job.watermark.frames, limit)) {
    // After a power cut the part must still be here, and so must the next frame: it shows that this was not the last part.
    if (!over.aborted) await job.watermark.secure()
    return { ...part, last: false }
  }
  await aborted(over, signal)
  const toFrame = job.state.toFrame ?? job.watermark.frames
  return { ...part, last: part.to >= toFrame, to: Math.min(part.to, toFrame) }
}

/** Resolves when `event` is aborted; rejects when `signal` is. */
export async function aborted(event: AbortSignal, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  if (event.aborted) return
  const { promise, resolve } = Promise.withResolvers<void>()
  const wake = () => resolve()
  for (const one of [event, signal]) one.addEventListener('abort', wake, { once: true })
  await promise
  for (const one of [event, signal]) one.removeEventListener('abort', wake)
  signal.throwIfAborted()
}

/** The rendition that is not enhanced: encoded if possible, else as captured. */
async function plainOutput(m: Making, part: Part): Promise<Output> {
  const { plan } = m
  const rendition = renditionsOf(m.job.command).enhanced ? ('raw' as const) : undefined
  if (plan.encodes) {
    const file = await encoded(m, part)
    if (file) return output(m, await closed(m, part), { contentType: plan.contentType, file }, plan.codec, rendition)
  }
  const end = await closed(m, part)
  const file = await asCaptured(m, end)
  return output(m, end, { contentType: CONTENT_TYPES.wav, file }, 'wav', rendition)
}

function output(
  m: Making,
  end: Closed,
  made: Pick<Output, 'contentType' | 'file'>,
  extension: string,
  rendition?: Rendition,
): Output {
  const chunk = chunkOf(m, end)
  return {
    ...made,
    ...(chunk === undefined ? {} : { chunk }),
    ...(rendition && { rendition }),
    details: detailsOf(m.job.state, end),
    durationSeconds: (end.to - end.from) / m.layout.rate,
    fileName: fileNameOf(m.job.command.outputFileName, extension, chunk, rendition),
  }
}

/** Encodes a part, starting over when that fails. Undefined when it gives up. */
async function encoded(m: Making, part: Part): Promise<string | undefined> {
  const { ctx, job, over, plan, signal } = m
  const file = localName(chunkOf(m, part), 'rendered', plan.codec)
  for (let attempt = 1, late = 0; ; attempt++) {
    try {
      const frames = await encode(m, part, file)
      const { from, to } = await closed(m, part)
      if (frames !== to - from) throw new Error(`encoded ${frames} frames of ${to - from}`)
      job.tell('info', 'output_rendered', {
        codec: plan.codec,
        durationSeconds: frames / m.layout.rate,
        ...about(m, part),
      })
      return file
    } catch (e) {
      signal.throwIfAborted()
      ctx.log.warn('an output could not be encoded: it is tried again, and after that the raw take is uploaded', {
        attempt,
        jobId: job.id,
        ...errorFields(e),
      })
      if (over.aborted && ++late >= (isDiskFull(e) ? DISK_TRIES : ENCODER_TRIES)) {
        const details = { codec: plan.codec, error: String(e), uploading: 'raw take as WAV', ...about(m, part) }
        job.tell('critical', 'output_render_failed', details)
        return undefined
      }
      await pauseUntilOver(ctx, attempt, over, signal)
    }
  }
}

const about = (m: Making, part: Part) => (m.partSeconds === undefined ? {} : { chunkIndex: part.index })

async function encode(m: Making, part: Part, file: string): Promise<number> {
  const { ctx, job, layout, plan, signal } = m
  // An encoder that follows a capture is paced by it. Finished takes, of which there may be many, are encoded one by one.
  const done = job.watermark.ended ? await ctx.encoders.take(job.state.claimedAt, signal) : () => {}
  try {
    const request = {
      codecArgs: codecArgs(job.command, plan.codec, layout.format),
      command: ctx.settings.renderCommand,
      env: ctx.childEnv,
      filter: filterOf(plan),
      input: layout,
      output: path.join(ctx.spool.dir(job.id), file),
    }
    const frames = follow({ ...part, file: job.takeFile, layout }, job.watermark, signal)
    return await render(request, told(m, part, frames), signal)
  } finally {
    done()
  }
}

/** Reports the encoder's progress once the job waits for nothing else. */
async function* told(m: Making, part: Part, blocks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let at = part.from
  for await (const block of blocks) {
    at += block.length / wavFrameBytes(m.layout)
    if (m.over.aborted) m.job.progress.at('rendering', share(m, at))
    yield block
  }
}

/** Percentage of the job's frames that come before this one. */
function share({ job: { state } }: Making, frame: number): number {
  return (100 * (frame - state.fromFrame)) / Math.max(1, (state.toFrame ?? frame) - state.fromFrame)
}

/** The audio as captured, limited to the channels and frames that belong to the job. */
async function asCaptured({ ctx, job, layout, partSeconds, plan }: Making, end: Closed): Promise<string> {
  const frameBytes = wavFrameBytes(layout)
  const inFile = Math.floor(((await fs.stat(job.takeFile)).size - layout.dataOffset) / frameBytes)
  // On a disk that refused the last write of the header it speaks of fewer, until the take is repaired.
  const told = ((await readWav(job.takeFile))?.dataBytes ?? 0) / frameBytes
  const covers = end.from === 0 && end.to === inFile && end.to === told
  const whole = partSeconds === undefined && !job.watermark.growing && covers
  if (whole && !plan.mixes) return TAKE
  const file = localName(partSeconds === undefined ? undefined : end.index, 'cut', 'wav')
  const target = path.join(ctx.spool.dir(job.id), file)
  await cutWav(job.takeFile, target, plan.sources, end.from, end.to)
  return file
}

interface EnhancedPart {
  levelled: Levelled | undefined
  output: Output
}

/** A part with the audio around it, as soon as that is available. */
async function heard({ job, layout, signal }: Making, end: Closed): Promise<TakePart> {
  const { heardFrom, heardTo } = heardAround(job.state, layout.rate, end)
  if (!end.last) await job.watermark.beyond(heardTo - 1, signal)
  const last = end.last ? end.to : Math.min(heardTo, job.watermark.frames)
  return { file: job.takeFile, fromFrame: end.from, heardFrom, heardTo: last, toFrame: end.to }
}

/** The enhanced rendition, or why it could not be made: best effort (docs/contract/agent.md: Enhancement). */
async function enhanced(m: Making, end: Closed): Promise<EnhancedPart | string> {
  const { ctx, job, over, plan, signal } = m
  const file = localName(chunkOf(m, end), 'enhanced', plan.codec)
  const dir = ctx.spool.dir(job.id)
  const request = {
    before: job.state.levelled,
    chain: job.command.enhancement!,
    codecArgs: codecArgs(job.command, plan.codec, m.layout.format),
    mixes: plan.mixes,
    output: path.join(dir, file),
    outputChannels: plan.enhancedChannels,
    take: await heard(m, end),
    workDir: dir,
  }
  const onProgress = (percent: number) => {
    if (over.aborted) job.progress.at('enhancing', share(m, end.from + ((end.to - end.from) * percent) / 100))
  }
  for (let attempt = 1; ; attempt++) {
    try {
      const { details, levelled } = await ctx.enhancer.enhance(request, { onProgress, signal })
      const made = output(m, end, { contentType: plan.contentType, file }, plan.codec, 'enhanced')
      return { levelled, output: { ...made, details: { ...made.details, ...details } } }
    } catch (e) {
      signal.throwIfAborted()
      // Other deliveries may free space; the intermediate files of this attempt are gone.
      if (!isDiskFull(e) || attempt >= DISK_TRIES) {
        job.tell('warning', 'enhancement_failed', { error: String(e), ...about(m, end) })
        return faultWords(e)
      }
      await pauseUntilOver(ctx, attempt, over, signal)
    }
  }
}
