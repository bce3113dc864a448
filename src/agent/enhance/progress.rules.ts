import type { Enhancement } from '../../wire/profiles.ts'

/** Turns seconds of audio done in each step into percent of the whole, which never goes back. */
export interface Progress {
  done(): void
  /** Seconds of the first or second half (encoding, measuring) of a round of mastering. */
  mastered(round: number, half: 0 | 1, seconds: number): void
  shaped(seconds: number): void
}

/** Part of the work that is shaping; the denoiser is most of it. */
const SHAPING = { denoised: 0.85, plain: 0.4 }

/** `tell` hears every whole percent at most once. `seconds`: length of the take. */
export function createProgress(seconds: number, { denoise }: Enhancement, tell: (percent: number) => void): Progress {
  const shaping = denoise.enabled ? SHAPING.denoised : SHAPING.plain
  let told = -1
  const reach = (part: number): void => {
    const percent = Math.floor(100 * part)
    if (percent > told) tell(percent)
    told = Math.max(told, percent)
  }
  const share = (done: number): number => Math.min(1, done / seconds)
  reach(0)
  return {
    done: () => reach(1),
    // Nobody knows how many rounds there will be: each takes half of what is left.
    mastered: (round, half, done) => {
      const left = (1 - shaping) * 0.5 ** (round - 1)
      reach(1 - left + (left / 2) * ((half + share(done)) / 2))
    },
    shaped: (done) => reach(shaping * share(done)),
  }
}
