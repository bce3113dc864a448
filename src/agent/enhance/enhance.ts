// Makes the enhanced rendition of a take: denoising, voice chain, loudness, encoding.
import * as fs from 'node:fs/promises'
import * as path from 'node:path'
import { freshDraft, syncFile } from '../../kernel/durable.ts'
import { Semaphore } from '../../kernel/semaphore.ts'
import type { Enhancement } from '../../wire/profiles.ts'
import type { RenditionDetails } from '../../wire/recordings.ts'
import type { Report } from '../health/report.ts'
import type { Mix } from '../render/plan.rules.ts'
import { DENOISE_RATE } from './denoiser.rules.ts'
import { type Levelled, loudnessDetails, shortfall } from './loudness.rules.ts'
import { master } from './master.ts'
import { type DeepModel, ModelUnusable } from './model.rules.ts'
import { modelUnusable } from './probe.ts'
import { createProgress, type Progress } from './progress.rules.ts'
import { openSource, type Source, shape, type TakePart } from './shape.ts'
import { type DenoiseThread, openDenoiser } from './thread.ts'

export interface EnhanceRequest {
  /** Of the parts of the take before this one; undefined: it is the first, or the whole. */
  before?: Levelled
  chain: Enhancement
  /** Of render/plan.rules.ts: encoder and container. */
  codecArgs: string[]
  /** Of the render plan; their outputs are averaged to the mono signal. Undefined: all channels of the take. */
  mixes: Mix[] | undefined
  /** Written atomically and synced. */
  output: string
  /** 1 without a channel map, else the map's count: the mono signal on each of them. */
  outputChannels: number
  take: TakePart
  /** For intermediate files (see `enhancementBytes`); always removed. */
  workDir: string
}

interface EnhanceOptions {
  /** 0..100, never decreasing; at most one call per percent. */
  onProgress?: (percent: number) => void
  /** Aborts everything; the promise rejects with its reason. */
  signal: AbortSignal
}

export interface Enhanced {
  details: Pick<RenditionDetails, 'denoiser' | 'enhancementFailure' | 'loudness'>
  /** Length of the take's part. */
  durationSeconds: number
  /** For the next part: what its level follows from; undefined as long as nothing was loud enough to be levelled. */
  levelled?: Levelled
}

export interface EnhancerParts {
  /** ffmpeg. */
  command: string
  env: NodeJS.ProcessEnv
  model: DeepModel
  report: Report
}

/** One for the whole agent. */
export interface Enhancer {
  /**
   * One at a time; further calls wait for their turn. Rejects with an Error whose message says why (`code` ENOSPC when
   * the disk is full), or with the signal's reason.
   */
  enhance(request: EnhanceRequest, options: EnhanceOptions): Promise<Enhanced>
}

/** Seconds; MP3 pads to whole frames. */
const TOLERANCE = 0.25
const SENTENCE = 500
/** An ffmpeg without output for so long hangs; a denoiser on a busy box is slow but not silent. */
const HANGS_MS = 600_000

/** A denoiser, and why it is not the requested one. */
interface Chosen {
  fault?: string
  thread: DenoiseThread
}

export function createEnhancer(parts: EnhancerParts): Enhancer {
  const turns = new Semaphore(1)

  /** The engine of the chain; with an unusable model the recurrent one, which needs none. */
  async function open({ engine }: Enhancement['denoise'], signal: AbortSignal): Promise<Chosen> {
    const { model } = parts
    try {
      return { thread: await openDenoiser({ engine, model }, signal) }
    } catch (e) {
      if (!(e instanceof ModelUnusable)) throw e
      parts.report(modelUnusable(model, e))
      const thread = await openDenoiser({ engine: 'rnnoise', model }, signal)
      return { fault: `denoised by rnnoise: ${e.message}`, thread }
    }
  }

  async function make(
    request: EnhanceRequest,
    source: Source,
    progress: Progress,
    signal: AbortSignal,
  ): Promise<Enhanced> {
    const { chain, outputChannels: channels, codecArgs } = request
    const { span } = source
    const options = { command: parts.command, env: parts.env, signal, stallMs: HANGS_MS }
    const shaped = await freshDraft(path.join(request.workDir, `${path.basename(request.output)}.shaped`))
    const made = await freshDraft(request.output)
    const chosen = chain.denoise.enabled ? await open(chain.denoise, signal) : undefined
    try {
      const shaping = { chain, output: shaped, source, ...(chosen ? { denoiser: chosen.thread } : {}) }
      const plain = await shape(shaping, { ...options, onSeconds: progress.shaped })
      await chosen?.thread.close()
      const { before } = request
      const mastering = { before, chain, channels, codecArgs, input: shaped, loudness: plain, output: made, span }
      const { aim, levelled = before, loudness, seconds } = await master(mastering, options, progress.mastered)
      const durationSeconds = span.samples / DENOISE_RATE
      if (Math.abs(seconds - durationSeconds) > TOLERANCE)
        throw new Error(`the enhanced rendition is ${seconds} s long, expected ${durationSeconds} s`)
      signal.throwIfAborted()
      await fs.rename(made, request.output)
      await syncFile(request.output)
      const failure = [chosen?.fault, shortfall(chain, aim, loudness)].filter((s) => s !== undefined).join('; ')
      const details = {
        loudness: loudnessDetails(loudness),
        ...(chosen ? { denoiser: chosen.thread.about } : {}),
        ...(failure ? { enhancementFailure: failure.slice(0, SENTENCE) } : {}),
      }
      return { details, durationSeconds, ...(levelled && { levelled }) }
    } finally {
      await chosen?.thread.close()
      for (const file of [shaped, made]) await fs.rm(file, { force: true })
    }
  }

  return {
    enhance: async (request, { onProgress = () => {}, signal }) => {
      const leave = await turns.take(0, signal)
      try {
        const source = await openSource(request.take, request.mixes)
        const progress = createProgress(source.span.samples / DENOISE_RATE, request.chain, onProgress)
        const enhanced = await make(request, source, progress, signal)
        progress.done()
        return enhanced
      } finally {
        leave()
      }
    },
  }
}
