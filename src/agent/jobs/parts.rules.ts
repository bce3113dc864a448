import { enhances } from '../../wire/profiles.ts'
import { type AgentJob, MAX_REPORTED_GAPS, type Rendition, type RenditionDetails } from '../../wire/recordings.ts'
import { LEAD_SECONDS, TAIL_SECONDS } from '../enhance/chain.rules.ts'
import type { Output, TakeState } from '../spool/state.ts'

/** A piece of a take that is delivered on its own; a take without chunks is a single part. */
export interface Part {
  /** First frame, counted in the take's file. */
  from: number
  index: number
  /** The frame after its last one, if the take lasts that long. */
  to: number
}

type Taken = Pick<TakeState, 'fromFrame' | 'partSeconds'> & { job: Pick<AgentJob, 'command'> }

/** The frame after the last one a job may ever have. */
export const limitOf = ({ fromFrame, job }: Taken, rate: number): number =>
  fromFrame + Math.round(job.command.durationSeconds * rate)

/** Part k is frames [k n, (k+1) n) of the job: every sample is in exactly one part. */
export function partOf(state: Taken, rate: number, index: number): Part {
  const limit = limitOf(state, rate)
  if (state.partSeconds === undefined) return { from: index === 0 ? state.fromFrame : limit, index, to: limit }
  const frames = state.partSeconds * rate
  const from = state.fromFrame + index * frames
  return { from: Math.min(from, limit), index, to: Math.min(from + frames, limit) }
}

/** Whether a part lies wholly before an existing frame: it is complete, and it is not the last one. */
export const closedBy = (part: Part, watermark: number, limit: number): boolean => Math.min(watermark, limit) > part.to

/** The frames that the enhancement of a part may use: a little around it, but only frames of the job. */
export function heardAround(state: Taken, rate: number, { from, to }: Part): { heardFrom: number; heardTo: number } {
  return {
    heardFrom: Math.max(state.fromFrame, from - LEAD_SECONDS * rate),
    heardTo: Math.min(limitOf(state, rate), to + Math.round(TAIL_SECONDS * rate)),
  }
}

/**
 * The first frame of the take that this job may still read: everything below is with the controller, and the next
 * enhancement does not need it.
 */
export function neededFrom(state: TakeState): number {
  if (state.partSeconds === undefined || !state.format) return state.fromFrame
  const { rate } = state.format
  const open = state.outputs.map((output) => output.chunk ?? 0)
  const part = partOf(state, rate, Math.min(state.partsMade, ...open))
  return renditionsOf(state.job.command).enhanced ? heardAround(state, rate, part).heardFrom : part.from
}

/** What is made of every part: one rendition without a name, or the enhanced one and, where it is kept, the raw one. */
export function renditionsOf({ enhancement }: AgentJob['command']): { enhanced: boolean; raw: boolean } {
  const enhanced = enhances(enhancement)
  return { enhanced, raw: !enhanced || enhancement?.keepRaw !== false }
}

/** Whether the job's completion depends on it: the rendition that is played by default. */
const isPrimary = ({ rendition }: Pick<Output, 'rendition'>): boolean => rendition !== 'raw'

/** Whether this is the master of a part whose primary rendition the controller has accepted. */
export const masterOfAccepted = ({ outputs }: Pick<TakeState, 'outputs'>, output: Output): boolean =>
  !isPrimary(output) && outputs.some((o) => o.chunk === output.chunk && isPrimary(o) && o.uploaded)

/** The next file to send: parts in order, and of each part the default rendition first. */
export function nextToSend({ outputs, partsMade }: TakeState): Output | undefined {
  const waiting = outputs.filter((o) => !o.uploaded && o.refused === undefined && (o.chunk ?? 0) < partsMade)
  return waiting.sort((a, b) => (a.chunk ?? 0) - (b.chunk ?? 0) || Number(isPrimary(b)) - Number(isPrimary(a)))[0]
}

/** Whether the controller has all files of a part. */
export const settled = (state: TakeState, index: number): boolean =>
  index < state.partsMade && state.outputs.every((o) => (o.chunk ?? 0) !== index || o.uploaded)

/** `lecture.chunk-0003.mp3`, `lecture.raw.wav`: the name of an output as an operator sees it. */
export function fileNameOf(name: string, extension: string, chunk: number | undefined, rendition?: Rendition): string {
  const numbered = chunk === undefined ? '' : `.chunk-${String(chunk).padStart(4, '0')}`
  return `${name.replace(/\.[^.]*$/, '') || name}${numbered}${rendition === 'raw' ? '.raw' : ''}.${extension}`
}

/** Name of an output's own file: `2.rendered.mp3`. */
export const localName = (chunk: number | undefined, kind: string, extension: string): string =>
  `${chunk === undefined ? '' : `${chunk}.`}${kind}.${extension}`

/** What a listener in ten years needs to know about a part: what the device delivered, and where it did not. */
export function detailsOf(state: TakeState, part: Part): RenditionDetails {
  const { format, test } = state
  if (!format) return {}
  const seconds = (frames: number) => frames / format.rate
  const gaps = state.gaps
    .map((gap) => ({ from: gap.atFrame, to: gap.atFrame + Math.round(gap.seconds * format.rate) }))
    .map((gap) => ({ from: Math.max(gap.from, part.from), to: Math.min(gap.to, part.to) }))
    .filter((gap) => gap.to > gap.from)
    .map((gap) => ({ atSeconds: seconds(gap.from - part.from), seconds: seconds(gap.to - gap.from) }))
  return {
    capture: { channels: format.channels, format: format.format, sampleRate: format.rate },
    ...(gaps.length > 0 && {
      gapCount: gaps.length,
      gapSeconds: gaps.reduce((sum, gap) => sum + gap.seconds, 0),
      gaps: gaps.slice(0, MAX_REPORTED_GAPS),
    }),
    ...(test && { source: 'test' as const }),
  }
}
