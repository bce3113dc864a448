/** A take that ended so long before is delivered by then, and what is delivered may go. ms */
const DELIVERED_MS = 3_600_000

/** A take and the disk its capture needs; Unix ms, bytes. */
export interface Load {
  bytes: number
  endAt: number
  interfaceId: string | undefined
  startAt: number
}

interface Need {
  /** Whether the take would fit if it were the only one. */
  aloneFits: boolean
  /** With those before it that are not delivered by then. */
  neededBytes: number
  roomBytes: number
}

/** What a take needs of the disk when it begins, beside those `before` it; takes of one device at one time are one capture. */
export function needOf(take: Load, before: readonly Load[], roomBytes: number): Need {
  const there = before.filter(({ endAt }) => endAt > take.startAt - DELIVERED_MS)
  const shares = ({ endAt, interfaceId }: Load): boolean => interfaceId === take.interfaceId && endAt > take.startAt
  const own = Math.max(take.bytes, ...there.filter(shares).map(({ bytes }) => bytes))
  const others = there.filter((load) => !shares(load)).reduce((sum, { bytes }) => sum + bytes, 0)
  return { aloneFits: take.bytes <= roomBytes, neededBytes: own + others, roomBytes }
}
