import { iso } from '../../kernel/clock.ts'
import { DAY_MS, dateOf, dayNumber, type Zone } from '../../kernel/zones.ts'
import type { Job } from '../../wire/recordings.ts'
import {
  type Exception,
  MAX_EXCEPTIONS,
  type Occurrence,
  type Recurrence,
  type Schedule,
} from '../../wire/schedules.ts'
import {
  currentSlot,
  isExcepted,
  isTimed,
  nextSlot,
  onceSlot,
  type Plan,
  type Slot,
  slotAt,
  slotOn,
  slotsAfter,
} from './recurrence.rules.ts'

type Skip = Extract<Exception, { action: 'skip' }>

/** The occurrence a schedule waits for, as it is stored. */
export interface Pending {
  /** When the runner starts it, or tries again. */
  nextRunAt: string
  /** Scheduled start. */
  slotAt: string
  /** Its local date. */
  slotDate: string
}

/** A schedule with the fields that only the controller uses. */
export interface Stored extends Schedule {
  anchorDate: string
  slotAt?: string
  slotDate?: string
}

export const planOf = (
  { anchorDate, recurrence, timezone }: Pick<Stored, 'anchorDate' | 'recurrence' | 'timezone'>,
  zones: (name: string) => Zone,
): Plan => ({
  anchor: dayNumber(anchorDate),
  recurrence,
  zone: zones(timezone),
})

export const pendingOf = (slot: Slot): Pending => ({
  nextRunAt: iso(slot.startAt),
  slotAt: iso(slot.scheduledAt),
  slotDate: dateOf(slot.day),
})

/** The slot a schedule waits for. */
export const pendingSlot = ({ recurrence, slotAt: at, slotDate }: Stored): Slot | undefined =>
  at === undefined || slotDate === undefined ? undefined : slotAt(recurrence, Date.parse(at), dayNumber(slotDate))

/** `told` writes an instant: many occurrences share theirs. */
export const shownSlot = (slot: Slot, told: (ms: number) => string = iso): Occurrence => ({
  ...(slot.endAt === undefined ? {} : { recordingEndAt: told(slot.endAt) }),
  recordingStartAt: told(slot.startAt),
  scheduledStartAt: told(slot.scheduledAt),
})

/** Days a schedule that is always on may be paused for before it counts as off. */
const PAUSED_DAYS = 3660

/**
 * The first slot of a new rule (docs/contract/scheduling.md: Recurrence): of `once` even when it is past, of always_on now (or
 * when its pause is over), of manual the given start, of the others the next one.
 */
export function firstSlot(plan: Plan, now: number, given: number | undefined): Slot | undefined {
  const { recurrence, zone } = plan
  if (isTimed(recurrence)) return nextSlot(plan, now)
  if (recurrence.mode === 'once') return onceSlot(plan)
  if (recurrence.mode === 'manual') {
    if (given === undefined) return undefined
    const scheduledAt = given + (recurrence.startEarlySeconds ?? 0) * 1000
    return slotAt(recurrence, scheduledAt, zone.dayOf(scheduledAt))
  }
  return alwaysSlot(plan, now)
}

function alwaysSlot({ recurrence, zone }: Plan, now: number): Slot | undefined {
  const today = zone.dayOf(now)
  for (let day = today; day < today + PAUSED_DAYS; day++)
    if (!isExcepted(recurrence, day)) {
      const at = day === today ? now : zone.at(day, 0)
      return { day, endAt: undefined, scheduledAt: at, startAt: at }
    }
  return undefined
}

/**
 * The slot after one that was run (its take ends at `takenUntil`), skipped or missed; undefined when the mode does not repeat.
 * always_on continues where its take ends, so that the room is recorded without a gap.
 */
export function slotAfter(plan: Plan, slot: Slot, now: number, takenUntil?: number): Slot | undefined {
  if (isTimed(plan.recurrence)) return nextSlot(plan, Math.max(now, slot.startAt))
  if (plan.recurrence.mode !== 'always_on') return undefined
  return alwaysSlot(plan, takenUntil ?? Math.max(now, slot.startAt))
}

/** What the runner does with a due schedule. */
interface Due {
  /** Occurrences that passed without a run, the oldest first. */
  missed: Slot[]
  /** The one to run now; undefined when all are over. */
  run: Slot | undefined
}

// Maximum of missed occurrences listed individually.
const MAX_MISSED = 100

