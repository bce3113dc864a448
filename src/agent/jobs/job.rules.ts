// What can happen to a job, and what it is afterwards. Nothing else changes a job: its state is what is written to the disk.
import type { AgentJob } from '../../wire/recordings.ts'
import type { Output, TakeState } from '../spool/state.ts'
import { settled } from './parts.rules.ts'

type Status = TakeState['status']
type Format = NonNullable<TakeState['format']>
type Gaps = TakeState['gaps']

/** Files of a part, whole and on the disk; the one that is played by default comes first. */
interface PartFiles {
  files: Output[]
  part: number
  /** Length of a chunk; undefined: the take is delivered in one piece. */
  partSeconds: number | undefined
}

export type JobEvent =
  /** The controller said which channel map the job gets. */
  | { type: 'mapped'; channelMap: NonNullable<AgentJob['command']['channelMap']> }
  /** Its frames are written from now on, the first of them is `fromFrame`. */
  | { type: 'capturing'; format: Format; fromFrame?: number; gaps?: Gaps; test?: true | undefined }
  | { type: 'gaps'; gaps: Gaps }
  /** It has its last frame; `reason`: why before its time. */
  | { type: 'captured'; toFrame: number; format?: Format; gaps?: Gaps; reason?: string | undefined }
  /** Some of a part's files are made: they are not made again, and not sent before the others. */
  | ({ type: 'part_begun' } & PartFiles)
  /** All files of a part are made; `last`: the take ends with it. */
  | ({ type: 'part_made'; last: boolean; levelled: TakeState['levelled'] } & PartFiles)
  | { type: 'all_made' }
  /** The controller has a file. */
  | { type: 'accepted'; file: string }
  /** The controller will never take a file. */
  | { type: 'refused'; file: string; reason: string }
  /** The controller has everything. */
  | { type: 'delivered' }
  /** The controller has it no longer: all of it is sent again. */
  | { type: 'offered' }
  | { type: 'failed'; reason: string }
  | { type: 'cancelled'; reason: string }
  /** After a restart: listed files are not on the disk. */
  | { type: 'files_missing'; files: string[] }
  /** After a restart: there is no audio. One that was still captured begins again, any other has failed. */
  | { type: 'take_missing'; reason: string }

const CAPTURING: Status[] = ['claimed', 'capturing']
const UNDELIVERED: Status[] = [...CAPTURING, 'captured', 'uploading']

/** What was under way when a job ended without being delivered may still come to its end. */
const UNTIL_DELIVERED: Status[] = [...UNDELIVERED, 'failed', 'cancelled']

/** In which states an event may come. */
const MAY_COME: Record<JobEvent['type'], Status[]> = {
  accepted: UNTIL_DELIVERED,
  all_made: ['captured', 'uploading'],
  cancelled: CAPTURING,
  captured: UNDELIVERED,
  capturing: CAPTURING,
  delivered: ['uploading', 'uploaded'],
  failed: UNDELIVERED,
  files_missing: UNDELIVERED,
  // Noted for all members of a capture together: that one of them is delivered must not cost the others theirs.
  gaps: [...UNTIL_DELIVERED, 'uploaded'],
  mapped: ['claimed'],
  offered: ['uploaded'],
  part_begun: UNTIL_DELIVERED,
  part_made: UNTIL_DELIVERED,
  refused: UNTIL_DELIVERED,
  take_missing: UNDELIVERED,
}

/** A job that was claimed and nothing more. */
export const claimedJob = (job: AgentJob, claimedAt: number, claimed: TakeState['claimed']): TakeState => ({
  claimed,
  claimedAt,
  fromFrame: 0,
  gaps: [],
  job,
  outputs: [],
  partsMade: 0,
  status: 'claimed',
  version: 1,
})

