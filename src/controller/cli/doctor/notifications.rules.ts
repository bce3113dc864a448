// Whether anybody hears of what the controller finds (docs/operations.md: Who is told).
import { counted } from '../../../kernel/words.ts'
import { UNITS } from '../../../system/host/places.ts'
import { ALERTS } from '../../../wire/alerts.en.ts'
import { advice, type Finding } from '../../../wire/doctor.ts'
import type { Config } from '../../config.ts'
import { meets } from '../../notifications/rules.rules.ts'

export interface FailingChannel {
  enabled: number
  error: string
  name: string
}

export interface Told {
  channels: FailingChannel[]
  /** How many people get mail of their own. */
  people: number
  /** The types of each rule in use that has a channel in use. */
  rules: string[][]
}

/** The setting that messages depend on. */
type Sending = Pick<Config, 'SVC_NOTIFICATIONS_ENABLED' | 'SVC_PUBLIC_URL'>

const SETTINGS = '/etc/roomtone/controller.env'

/** A rule whose types are all misspelt tells nothing. Whatever severity it begins at, critical is no less. */
const tells = (types: readonly string[]): boolean =>
  Object.keys(ALERTS).some((type) => types.some((pattern) => meets(type, pattern)))

/** Whether anybody is told of a critical alert. */
export function judgeTold({ people, rules }: Told, { SVC_NOTIFICATIONS_ENABLED: enabled }: Sending): Finding {
  if (!enabled)
    return {
      fix: advice(
        `Remove SVC_NOTIFICATIONS_ENABLED=false from ${SETTINGS}. Then:`,
        `sudo systemctl restart ${UNITS.controller}`,
      ),
      message: 'Notifications are switched off: alerts are sent to nobody',
      status: 'warn',
    }
  const telling = rules.filter(tells).length
  const ways = [
    ...(telling > 0 ? [counted(telling, 'rule')] : []),
    ...(people > 0 ? [`the own mail of ${counted(people, 'person', 'people')}`] : []),
  ]
  if (ways.length > 0) return { message: `Critical alerts are told by ${ways.join(' and ')}`, status: 'ok' }
  return {
    fix: advice('In the console, Settings, Notifications: add a channel and a rule, then send a test'),
    message: 'No rule tells anybody of a critical alert: a recording may fail unnoticed',
    status: 'warn',
  }
}

/** Whether each channel works that is relied on. */
export function judgeChannels({ channels }: Pick<Told, 'channels'>): Finding {
  if (channels.length === 0) return { message: 'No channel is failing', status: 'ok' }
  const named = channels.map(
    ({ enabled, error, name }) => `'${name}' ${enabled ? 'is failing' : 'is switched off'}: ${error}`,
  )
  return {
    fix: advice('In the console, Settings, Notifications: mend the channel, switch it on, then send a test'),
    message: named.join('; '),
    status: 'warn',
  }
}

/** Whether a message leads to what it speaks of. */
export function judgeLinks({ people, rules }: Told, { SVC_PUBLIC_URL: url }: Sending): Finding {
  if (people + rules.length === 0)
    return { message: 'Nobody is told anything: no message needs a link', status: 'skipped' }
  if (url !== undefined) return { message: `Messages lead to ${url}`, status: 'ok' }
  return {
    fix: advice(
      `Set SVC_PUBLIC_URL in ${SETTINGS} to the address by which people reach the console. Then:`,
      `sudo systemctl restart ${UNITS.controller}`,
    ),
    message: 'Messages have no link to the console and no button that acknowledges: SVC_PUBLIC_URL is not set',
    status: 'warn',
  }
}
