const HOUR_MS = 3_600_000

/** Begin of the hour of `now`, Unix ms. */
export const hourOf = (now: number): number => Math.floor(now / HOUR_MS) * HOUR_MS

type Later = (fn: () => void, ms: number) => ReturnType<typeof setTimeout>

/** Tells of each hour that begins; the clock may be set meanwhile, so that a timer ends before it. @returns how to end it */
export function hourly(now: () => number, tell: (hour: number) => void, later: Later = setTimeout): () => void {
  let timer: ReturnType<typeof setTimeout>
  const wait = (): void => {
    timer = later(
      () => {
        tell(hourOf(now()))
        wait()
      },
      hourOf(now()) + HOUR_MS - now(),
    )
  }
  wait()
  return () => clearTimeout(timer)
}
