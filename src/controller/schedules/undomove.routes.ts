import { conflict, Fail } from '../../kernel/fail.ts'
import { MoveUndo } from '../../wire/schedules.ts'
import { type AnyRoute, route } from '../http/route.ts'
import { type ChangeParts, manage, named, one, scheduleWriter, snapshot } from './changes.routes.ts'
import { pendingSlot, regained, type Stored } from './planning.rules.ts'
import { shown } from './schedules.store.ts'
import { waiting } from './schedulevalidation.ts'

/** An occurrence that was moved out of its series goes back: the copy and the exception end together. */
export function undoMove(parts: ChangeParts): AnyRoute {
  const { schedules, scope } = parts
  const writer = scheduleWriter(parts)
  return route({
    method: 'POST',
    path: '/schedules/:id/undo-move',
    ...manage,
    action: 'schedules.occurrence.undo_move',
    target: one,
    body: MoveUndo,
    run: ({ body: { movedTo, updatedAt }, now, params, principal }) => {
      const before = schedules.get(params.id)
      const back = joined(parts, before, movedTo, now)
      // It is deleted, so it must be the caller's too.
      const decision = scope.decide(principal, 'schedule:manage', { type: 'schedule', id: movedTo })
      if (!decision.allowed) throw new Fail(403, decision.reason, 'Forbidden', { outcome: 'denied' })
      const copy = untouched(schedules.find(movedTo), updatedAt, now)
      writer.remove(copy, now)
      const after = writer.change(before, back, now)
      return {
        data: shown(after),
        before: snapshot(copy),
        after: snapshot(after),
        correlation: { cloneId: copy.id, scheduleId: after.id },
        target: named(after),
      }
    },
  })
}

const refused = (why: string): Fail => conflict('move_not_undoable', why)

/** The series with the date again. @throws Fail 409 when nothing would be recorded on it. */
function joined({ schedules }: ChangeParts, series: Stored, movedTo: string, now: string): Stored {
  const { exceptions = [] } = series.recurrence
  const skip = exceptions.find((e) => e.action === 'skip' && e.movedTo === movedTo)
  if (skip?.action !== 'skip') throw refused('No occurrence of this schedule was moved there')
  const back = regained(series, skip, Date.parse(now), schedules.zones)
  if (!back) throw refused('This schedule would not record on that date: it is over, or the schedule has changed')
  const changed = { ...series, recurrence: back.recurrence, updatedAt: now }
  const pending = pendingSlot(series)
  return pending && pending.startAt < back.slot.startAt ? changed : waiting(changed, back.slot)
}

/** @throws Fail 409 when the copy has begun, or is not as the caller saw it. */
function untouched(copy: Stored | undefined, updatedAt: string, now: string): Stored {
  if (!copy || Date.parse(copy.updatedAt) !== Date.parse(updatedAt))
    throw refused('The moved occurrence has been changed since: look at it again')
  const slot = copy.enabled ? pendingSlot(copy) : undefined
  if (!slot || slot.startAt <= Date.parse(now)) throw refused('The moved occurrence has begun')
  return copy
}
