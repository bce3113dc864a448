// Sound in which every sample is a number: that of its frame times the channels, and its channel (from 0).

/** The sample at that place of the endless stream: no sign bit, and the least significant bits are told apart as well. */
export const counted = (place: number): number => place & 0x7fffffff

/**
 * Where the numbers break off. `samples`: interleaved, whole frames; `place`: what the first has to be.
 * @returns the index of the first sample that is another; -1 when all are right
 */
export function brokenAt(samples: Int32Array, place: number): number {
  for (let i = 0; i < samples.length; i++) if (samples[i] !== counted(place + i)) return i
  return -1
}
