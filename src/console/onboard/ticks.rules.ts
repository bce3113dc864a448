/** Lowest and highest level of a channel so far, dBFS. */
export interface Heard {
  floor: number
  peak: number
}

/** How far above its own floor a channel must rise for somebody to have spoken into it, dB. */
const RISE_DB = 15

export const listened = (before: readonly Heard[], levels: readonly number[]): Heard[] =>
  levels.map((db, i) => {
    const { floor, peak } = before[i] ?? { floor: db, peak: db }
    return { floor: Math.min(floor, db), peak: Math.max(peak, db) }
  })

export const spoken = ({ floor, peak }: Heard): boolean => peak - floor >= RISE_DB
