import type { DENOISERS } from '../../wire/profiles.ts'

export type DenoiserName = (typeof DENOISERS)[number]

/** Hz; both engines know no other. */
export const DENOISE_RATE = 48_000
/** Samples of a frame: 10 ms. */
export const DENOISE_FRAME = 480
