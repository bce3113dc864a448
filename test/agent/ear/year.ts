// A year of two rooms: the preflight of every take, by the measures of the recorder and the rules of the controller.
// By hand: scripts/node test/agent/ear/year.ts [seed] [days]
import { PrintTally } from '../../../src/agent/ear/tally.rules.ts'
import { Accumulator } from '../../../src/agent/meters/accumulator.ts'
import { usualAfter, verdictsOf } from '../../../src/controller/monitoring/preflight/preflight.rules.ts'
import type { SoundPrint } from '../../../src/wire/soundreadings.ts'
import { captured, FAULTS, type Fault, lines, type Moment, ROOMS, type Room, randoms } from './rooms.ts'

const LISTENED = 4
const TAKE = 20
const CHANNELS = [1, 2]
/** A day on which a line is dead: every so many, one fault after the other. */
const FAULT_EVERY = 8

export interface Row {
  cases: number
  kind: string
  /** How the affected channels were judged. */
  named: Record<string, number>
  /** Cases in which every affected channel was judged to be in order. */
  missed: number
}

export interface Year {
  /** Takes of lines in order, and how many of them had a channel that was not judged so. */
  alarms: number
  /** What the false alarms were. */
  told: string[]
  faults: Row[]
  takes: number
}

/** Prints of a stretch of sound, as the recorder measures it. */
function prints(room: Room, moment: Moment, r: ReturnType<typeof randoms>, faults: (Fault | undefined)[] = []) {
  const { format, frames } = captured(room, lines(room, moment, r, faults), r)
  const accumulator = new Accumulator(format, { clipDbfs: -1, seconds: 1 })
  accumulator.listen(true)
  accumulator.add(frames, 0)
  const tally = new PrintTally()
  for (const slice of accumulator.slices()) tally.add(slice)
  return { prints: tally.prints(CHANNELS), seconds: tally.seconds }
}

/** Two takes a day in each room. `progress`: called with every day of a room. */
export function year(seed: number, days: number, progress: (line: string) => void = () => undefined): Year {
  const found: Year = { alarms: 0, faults: FAULTS.map(fresh), takes: 0, told: [] }
  for (const [i, room] of ROOMS.entries()) {
    const r = randoms(seed * 100 + i)
    const known: SoundPrint[][] = CHANNELS.map(() => [])
    for (let day = 0; day < days; day++) {
      for (const hour of [r.between(8, 11), r.between(13, 17)]) oneTake(found, room, known, { day, hour }, r)
      if (day % 30 === 29) progress(`${room.name}: day ${day + 1}`)
    }
  }
  return found
}

const fresh = (kind: string): Row => ({ cases: 0, kind, missed: 0, named: {} })

type When = Pick<Moment, 'day' | 'hour'>

function oneTake(found: Year, room: Room, known: SoundPrint[][], when: When, r: ReturnType<typeof randoms>): void {
  const judge = (reading: ReturnType<typeof prints>) =>
    verdictsOf(
      reading,
      CHANNELS.map((channelIndex, c) => ({ channelIndex, label: `Channel ${channelIndex}`, usual: known[c]! })),
      true,
    )
  const before = { ...when, seconds: LISTENED, take: false }
  const heard = prints(room, before, r)
  const bad = judge(heard).filter(({ verdict }) => verdict !== 'ok')
  found.takes++
  if (bad.length > 0) {
    found.alarms++
    found.told.push(`${room.name}, day ${when.day}: ${JSON.stringify(bad)} ${JSON.stringify(heard.prints)}`)
  }
  if (known[0]!.length >= 3 && when.day % FAULT_EVERY === 0)
    for (const row of found.faults) fault(row, room, judge, before, r)
  const take = prints(room, { ...when, seconds: TAKE, take: true }, r)
  for (const [c, verdict] of judge(take).entries()) known[c] = usualAfter(known[c]!, take.prints[c]!, verdict.verdict)
}

function fault(
  row: Row,
  room: Room,
  judge: (reading: ReturnType<typeof prints>) => { channelIndex: number; verdict: string }[],
  moment: Moment,
  r: ReturnType<typeof randoms>,
): void {
  const kind = row.kind as Fault
  const both = kind !== 'copy' && r.chance(0.3)
  const verdicts = judge(prints(room, moment, r, [both ? kind : undefined, kind])).slice(both ? 0 : 1)
  row.cases++
  if (verdicts.some(({ verdict }) => verdict === 'ok')) row.missed++
  for (const { verdict } of verdicts) row.named[verdict] = (row.named[verdict] ?? 0) + 1
}

/** As a table for people. */
export function table({ alarms, faults, takes }: Year): string {
  const rows = faults.map(({ cases, kind, missed, named }) => [
    kind,
    String(cases),
    String(cases - missed),
    Object.entries(named)
      .map(([name, n]) => `${name} ${n}`)
      .join(', '),
  ])
  const all = [
    ['kind', 'cases', 'found', 'channels judged'],
    ...rows,
    ['in order', String(takes), '', `false alarms ${alarms}`],
  ]
  return all.map(([a, b, c, d]) => `${a!.padEnd(10)} ${b!.padStart(6)} ${c!.padStart(6)}  ${d}`).join('\n')
}

if (import.meta.main) {
  const [seed = '1', days = '365'] = process.argv.slice(2)
  const result = year(Number(seed), Number(days), (line) => process.stderr.write(`${line}\n`))
  for (const line of result.told) process.stderr.write(`${line}\n`)
  process.stdout.write(`seed ${seed}, ${days} days\n${table(result)}\n`)
}
