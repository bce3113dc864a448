import type { Zone } from '../../kernel/zones.ts'
import { planOf, type Stored } from './planning.rules.ts'
import { currentSlot } from './recurrence.rules.ts'

/** People a room is for at this moment. */
export interface Assignment {
  roomId: string
  userIds: string[]
}

type Rule = Pick<Stored, 'anchorDate' | 'recurrence' | 'timezone'>

/** The enabled schedules whose slot covers `now`; one that is always on is always live. */
export const liveNow = <R extends Rule>(schedules: R[], zones: (name: string) => Zone, now: number): R[] =>
  schedules.filter((s) => s.recurrence.mode === 'always_on' || currentSlot(planOf(s, zones), now) !== undefined)