/** The job after an event. @throws Error when the event cannot come in its state */
export function advance(state: TakeState, event: JobEvent): TakeState {
  if (!MAY_COME[event.type].includes(state.status))
    throw new Error(`unexpected event ${event.type} for a job that is ${state.status}`)
  const { type, ...said } = event
  switch (event.type) {
    case 'mapped':
      return { ...state, job: withMap(state.job, event.channelMap) }
    case 'gaps':
      return { ...state, gaps: event.gaps }
    case 'capturing':
    case 'captured':
    case 'failed':
    case 'cancelled':
      return { ...state, ...known(said), status: event.type }
    case 'part_begun':
      return withFiles(state, event)
    case 'part_made':
      return withPart(state, event)
    case 'all_made':
      return { ...state, status: 'uploading' }
    case 'accepted':
      return withFile(state, event.file, { uploaded: true })
    case 'refused':
      return withFile(state, event.file, { refused: event.reason })
    case 'delivered':
      return { ...state, offered: undefined, status: 'uploaded' }
    case 'offered':
      return offeredAgain(state)
    case 'files_missing':
      return without(state, event.files)
    case 'take_missing':
      return CAPTURING.includes(state.status)
        ? { ...state, chunkTotal: undefined, outputs: [], partsMade: 0, status: 'claimed' }
        : { ...state, reason: event.reason, status: 'failed', toFrame: undefined }
  }
}

/** What was not said stays as it was. */
const known = (said: object): Partial<TakeState> =>
  Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined))

const withMap = (job: AgentJob, channelMap: AgentJob['command']['channelMap']): AgentJob => ({
  ...job,
  command: { ...job.command, channelMap },
})

function withFiles(state: TakeState, { files, part, partSeconds }: PartFiles): TakeState {
  const others = state.outputs.filter((output) => (output.chunk ?? 0) !== part)
  return { ...state, ...known({ partSeconds }), outputs: [...others, ...files] }
}

/** The primary file of a take's last chunk says how many there are. */
function withPart(state: TakeState, event: Extract<JobEvent, { type: 'part_made' }>): TakeState {
  const { files, last, levelled, part, partSeconds } = event
  const chunked = partSeconds !== undefined
  const total = chunked && last ? { chunkTotal: part + 1 } : {}
  const [primary, ...rest] = files
  const listed = withFiles(state, { ...event, files: primary ? [{ ...primary, ...total }, ...rest] : [] })
  return { ...listed, ...total, ...(chunked ? known({ levelled }) : {}), partsMade: part + 1 }
}

/** Of a chunk that is with the controller whole, nothing stays listed. */
function withFile(state: TakeState, file: string, now: Pick<Output, 'refused' | 'uploaded'>): TakeState {
  const outputs = state.outputs.map((output) => (output.file === file ? { ...output, ...now } : output))
  const chunk = outputs.find((output) => output.file === file)?.chunk
  const whole = chunk !== undefined && settled({ ...state, outputs }, chunk)
  return { ...state, outputs: whole ? outputs.filter((output) => output.chunk !== chunk) : outputs }
}

/** Of a chunked take the files are gone, and are made anew from the capture; of any other they are there. */
function offeredAgain(state: TakeState): TakeState {
  const again = { ...state, offered: true, status: 'uploading' } as const
  if (state.partSeconds !== undefined)
    return { ...again, chunkTotal: undefined, levelled: undefined, outputs: [], partsMade: 0 }
  return { ...again, outputs: state.outputs.map(({ refused: _, uploaded: __, ...output }) => output) }
}

/** What is missing is made again, with everything behind it that is not listed. */
function without(state: TakeState, files: string[]): TakeState {
  const missing = state.outputs.filter(({ file }) => files.includes(file))
  const partsMade = Math.min(state.partsMade, ...missing.map(({ chunk }) => chunk ?? 0))
  const outputs = state.outputs.filter((output) => !missing.includes(output))
  return { ...state, chunkTotal: undefined, outputs, partsMade }
}

/** A list that would be written anew with each of very many gaps ends here; its last entry takes up the rest. */
const MAX_KEPT_GAPS = 1000

/** The gaps with one more, their sum exact whatever their number. */
export function withGap(gaps: Gaps, gap: Gaps[number]): Gaps {
  const last = gaps.at(-1)
  if (!last || gaps.length < MAX_KEPT_GAPS) return [...gaps, gap]
  return [...gaps.slice(0, -1), { ...last, seconds: last.seconds + gap.seconds }]
}
