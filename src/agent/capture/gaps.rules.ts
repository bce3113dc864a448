/** A hole in the audio, filled with silence of its length. */
export interface Gap {
  atFrame: number
  seconds: number
}

/** A list that would be written anew with each of very many gaps ends here; its last entry takes up the rest. */
const MOST = 1000

/** The gaps with one more, their sum exact whatever their number. */
export function withGap(gaps: Gap[], gap: Gap): Gap[] {
  const last = gaps.at(-1)
  if (!last || gaps.length < MOST) return [...gaps, gap]
  return [...gaps.slice(0, -1), { ...last, seconds: last.seconds + gap.seconds }]
}
