import { Fail } from '../../../kernel/fail.ts'
import { type ActiveCapture, admit } from '../../recordings/library/conflicts.rules.ts'

/** A take that waits no longer than this for its channels is no clash: back to back is how rooms are booked. ms */
const PATIENCE_MS = 60_000

/** What a take asks of its recorder; Unix ms. */
interface Wish {
  interfaceId: string | undefined
  selection: number[] | undefined
  startAt: number
  endAt: number
}

/** Until when what is asked for is taken; undefined when that is not known. */
interface Clash {
  until: number | undefined
}

/**
 * Which takes of one recorder find their channels, or the recorder, in use when they begin: each is asked for as a start asks
 * (docs/contract/recordings.md: Devices and groups), beside what runs by then. `wishes`: in order of their starts.
 */
export function clashes(
  running: readonly ActiveCapture[],
  wishes: readonly Wish[],
  capacity: number,
): (Clash | undefined)[] {
  const all = [...running]
  return wishes.map((wish) => {
    const { endAt, interfaceId, selection, startAt } = wish
    const active = all.filter(({ until }) => until > startAt + PATIENCE_MS)
    const clash = refusalOf(active, { from: startAt, interfaceId, selection, until: endAt }, capacity)
    // What had to wait takes the rest of its time.
    const from = clash ? (clash.until ?? endAt) : startAt
    if (from < endAt) all.push(captureOf(wish, from))
    return clash
  })
}

const captureOf = ({ endAt, interfaceId, selection }: Wish, from: number): ActiveCapture => ({
  ...{ captureGroupId: null, jobId: '', recordingId: '', roomId: null },
  ...{ from, interfaceId: interfaceId ?? null, selection: selection ?? null, until: endAt },
})

function refusalOf(
  active: readonly ActiveCapture[],
  request: Parameters<typeof admit>[1],
  capacity: number,
): Clash | undefined {
  try {
    admit(active, request, capacity)
    return undefined
  } catch (e) {
    if (!(e instanceof Fail)) throw e
    const until = Date.parse(String(e.extra.details?.conflictEndsAt))
    return { until: Number.isNaN(until) ? undefined : until }
  }
}
