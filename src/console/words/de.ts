// Every text of the console in German.

import { alert } from '../../wire/alerts.de.ts'
import { actions } from './de/actions.ts'
import * as activity from './de/activity.ts'
import * as admin from './de/admin.ts'
import * as alerting from './de/alerting.ts'
import * as frame from './de/frame.ts'
import * as library from './de/library.ts'
import * as me from './de/me.ts'
import * as notifications from './de/notifications.ts'
import * as onboard from './de/onboard.ts'
import { refusals } from './de/refusals.ts'
import * as rooms from './de/rooms.ts'
import * as schedule from './de/schedule.ts'
import * as settings from './de/settings.ts'
import * as states from './de/states.ts'
import * as today from './de/today.ts'
import * as welcome from './de/welcome.ts'
import type { Words } from './en.ts'

export const de: Words = {
  actions,
  alert,
  locale: 'de-DE',
  refusals,
  skip: 'Zum Inhalt',
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
