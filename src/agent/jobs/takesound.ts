import { iso } from '../../kernel/clock.ts'
import type { PrintTally } from '../ear/tally.rules.ts'
import { channelsOf } from '../render/plan.rules.ts'
import type { JobContext, JobSound, OwnedJob } from './owned.ts'

/** Shorter takes say little about a room. */
const FEWEST_SECONDS = 30
const BEGUN_FRESH_MS = 600_000
const TAKE_FRESH_MS = 3_600_000

/** What a running capture sounds like: told of its first minute, and once each of its takes is delivered. */
export class TakeSound {
  readonly #heard: { stop(): void; tally: PrintTally } | undefined

  /** `jobs`: those that are captured now. */
  constructor(ctx: JobContext, hardware: string, jobs: () => OwnedJob[]) {
    const { ear, feeds } = ctx
    this.#heard = ear?.during(
      () => feeds.about(hardware).opening,
      (tally) => {
        for (const job of jobs()) post(ctx, 'begun', job, soundOf(job, tally))
      },
    )
  }

  /** Notes at the job what it sounded like. */
  ended(job: OwnedJob): void {
    const { tally } = this.#heard ?? {}
    if (tally && tally.seconds >= FEWEST_SECONDS) job.sound = soundOf(job, tally)
  }

  stop(): void {
    this.#heard?.stop()
  }
}

const soundOf = ({ command }: OwnedJob, tally: PrintTally): JobSound => ({
  prints: tally.prints(channelsOf(command)),
  seconds: tally.seconds,
})

/** The controller has the take: it judges by that whether this is how the room sounds. */
export function tellSound(ctx: JobContext, job: OwnedJob): void {
  if (job.sound) post(ctx, 'take', job, job.sound)
}

function post(
  { clock, sounds }: JobContext,
  kind: 'begun' | 'take',
  job: OwnedJob,
  { prints, seconds }: JobSound,
): void {
  if (prints.length === 0) return
  const { recordingId } = job.state.job
  const freshMs = kind === 'begun' ? BEGUN_FRESH_MS : TAKE_FRESH_MS
  sounds?.post({ heardAt: iso(Math.round(clock.now())), kind, prints, recordingId, seconds }, freshMs)
}
