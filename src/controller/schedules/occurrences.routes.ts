import { iso } from '../../kernel/clock.ts'
import { conflict, invalid } from '../../kernel/fail.ts'
import { dateOf } from '../../kernel/zones.ts'
import { type MovedAway, OccurrenceMove, OccurrenceSkip } from '../../wire/schedules.ts'
import type { UserPrincipal } from '../http/principal.ts'
import { type AnyRoute, route } from '../http/route.ts'
import { authorizeAssignment } from './assigning.ts'
import { type ChangeParts, manage, named, one, scheduleWriter, snapshot } from './changes.routes.ts'
import { firstSlot, movableSlot, pendingSlot, type Stored, skipping } from './planning.rules.ts'
import { isTimed, lengthSeconds, nextSlot, type Slot } from './recurrence.rules.ts'
import { shown } from './schedules.store.ts'
import { noNode, waiting } from './schedulevalidation.ts'
import { segmentOf, type TakeMaker } from './takes.ts'
import { undoMove } from './undomove.routes.ts'

interface OccurrenceParts extends ChangeParts {
  take: TakeMaker
}

export const occurrenceRoutes = (parts: OccurrenceParts): AnyRoute[] => [
  runNow(parts),
  skipNext(parts),
  moveOccurrence(parts),
  undoMove(parts),
]

const runNow = ({ schedules, take }: OccurrenceParts): AnyRoute =>
  route({
    method: 'POST',
    path: '/schedules/:id/run-now',
    ...manage,
    action: 'schedules.run_now',
    target: one,
    status: 202,
    run: ({ now, params, principal }) => {
      const schedule = schedules.get(params.id)
      if (!schedule.enabled) throw conflict('schedule_disabled', 'Disabled schedules cannot be run now')
      const seconds = lengthSeconds(schedule.recurrence)
      const started = take(schedule, { startAt: Date.parse(now), seconds }, now, principal)
      const { job, recording } = started
      return {
        data: recording,
        beside: { job, segments: [segmentOf(started, seconds)] },
        after: recording,
        correlation: { jobId: job.id, recordingId: recording.id, scheduleId: schedule.id },
        details: { jobCommand: job.command, jobStatus: job.status },
        target: named(schedule),
      }
    },
  })

/** The schedule without one date, waiting for the next. @throws Fail 409 when no more exceptions fit. */
function without(parts: ChangeParts, schedule: Stored, slot: Slot, now: string, movedTo?: string): Stored {
  const at = Date.parse(now)
  const today = parts.schedules.zones(schedule.timezone).dayOf(at)
  const recurrence = skipping(
    schedule.recurrence,
    slot.day,
    today,
    movedTo === undefined ? {} : { movedTo, reason: MOVED_AWAY },
  )
  if (!recurrence) throw conflict('too_many_exceptions', 'This schedule cannot take more exceptions')
  const changed = { ...schedule, recurrence, updatedAt: now }
  const pending = pendingSlot(schedule)
  if (pending?.scheduledAt !== slot.scheduledAt) return changed
  if (!isTimed(recurrence))
    return waiting({ ...changed, enabled: schedule.enabled && recurrence.mode !== 'once' }, undefined)
  return waiting(changed, nextSlot(parts.schedules.planOf(changed), Math.max(at, slot.startAt)))
}

function skipNext(parts: OccurrenceParts): AnyRoute {
  const { schedules } = parts
  const writer = scheduleWriter(parts)
  return route({
    method: 'POST',
    path: '/schedules/:id/skip-next',
    ...manage,
    action: 'schedules.skip_next',
    target: one,
    body: OccurrenceSkip,
    run: ({ body: { nextRunAt }, now, params }) => {
      const before = schedules.get(params.id)
      const slot = before.enabled ? pendingSlot(before) : undefined
      if (!slot) throw conflict('no_next_occurrence', 'Schedule has no next occurrence to skip')
      if (nextRunAt !== undefined && Date.parse(nextRunAt) !== Date.parse(before.nextRunAt ?? ''))
        throw conflict('next_occurrence_changed', 'Another occurrence is the next one now: look at the schedule again')
      const after = writer.change(before, without(parts, before, slot, now), now)
      return {
        data: shown(after),
        before: snapshot(before),
        after: snapshot(after),
        details: { skippedDate: dateOf(slot.day) },
        target: named(after),
      }
    },
  })
}

const MOVED = ' (moved)'
const MOVED_AWAY: MovedAway = 'moved'
const LONGEST_NAME = 160
const LATEST = Date.parse('9999-01-01T00:00:00.000Z')

