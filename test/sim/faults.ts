// What goes wrong on a simulated day: drawn from the seed before the day begins.
import type { Box } from './box.ts'
import { goodLine } from './network.ts'
import type { Random } from './random.ts'
import { HOUR, MINUTE, type Site } from './site.ts'
import { STORE } from './store.ts'

export const KINDS = [
  'line.cut',
  'line.slow',
  'line.loses',
  'line.repeats',
  'kill',
  'power',
  'disk.full',
  'disk.slow',
  'card.pulled',
  'card.stuck',
  'clock',
] as const
export type Kind = (typeof KINDS)[number]

export interface Fault {
  from: number
  kind: Kind
  to: number
  /** Name of the room, or `controller`. */
  who: string
}

/** Longest, in seconds. */
const LONGEST: Record<Kind, number> = {
  'card.pulled': 120,
  'card.stuck': 90,
  clock: 3600,
  'disk.full': 120,
  'disk.slow': 180,
  kill: 120,
  'line.cut': 900,
  'line.loses': 900,
  'line.repeats': 1800,
  'line.slow': 900,
  power: 180,
}
const OF_RECORDERS: ReadonlySet<Kind> = new Set([
  'card.pulled',
  'card.stuck',
  'line.cut',
  'line.loses',
  'line.repeats',
  'line.slow',
])

const OF_LINES = KINDS.filter((kind) => kind.startsWith('line.') && kind !== 'line.repeats')

/** What goes wrong between the controller and its store. */
export function planStoreFaults(site: Site, random: Random, count: number): Fault[] {
  return Array.from({ length: count }, () => {
    const kind = random.pick(OF_LINES)
    const from = random.whole(10 * MINUTE, site.scale.hours * HOUR)
    return { from, kind, to: from + Math.ceil(random.skewed(1, LONGEST[kind]) * 1000), who: STORE }
  })
}

/** So many faults, most of them where something is recorded. */
export function planFaults(site: Site, random: Random, count: number, kinds: readonly Kind[]): Fault[] {
  return Array.from({ length: count }, () => {
    const kind = random.pick(kinds)
    const lesson = random.pick(site.lessons)
    const at = random.chance(0.8)
      ? lesson.at + random.whole(-60_000, lesson.seconds * 1000 + 60_000)
      : random.whole(10 * MINUTE, site.scale.hours * HOUR)
    const to = at + Math.ceil(random.skewed(1, LONGEST[kind]) * 1000)
    const who = !OF_RECORDERS.has(kind) && random.chance(0.4) ? 'controller' : lesson.room
    return { from: Math.max(at, 5 * MINUTE), kind, to: Math.max(to, 5 * MINUTE + 1000), who }
  }).sort((a, b) => a.from - b.from)
}

/** Lets them happen. Each undoes itself; a machine that is down stays down until the last of its reasons is over. */
export function arm(site: Site, faults: readonly Fault[], random: Random): void {
  const { time } = site
  for (const fault of faults) {
    const undo: (() => void)[] = []
    const start = () => undo.push(begin(site, fault, random))
    // The worst moment is when somebody has just been told that all is safe.
    const worst = fault.who === 'controller' && fault.kind === 'power' && random.chance(0.5)
    const told = () => time.now < fault.to && time.plan(random.unit() * 5, start, undefined)
    const from = () => (worst ? site.network.onceAcknowledged.push(told) : start())
    time.plan(fault.from - time.now, from, undefined)
    time.plan(fault.to - time.now + 10, () => undo.pop()?.(), undefined)
  }
}

const boxOf = (site: Site, who: string): Box => (who === 'controller' ? site.controller : site.recorders.get(who)!)

function begin(site: Site, { kind, who }: Fault, random: Random): () => void {
  const box = who === STORE ? site.controller : boxOf(site, who)
  const recorder = site.recorders.get(who)
  if (kind === 'kill' || kind === 'power') return down(box, kind)
  if (kind === 'disk.full') return change(box.disk, 'taken', box.disk.capacity, 0)
  if (kind === 'disk.slow') return change(box.disk, 'slowness', random.pick([10, 100, 1000]), 1)
  if (kind === 'card.stuck') return change(recorder!.card, 'stuck', true, false)
  if (kind === 'clock') return change(box.machine, 'clockAheadMs', random.whole(-7200, 7200) * 1000, 0)
  if (kind === 'card.pulled') {
    recorder!.plug(false)
    return () => recorder!.plug(true)
  }
  const line = site.network.lineOf(who)
  const worse = {
    'line.cut': { cut: true },
    'line.loses': { losesAnswers: random.unit() * 0.5, losesAsked: random.unit() * 0.3 },
    'line.repeats': { duplicates: random.unit() },
    'line.slow': { delay: [50, random.whole(500, 20_000)] as [number, number], rate: random.whole(3000, 100_000) },
  }[kind]
  Object.assign(line, worse)
  return () => void Object.assign(line, goodLine())
}

/** Of two at once the first that is over ends both. */
function change<T, K extends keyof T>(of: T, name: K, to: T[K], usual: T[K]): () => void {
  of[name] = to
  return () => {
    of[name] = usual
  }
}

function down(box: Box, kind: 'kill' | 'power'): () => void {
  const running = box.running
  if (kind === 'kill') box.kill()
  else box.powerCut()
  return () => {
    if (running && !box.running) box.start()
  }
}
