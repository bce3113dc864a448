// What some seconds of a device say of its inputs, in words for whoever stands beside it.
import { advice, type Finding } from '../../wire/doctor.ts'
import type { AudioLevel } from '../../wire/meters.ts'

const HUM = 0.8
const ALIKE = 0.98

interface Fault {
  /** In words alone: whoever stands there does it by hand. */
  fix: string
  words: string
}

const channels = (numbers: readonly number[]): string =>
  numbers.length === 1 ? `Channel ${numbers[0]}` : `Channels ${listed(numbers)}`

/** As people write them: `1-4, 7`. */
function listed(numbers: readonly number[]): string {
  const runs: [from: number, to: number][] = []
  for (const n of numbers.toSorted((a, b) => a - b)) {
    const last = runs.at(-1)
    if (last && n === last[1] + 1) last[1] = n
    else runs.push([n, n])
  }
  return runs.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(', ')
}

/** Levels of each channel over the whole time. */
type Heard = Map<number, AudioLevel[]>

const that = (heard: Heard, test: (levels: AudioLevel[]) => boolean): number[] =>
  [...heard].filter(([, levels]) => test(levels)).map(([index]) => index)

function pairs(heard: Heard): [left: number, right: number, inverted: boolean][] {
  const found = new Map<string, [number, number, boolean]>()
  for (const [index, levels] of heard) {
    const [first] = levels
    const like = first?.quality?.channelCorrelation
    const steady = levels.every(({ quality }) => {
      const one = quality?.channelCorrelation
      return one && Math.abs(one.score) >= ALIKE && one.peerChannelIndex === like?.peerChannelIndex
    })
    if (!like || !steady) continue
    const [left, right] = [Math.min(index, like.peerChannelIndex), Math.max(index, like.peerChannelIndex)]
    found.set(`${left} ${right}`, [left, right, like.phase === 'inverted'])
  }
  return [...found.values()]
}

function faults(heard: Heard, silentBelow: number): Fault[] {
  const silent = that(heard, (levels) => levels.every(({ rmsDbfs }) => rmsDbfs <= silentBelow))
  const clipping = that(heard, (levels) => levels.some((level) => level.clipping))
  const humming = that(heard, (levels) => levels.every(({ quality }) => (quality?.humScore ?? 0) >= HUM))
  const found: Fault[] = []
  if (silent.length === heard.size)
    found.push({
      fix: 'Is the microphone on, phantom power given, the cable in, the fader up? F4 in alsamixer shows the inputs of the card',
      words: 'Silence on every channel',
    })
  if (clipping.length > 0)
    found.push({
      fix: 'Turn the gain down, at the microphone or in alsamixer (F4)',
      words: `${channels(clipping)} clip`,
    })
  if (humming.length > 0)
    found.push({
      fix: 'Hum comes from mains: use a balanced cable, one mains outlet for all devices, or a ground isolator; keep audio away from power cables',
      words: `${channels(humming)} hum, with nothing else to be heard`,
    })
  for (const [left, right, inverted] of pairs(heard))
    found.push({
      fix: 'Is one microphone plugged into both, or does the mixer send its sum? If that is meant, record one channel',
      words: `Channels ${left} and ${right} carry the same sound${inverted ? ', one of them inverted' : ''}`,
    })
  return found
}

/** Judges consecutive measurements of one device. `silentBelow`: dBFS. */
export function judgeLevels(measured: readonly AudioLevel[][], silentBelow: number): Finding {
  const heard = Map.groupBy(measured.flat(), ({ channelIndex }) => channelIndex)
  if (heard.size === 0) return { message: 'Nothing was measured yet', status: 'skipped' }
  const found = faults(heard, silentBelow)
  if (found.length > 0)
    return {
      fix: advice([...new Set(found.map(({ fix }) => fix))].join('. ')),
      message: found.map(({ words }) => words).join('. '),
      status: 'warn',
    }
  const loudest = Math.max(...measured.flat().map(({ peakDbfs }) => peakDbfs))
  const silent = that(heard, (levels) => levels.every(({ rmsDbfs }) => rmsDbfs <= silentBelow))
  const beside = silent.length > 0 ? `; ${channels(silent).toLowerCase()} silent` : ''
  return { message: `${heard.size} channels, the loudest peak is ${loudest.toFixed(1)} dBFS${beside}`, status: 'ok' }
}
