import { iso } from '../../../kernel/clock.ts'
import { FORESIGHT_KINDS, type ForesightKind, type ForesightSettings } from '../../../wire/foresight.ts'
import type { Step } from '../watchdog/steps.ts'
import { type ForesightAlarms, type Telling, typeOf } from './alarms.ts'
import { isOver, type Occurrence, overBecause } from './ends.rules.ts'
import type { Examined } from './examine.ts'
import type { FactStore, StandingRow } from './facts.store.ts'
import type { Holds } from './holds.ts'
import {
  type Coming,
  type Foreseen,
  foreseen,
  type HouseRisk,
  isAhead,
  JUDGED,
  OF_RECORDER,
  severityOf,
} from './risks.rules.ts'

interface Parts {
  alarms: ForesightAlarms
  facts: FactStore
  holds: Holds
}

/** An event that stands. */
interface Standing extends StandingRow {
  kind: ForesightKind
}

/** One kind of danger of one take. */
interface Followed<R> {
  found: R | undefined
  /** What is looked at together: the recorder. */
  group: string
  kind: ForesightKind
  standing: Standing | undefined
  take: string
}

/** The group of the controller's own risks; no id has spaces. */
export const HOUSE = 'the controller'
const HOUSE_KINDS = ['certificate_ends', 'controller_disk_short'] as const

/** No id has spaces. */
const takeKey = (scheduleId = '', nodeId = ''): string => `${scheduleId} ${nodeId}`
const keyOf = (kind: string, take: string): string => `${kind} ${take}`
const NO_TAKE = takeKey()
const kindOf = ({ type }: StandingRow): ForesightKind | undefined => {
  const kind = type.slice('foresight.'.length)
  return JUDGED.has(kind) ? (kind as ForesightKind) : undefined
}

/**
 * One pass: compares what is foreseen with the events that stand, and says what is to be written. There is one event per kind,
 * schedule and recorder. `at`: monotonic ms.
 */
export class Following {
  readonly #at: number
  readonly #kinds: ForesightSettings['kinds']
  readonly #now: string
  readonly #parts: Parts
  /** Of recordings whose time has come. */
  readonly #due: Standing[] = []
  /** Of those to come: by take, then by kind. */
  readonly #standing = new Map<string, Map<ForesightKind, Standing>>()
  /** Schedules with a take that was judged. */
  readonly #judged = new Set<string>()

  constructor(parts: Parts, { kinds }: ForesightSettings, now: string, at: number) {
    this.#parts = parts
    this.#kinds = kinds
    this.#now = now
    this.#at = at
    for (const event of parts.facts.standing()) {
      const kind = kindOf(event)
      if (!kind) continue
      // What is due stays as it is until it is begun, or over: the next one has its own.
      if (event.scheduleId !== undefined && occurrenceOf(event).startAt <= now) {
        this.#due.push({ ...event, kind })
        continue
      }
      const take = takeKey(event.scheduleId, event.nodeId)
      const others = this.#standing.get(take) ?? new Map<ForesightKind, Standing>()
      this.#standing.set(take, others.set(kind, { ...event, kind }))
    }
  }

  isTold = (kind: ForesightKind, scheduleId: string, nodeId: string | undefined): boolean =>
    this.#standing.get(takeKey(scheduleId, nodeId))?.has(kind) === true

  /** Leaves alone what stands of a take: its recorder cannot be judged now. */
  leave({ nodeId, scheduleId }: Coming): void {
    const take = takeKey(scheduleId, nodeId)
    this.#judged.add(take)
    for (const kind of FORESIGHT_KINDS) this.#parts.holds.keep(keyOf(kind, take))
  }

