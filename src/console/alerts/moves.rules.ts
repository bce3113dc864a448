import type { HealthEvent, HealthMove } from '../../wire/health.ts'

const OFFERED: Record<HealthEvent['status'], readonly HealthMove[]> = {
  acknowledged: ['suppress', 'resolve', 'reopen'],
  open: ['acknowledge', 'suppress', 'resolve'],
  resolved: ['reopen'],
  suppressed: ['resolve', 'reopen'],
}

/** The moves that change something (docs/contract/health.md: States of an event). */
export const offered = ({ status }: Pick<HealthEvent, 'status'>): readonly HealthMove[] => OFFERED[status]

const TEXTS = ['message', 'remedy', 'result']

/** What the source of an alert says in its own words: what it is, and what to do; once it is over, what became of it. */
export const textsOf = ({ details, status }: Pick<HealthEvent, 'details' | 'status'>): string[] =>
  ['message', status === 'resolved' ? 'result' : 'remedy']
    .map((field) => details[field])
    .filter((text): text is string => typeof text === 'string' && text !== '')

/** What else was told with it. */
export const restOf = (details: HealthEvent['details']): [string, unknown][] =>
  Object.entries(details).filter(([name, value]) => !TEXTS.includes(name) || typeof value !== 'string')

/** Whether somebody pressed the button behind the link in a message (docs/contract/notifications.md: Acknowledging). */
export const isLink = (actorId: string | undefined): boolean => actorId === 'notification_rule'