/** At most one late run, and only inside its slot: after an outage the latest open occurrence counts. */
export function dueSlots(plan: Plan, pending: Slot, now: number): Due {
  const open = pending.endAt === undefined || pending.endAt > now
  const current = isTimed(plan.recurrence) ? currentSlot(plan, now) : open ? pending : undefined
  if (current && current.scheduledAt <= pending.scheduledAt) return { missed: [], run: pending }
  const missed = [pending]
  if (isTimed(plan.recurrence))
    for (const slot of slotsAfter(plan, pending.startAt)) {
      if (slot.startAt > now || slot.scheduledAt === current?.scheduledAt || missed.length === MAX_MISSED) break
      missed.push(slot)
    }
  return { missed, run: current }
}

/** Occurrences to come, the one that waits first. */
export function* upcoming(plan: Plan, schedule: Stored, now: number): Generator<Slot> {
  const pending = pendingSlot(schedule)
  if (!schedule.enabled || !pending) return
  yield pending
  if (isTimed(plan.recurrence)) yield* slotsAfter(plan, Math.max(now, pending.startAt))
}

/** Whether the new rule still has the due slot: an edit must not lose a run that should have started. */
export function keepsDue(plan: Plan, pending: Slot | undefined, now: number): boolean {
  if (!pending || pending.startAt > now || (pending.endAt ?? now) <= now) return false
  const same = slotOn(plan, pending.day)
  return same?.scheduledAt === pending.scheduledAt && !isExcepted(plan.recurrence, pending.day)
}

/** The occurrence whose recording starts at `startAt`, if it can still be moved. */
export function movableSlot(plan: Plan, schedule: Stored, startAt: number, now: number): Slot | undefined {
  for (const slot of upcoming(plan, schedule, now)) {
    if (slot.startAt === startAt) return slot
    if (slot.startAt > startAt) return undefined
  }
  return undefined
}

/** The recurrence without one date; past exceptions are dropped when there are too many. Undefined when that is not enough. */
export function skipping(
  recurrence: Recurrence,
  day: number,
  today: number,
  why: Pick<Skip, 'movedTo' | 'reason'> = {},
): Recurrence | undefined {
  const skip: Skip = { action: 'skip', date: dateOf(day), ...why }
  const all = [...(recurrence.exceptions ?? []), skip]
  const exceptions = all.length > MAX_EXCEPTIONS ? all.filter((e) => lastDate(e) >= dateOf(today - 1)) : all
  return exceptions.length > MAX_EXCEPTIONS ? undefined : { ...recurrence, exceptions }
}

/** The occurrence of a date that an exception leaves out no more, and the rule then; undefined where none is to come. */
export function regained(
  schedule: Stored,
  skip: Skip,
  now: number,
  zones: (name: string) => Zone,
): { recurrence: Recurrence; slot: Slot } | undefined {
  const { exceptions = [] } = schedule.recurrence
  const recurrence = { ...schedule.recurrence, exceptions: exceptions.filter((e) => e !== skip) }
  const day = dayNumber(skip.date)
  const slot = slotOn(planOf({ ...schedule, recurrence }, zones), day)
  if (!schedule.enabled || !slot || slot.startAt <= now || isExcepted(recurrence, day)) return undefined
  return { recurrence, slot }
}

const lastDate = (e: Exception): string => (e.action === 'skip' ? e.date : e.endDate)

type Rule = Pick<Stored, 'anchorDate' | 'recurrence' | 'timezone'>

/** The enabled schedules whose slot covers `now`; one that is always on is always live. */
export const liveNow = <R extends Rule>(schedules: R[], zones: (name: string) => Zone, now: number): R[] =>
  schedules.filter((s) => s.recurrence.mode === 'always_on' || currentSlot(planOf(s, zones), now) !== undefined)

/**
 * When the slot of a scheduled start ends by the present plan, Unix ms; undefined when the plan no longer has such a slot: it
 * was skipped, moved or taken out of the rule.
 */
export function plannedEnd(plan: Plan, scheduledAt: number): number | undefined {
  const around = slotsAfter(plan, scheduledAt - DAY_MS, scheduledAt + DAY_MS)
  return around.find((slot) => slot.scheduledAt === scheduledAt)?.endAt
}

/** Whether a schedule still asks for what a take of it was begun with: its recorder, its device and its channels. */
export const asksForTheSame = (
  { captureChannelSelection, captureInterfaceId, nodeId }: Stored,
  job: Pick<Job, 'command' | 'nodeId'>,
): boolean =>
  nodeId === job.nodeId &&
  (captureInterfaceId === undefined || captureInterfaceId === job.command.captureInterfaceId) &&
  (captureChannelSelection === undefined || `${captureChannelSelection}` === `${job.command.captureChannelSelection}`)