  take({ coming, facts, remember }: Examined): Step[] {
    const { nodeId, scheduleId } = coming
    const take = takeKey(scheduleId, nodeId)
    this.#judged.add(take)
    const ended = this.#endedOccurrences(take, coming)
    const found = new Map(foreseen(facts).map((risk) => [risk.kind, risk]))
    const standing = this.#standing.get(take)
    const silent = found.has('recorder_offline')
    const steps = [...new Set([...found.keys(), ...(standing?.keys() ?? [])])].flatMap((kind) => {
      // What stands of a recorder that does not report is as it was.
      if (silent && OF_RECORDER.has(kind)) return []
      return this.#follow(
        { found: found.get(kind), group: nodeId ?? '', kind, standing: standing?.get(kind), take },
        (risk) => this.#telling(risk, coming),
      )
    })
    const { facts: store } = this.#parts
    const memory = remember && { changesAlarm: false, run: () => store.remember(scheduleId, remember) }
    return [...ended, ...steps, ...(memory ? [memory] : [])]
  }

  /** The controller's own risks; each is one event of no schedule. */
  house(risks: readonly HouseRisk[]): Step[] {
    const standing = this.#standing.get(NO_TAKE)
    return HOUSE_KINDS.flatMap((kind) => {
      const found = risks.find((risk) => risk.kind === kind)
      return this.#follow({ found, group: HOUSE, kind, standing: standing?.get(kind), take: NO_TAKE }, (risk) =>
        this.#ownTelling(risk),
      )
    })
  }

  /** What stands of schedules that have no take to be judged; `concerned`: those that this pass looks at. */
  left(concerned: (event: StandingRow) => boolean): Step[] {
    const { facts } = this.#parts
    const unjudged = [...this.#standing].flatMap(([take, events]) =>
      this.#judged.has(take) ? [] : [...events.values()],
    )
    return [...this.#due, ...unjudged].flatMap((event) => {
      const { scheduleId } = event
      if (scheduleId === undefined || !concerned(event)) return []
      const occurrence = occurrenceOf(event)
      const reason = overBecause(facts.endOf(scheduleId, occurrence), occurrence, this.#now)
      return reason === undefined ? [] : [this.#resolution(event, reason)]
    })
  }

  /** The events of an occurrence that has begun or will not be: the next one has its own. */
  #endedOccurrences(take: string, { occurrenceAt, scheduleId }: Coming): Step[] {
    const standing = this.#standing.get(take) ?? new Map<ForesightKind, Standing>()
    return [...standing.values()].flatMap((event) => {
      const before = occurrenceOf(event)
      if (before.occurrenceAt === occurrenceAt) return []
      const end = this.#parts.facts.endOf(scheduleId, before)
      const reason = isOver(end) ? overBecause(end, before, this.#now) : undefined
      if (reason === undefined) return []
      standing.delete(event.kind)
      return [this.#resolution(event, reason)]
    })
  }

  /** What becomes of one kind: told, brought up to date, ended, or nothing yet. */
  #follow<R extends Foreseen>(at: Followed<R>, tell: (risk: R) => Telling): Step[] {
    const { found, group, kind, standing, take } = at
    const { holds } = this.#parts
    const key = keyOf(kind, take)
    const telling = found && tell(found)
    const ahead = telling !== undefined && this.#isAhead(telling)
    if (!standing) return ahead ? this.#open(key, group, telling) : []
    if (ahead) {
      holds.drop(key)
      return says(standing, telling) ? [] : [this.#update(standing, telling)]
    }
    const reason = !this.#kinds[kind].enabled ? 'foresight_disabled' : found ? 'not_due_yet' : undefined
    if (reason === undefined && !holds.lasts(key, group, 'gone', this.#at)) return []
    holds.drop(key)
    return [this.#resolution(standing, reason ?? 'risk_gone')]
  }

  #isAhead({ details, kind }: Telling): boolean {
    return isAhead(this.#kinds[kind], Date.parse(String(details.nextStart)), Date.parse(this.#now))
  }

  #open(key: string, group: string, telling: Telling): Step[] {
    const { alarms, facts, holds } = this.#parts
    if (!telling.hasLasted && !holds.lasts(key, group, 'there', this.#at)) return []
    const { details, kind, scheduleId } = telling
    if (scheduleId !== undefined && facts.dismissed(typeOf(kind), scheduleId, String(details.occurrenceAt))) return []
    holds.drop(key)
    return [{ changesAlarm: true, run: () => alarms.open(telling, this.#now) }]
  }

  #update({ id, severity }: Standing, telling: Telling): Step {
    return {
      changesAlarm: severity !== telling.severity,
      run: () => this.#parts.alarms.update(id, telling, this.#now),
    }
  }

  #resolution({ id, kind }: Standing, reason: string): Step {
    return { changesAlarm: true, run: () => this.#parts.alarms.resolve(kind, id, reason, this.#now) }
  }

  #telling({ details, fatal, hasLasted, kind }: Foreseen, coming: Coming): Telling {
    const { endAt, nodeId, occurrenceAt, occurrenceDate, scheduleId, scheduleName, startAt } = coming
    const severity = severityOf(this.#kinds[kind], fatal, startAt, Date.parse(this.#now))
    const when = {
      nextEnd: iso(endAt),
      nextStart: iso(startAt),
      occurrenceAt,
      occurrenceDate,
      recordsNothing: fatal,
      scheduleName,
    }
    return { details: { ...details, ...when }, hasLasted, kind, nodeId, scheduleId, severity }
  }

  #ownTelling({ details, fatal, kind, startAt }: HouseRisk): Telling {
    const severity = severityOf(this.#kinds[kind], fatal, startAt, Date.parse(this.#now))
    const told = { ...details, nextStart: iso(startAt), recordsNothing: fatal }
    return { details: told, kind, nodeId: undefined, scheduleId: undefined, severity }
  }
}

function occurrenceOf(event: StandingRow): Occurrence {
  const { nextStart, occurrenceAt, occurrenceDate } = detailsOf(event)
  const [date, startAt] = [String(occurrenceDate), String(nextStart)]
  return { date, nodeId: event.nodeId, occurrenceAt: String(occurrenceAt), startAt }
}

/** Whether the event says all of it already. */
function says(event: StandingRow, { details, severity }: Telling): boolean {
  if (event.severity !== severity) return false
  const said = detailsOf(event)
  return Object.entries(details).every(([name, value]) => said[name] === value)
}

const detailsOf = ({ details }: StandingRow): Record<string, unknown> => JSON.parse(details)
