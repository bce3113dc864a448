// One simulated day of a site, with what goes wrong on it.
import { arm, type Fault, type Kind, planFaults, planStoreFaults } from './faults.ts'
import type { Network } from './network.ts'
import { Random } from './random.ts'
import { DAY, HOUR, hasStore, type Lesson, MINUTE, type Scale, Site } from './site.ts'
import type { Time } from './time.ts'
import { Truth } from './truth.ts'

export interface DayAsked {
  faults: number
  folder: string
  /** How much of the day: the night costs as much as the rest, and teaches little. */
  hours: number
  kinds: readonly Kind[]
  network: Network
  print: (line: string) => void
  rooms: number
  seed: number
  time: Time
  verbose: boolean
}

const FIRST_DAY = '2026-03-02T00:00:00.000Z'
/** Two seeds of ten are days on which the clocks of the site are changed, at one o'clock. */
const CHANGES: Record<number, string> = { 3: '2026-03-29T00:00:00.000Z', 7: '2026-10-25T00:00:00.000Z' }
/** Time for everything to settle at the end, without faults. */
const QUIET_MS = 20 * MINUTE

const at = (ms: number): string => new Date(ms).toISOString().slice(11, 23)
const said = ({ from, kind, to, who }: Fault): string => `${at(from)} ${kind} of ${who} for ${(to - from) / 1000} s`

const planned = ({ at: from, room, seconds }: Lesson): string => `${at(from)} a lesson of ${seconds} s in ${room}`

function dateOf(seed: number): number {
  const change = CHANGES[seed % 10]
  return change === undefined ? Date.parse(FIRST_DAY) + (seed % 300) * DAY : Date.parse(change)
}

export async function day(asked: DayAsked) {
  const { folder, hours, kinds, network, print, rooms, seed, time, verbose } = asked
  time.begin(dateOf(seed), seed)
  network.begin()
  const crashes: string[] = []
  time.onCrash = (life, e) => crashes.push(`${at(time.now)} ${life?.name} crashed: ${(e as Error)?.stack ?? e}`)
  const scale: Scale = { heartbeatSeconds: 30, hours, lesson: [60, 300], lessonsADay: 3, rate: 8000, rooms }
  const site = new Site({ folder, network, scale, seed, time })
  await site.open()
  const end = hours * HOUR
  const random = new Random(seed, 2)
  const ofStore = hasStore(seed) ? planStoreFaults(site, new Random(seed, 4), Math.ceil(asked.faults / 2)) : []
  const faults = [...planFaults(site, random, asked.faults, kinds), ...ofStore]
  if (verbose) for (const what of [...site.lessons.map(planned), ...faults.map(said)]) print(`  ${what}`)
  arm(site, faults, random)
  const truth = new Truth(site, faults)
  const isFine = (): boolean => crashes.length + truth.broken.length === 0
  while (time.now < end + QUIET_MS && isFine()) {
    await time.runUntil(time.now + MINUTE)
    truth.everyMinute()
  }
  if (isFine()) truth.atTheEnd()
  if (verbose) tell(site, print)
  const takes = site.controller.db?.raw.prepare('SELECT count(*) AS n FROM recording_files').get() as { n: number }
  const words = `${takes?.n} of ${site.lessons.length} takes, ${faults.length} faults, ${network.requests} requests`
  const result = {
    broken: [...crashes, ...truth.broken],
    faults: faults.map(said),
    steps: time.steps,
    trace: time.trace,
    words,
  }
  site.close()
  return result
}

function tell({ said }: Site, print: (line: string) => void): void {
  for (const { at: when, fields, level, message, who } of said)
    print(`  ${at(when)} ${who} ${level}: ${message} ${JSON.stringify(fields)?.slice(0, 300) ?? ''}`)
}
