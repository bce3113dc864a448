// Every text of the console in English; each other language has the same shape (docs/decisions/0035).

import { alert } from '../../wire/alerts.en.ts'
import { actions } from './en/actions.ts'
import * as activity from './en/activity.ts'
import * as admin from './en/admin.ts'
import * as alerting from './en/alerting.ts'
import * as frame from './en/frame.ts'
import * as library from './en/library.ts'
import * as me from './en/me.ts'
import * as notifications from './en/notifications.ts'
import * as onboard from './en/onboard.ts'
import { refusals } from './en/refusals.ts'
import * as rooms from './en/rooms.ts'
import * as schedule from './en/schedule.ts'
import * as settings from './en/settings.ts'
import * as states from './en/states.ts'
import * as today from './en/today.ts'
import * as welcome from './en/welcome.ts'

export const en = {
  actions,
  alert,
  locale: 'en-GB',
  refusals,
  skip: 'Skip to content',
  ...activity,
  ...admin,
  ...alerting,
  ...frame,
  ...library,
  ...me,
  ...notifications,
  ...onboard,
  ...rooms,
  ...schedule,
  ...settings,
  ...states,
  ...today,
  ...welcome,
}

export type Words = typeof en