function moveOccurrence(parts: OccurrenceParts): AnyRoute {
  const { nodes, visibility, references, schedules } = parts
  const writer = scheduleWriter(parts)
  const seen = (nodeId: string | undefined, principal: UserPrincipal): boolean =>
    nodeId !== undefined && references.seesNode(visibility(principal, 'schedule:manage'), nodeId)
  return route({
    method: 'POST',
    path: '/schedules/:id/move-occurrence',
    ...manage,
    action: 'schedules.occurrence.move',
    target: one,
    body: OccurrenceMove,
    otherwise: { 201: 'Of a series: the occurrence became a schedule of its own' },
    run: ({ body, now, params, principal }) => {
      const [from, to] = [instant(body.occurrenceStartAt, 'occurrenceStartAt'), instant(body.newStartAt, 'newStartAt')]
      const before = schedules.get(params.id)
      if (!before.nodeId || !nodes.find(before.nodeId, now) || !seen(before.nodeId, principal)) throw noNode()
      const slot = movable(parts, before, from, now)
      const length = slot.endAt === undefined ? undefined : slot.endAt - slot.startAt
      if (to + (length ?? 0) <= Date.parse(now) && length !== undefined) throw tooLate()
      const details = { newStartAt: iso(to), occurrenceStartAt: iso(from) }
      if (before.recurrence.mode === 'once') {
        const shift = shifted(parts, before, to, now)
        authorizeAssignment(parts, principal, before, shift)
        const after = writer.change(before, shift, now)
        return { data: shown(after), before: snapshot(before), after: snapshot(after), details, target: named(after) }
      }
      const moved = cloned(parts, before, to, length, now)
      // The copy has assignments of its own: removing people from the original, or deleting it, does not end them.
      authorizeAssignment(parts, principal, undefined, moved)
      const source = writer.change(before, without(parts, before, slot, now, moved.id), now)
      const clone = writer.add(moved)
      return {
        data: shown(clone),
        beside: { source: shown(source) },
        status: 201,
        before: snapshot(before),
        after: snapshot(clone),
        correlation: { cloneId: clone.id, scheduleId: before.id },
        details,
        target: named(before),
      }
    },
  })
}

const tooLate = () =>
  invalid('Invalid occurrence move', ['newStartAt'], 'the occurrence would already be over', 'invalid_next_run_at')

function instant(text: string, field: string): number {
  const at = Date.parse(text)
  if (at >= 0 && at < LATEST) return at
  throw invalid('Invalid occurrence move', [field], 'expected a date and time from 1970 to 9998')
}

/** @throws Fail 409 for a mode without movable occurrences, and for a time at which no future occurrence starts. */
function movable({ schedules }: ChangeParts, schedule: Stored, startAt: number, now: string): Slot {
  const { enabled, recurrence } = schedule
  const refused = (why: string) => conflict('occurrence_not_movable', why)
  if (!isTimed(recurrence) && recurrence.mode !== 'once') throw refused('This schedule has no movable occurrences')
  const slot = movableSlot(schedules.planOf(schedule), schedule, startAt, Date.parse(now))
  if (slot) return slot
  if (startAt <= Date.parse(now)) throw refused('A past occurrence cannot be moved')
  if (!enabled) throw refused('A disabled schedule has no occurrences to move: enable it first')
  throw refused('No occurrence of this schedule starts then: ask for its occurrences, and send recordingStartAt of one')
}

/** `once`, with the recording starting at `to`. */
function shifted({ schedules }: ChangeParts, schedule: Stored, to: number, now: string): Stored {
  const { recurrence } = schedule
  if (recurrence.mode !== 'once') return schedule
  const startsAt = iso(to + (recurrence.startEarlySeconds ?? 0) * 1000)
  const changed = { ...schedule, recurrence: { ...recurrence, startsAt }, updatedAt: now }
  return waiting(changed, firstSlot(schedules.planOf(changed), Date.parse(now), undefined))
}

/** The one occurrence as a schedule of its own, whose length includes the buffers. */
function cloned(
  { ids, schedules }: ChangeParts,
  source: Stored,
  to: number,
  length: number | undefined,
  now: string,
): Stored {
  const bare = source.name.endsWith(MOVED) ? source.name.slice(0, -MOVED.length) : source.name
  const clone: Stored = {
    ...source,
    createdAt: now,
    id: ids.make('sched'),
    name: `${bare.slice(0, LONGEST_NAME - MOVED.length).trimEnd()}${MOVED}`,
    recurrence: {
      mode: 'once',
      startsAt: iso(to),
      ...(length === undefined ? {} : { durationSeconds: length / 1000 }),
    },
    updatedAt: now,
  }
  return waiting(clone, firstSlot(schedules.planOf(clone), Date.parse(now), undefined))
}
