import { backoff } from '../../kernel/backoff.ts'

/** A pause that others can cut short. */
interface Bell {
  /** Ends the current wait, or the next one if nobody is waiting. */
  ring(): void
  /** Resolves when rung, or after `ms` when given. One waiter at a time. */
  wait(ms?: number): Promise<void>
}

export function createBell(): Bell {
  let rung = false
  let wake: (() => void) | undefined
  return {
    ring: () => {
      rung = true
      wake?.()
    },
    wait: (ms) =>
      new Promise((resolve) => {
        let timer: NodeJS.Timeout | undefined
        wake = () => {
          clearTimeout(timer)
          rung = false
          wake = undefined
          resolve()
        }
        if (rung) wake()
        else if (ms !== undefined) timer = setTimeout(wake, ms)
      }),
  }
}

/**
 * Pause before attempt number `attempt` (from 1): 1 s, doubling, at most `most` ms. What all recorders ask of one controller
 * is shortened by up to half with a `random` of 0 to 1: they lost it at the same moment.
 */
export const backoffMs = (attempt: number, most: number, random = 0): number => backoff(attempt, 500, most, random)

/** Something that runs beside the takes while the daemon runs: meters, live audio, health checks. */
export interface Service {
  /** Returns at once; failures are reported as health events. */
  start(): void
  /** Resolves when it has stopped completely. Never rejects. */
  stop(): Promise<void>
}
