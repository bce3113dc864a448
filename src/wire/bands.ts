// Alone here, without schemas: the thread that measures open devices loads nothing but what it needs.

/** Centres of the octave bands of a print (docs/contract/agent.md: Sound readings), Hz. */
export const BANDS_HZ = [63, 125, 250, 500, 1000, 2000, 4000, 8000] as const

/** No microphone is this quiet: digital silence, or its dither. */
export const SILENCE_DBFS = -115
