// What is counted of one channel, sample by sample.

export interface Tally {
  /** Sign changes from one sample that is not zero to the next such one. */
  crossings: number
  /** Sum of squares, full scale = 1. */
  energy: number
  peak: number
  /** Sign of the latest sample that was not zero; 0 before the first. */
  sign: number
}

export const freshTally = (): Tally => ({ crossings: 0, energy: 0, peak: 0, sign: 0 })

/** Adds a row of samples to the tally. */
export function count(tally: Tally, row: Float32Array): void {
  let { crossings, energy, peak, sign } = tally
  for (let i = 0; i < row.length; i++) {
    const x = row[i]!
    const size = Math.abs(x)
    if (size > peak) peak = size
    energy += x * x
    if (x * sign < 0) {
      crossings++
      sign = -sign
    } else if (sign === 0) sign = Math.sign(x)
  }
  tally.crossings = crossings
  tally.energy = energy
  tally.peak = peak
  tally.sign = sign
}
