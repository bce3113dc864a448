import type { Clock } from '../../../kernel/clock.ts'

/** Takes in use: the audio of one that is held must not be deleted or replaced. */
export interface OpenPlaybacks {
  /** The take is being sent; call the returned function when it no longer is. Calling it again does nothing. */
  hold(recordingId: string): () => void
  /** A player received the take or has just read from it, and is expected to read more within these seconds. */
  expect(recordingId: string, seconds: number): void
  held(recordingId: string): boolean
}

/**
 * Takes that are being played or downloaded. Kept in memory: after a restart no stream is open, and a player that returns is
 * expected again. Without timers: expired entries are dropped when the next one is added.
 */
export function openPlaybacks(clock: Clock): OpenPlaybacks {
  const open = new Map<string, number>()
  const expected = new Map<string, number>()
  const prune = (now: number): void => {
    for (const [id, until] of expected) if (until <= now) expected.delete(id)
  }
  return {
    hold(id) {
      open.set(id, (open.get(id) ?? 0) + 1)
      let holding = true
      return () => {
        if (!holding) return
        holding = false
        const left = (open.get(id) ?? 1) - 1
        if (left > 0) open.set(id, left)
        else open.delete(id)
      }
    },
    expect(id, seconds) {
      const now = clock.monotonic()
      prune(now)
      expected.set(id, Math.max(expected.get(id) ?? 0, now + seconds * 1000))
    },
    held: (id) => open.has(id) || (expected.get(id) ?? 0) > clock.monotonic(),
  }
}
