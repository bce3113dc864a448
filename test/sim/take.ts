// Reads a delivered take back: what its samples say they are, against what its recorder said of it.
import { parseWav } from '../../src/agent/audio/wav.rules.ts'
import { type Stretch, stretchesOf } from './sound.ts'

interface Told {
  gaps?: { atSeconds: number; seconds: number }[]
}

export interface Take {
  holes: { at: number; seconds: number }[]
  seconds: number
  stretches: Stretch[]
}

/** Seconds. Behind a hole, whose length was guessed by clocks, sound may lie off its time by this. */
const OFF = 1
/** Within so many seconds sound that was lost without a word has its hole; the end of the take may come first. */
const PLACED = 1
/** What is said in milliseconds is off by as much. */
const SLACK = 0.02

export function readTake(file: Buffer, { gaps = [] }: Told): Take {
  const layout = parseWav(file)
  if (!layout) throw new Error('not a WAV file')
  const { channels, dataBytes, dataOffset, rate } = layout
  const stretches = stretchesOf(file.subarray(dataOffset, dataOffset + dataBytes), channels)
  const holes = gaps.map(({ atSeconds, seconds }) => ({ at: atSeconds, seconds }))
  return { holes, seconds: dataBytes / (channels * 2 * rate), stretches }
}

/** What is wrong with a take: unexplained silence, sound that is not its time's, anything that is neither. */
export function flawsOf({ holes, stretches }: Take, rate: number): string[] {
  const flaws: string[] = []
  const seconds = (frames: number): string => (frames / rate).toFixed(3)
  const said = (from: number, to: number): boolean =>
    holes.some(({ at, seconds }) => from >= at - SLACK && to <= at + seconds + SLACK)
  let zero: number | undefined
  let last: Stretch | undefined
  for (const [n, stretch] of stretches.entries()) {
    const { at, frames, from } = stretch
    if (from === undefined) {
      if (!said(at / rate, (at + frames) / rate))
        flaws.push(`is silent for ${seconds(frames)} s at ${seconds(at)} s, and does not say so`)
      continue
    }
    if (Number.isNaN(from)) {
      if (frames > 4) flaws.push(`holds what was never heard at ${seconds(at)} s`)
      continue
    }
    zero ??= from - at
    const off = from - at - zero
    const joined = last !== undefined && last.at + last.frames === at
    const noticed = off > 0 && frames <= PLACED * rate && stretches[n + 1]?.from === undefined
    if (joined && off !== 0 && noticed) continue
    if (joined && off !== 0)
      flaws.push(`jumps by ${seconds(from - (last!.from! + last!.frames))} s at ${seconds(at)} s without a gap`)
    else if (Math.abs(off) > OFF * rate) flaws.push(`has its sound at ${seconds(at)} s off by ${seconds(off)} s`)
    last = stretch
  }
  return flaws
}
