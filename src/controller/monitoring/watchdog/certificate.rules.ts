// When a certificate raises an alarm.
import type { Severity } from '../../../wire/health.ts'
import type { Reload, Served } from '../../http/certificates.ts'
import type { Wanted } from './alarms.ts'

const DAY_MS = 86_400_000
const WARNING_DAYS = 30
const CRITICAL_DAYS = 7

/** From thirty days before its end a warning, from the last week on critical; undefined before. */
export function expiryAlarm({ expiresAt, fingerprint }: Served, now: string): Wanted | undefined {
  const left = daysLeft(expiresAt, now)
  if (left >= WARNING_DAYS) return undefined
  const details = { daysLeft: Math.floor(left), expiresAt, fingerprint }
  return { details, severity: severityOf(left) }
}

export interface EndingClient {
  expiresAt: string
  name: string
}

/**
 * The same for the recorders' client certificates: one alarm for all. `before` are the clients in the current alarm; those
 * that have not connected since the start stay in it.
 */
export function clientsAlarm(
  seen: ReadonlyMap<string, string>,
  before: readonly EndingClient[],
  now: string,
): Wanted | undefined {
  const known = new Map([...before.map(({ expiresAt, name }) => [name, expiresAt] as const), ...seen])
  const clients = [...known]
    .map(([name, expiresAt]) => ({ expiresAt, name }))
    .filter(({ expiresAt }) => daysLeft(expiresAt, now) < WARNING_DAYS)
    .sort((a, b) => a.expiresAt.localeCompare(b.expiresAt) || a.name.localeCompare(b.name))
  const [first] = clients
  return first && { details: { clients }, severity: severityOf(daysLeft(first.expiresAt, now)) }
}

const daysLeft = (expiresAt: string, now: string): number => (Date.parse(expiresAt) - Date.parse(now)) / DAY_MS
const severityOf = (days: number): Severity => (days < CRITICAL_DAYS ? 'critical' : 'warning')

/** A new pair on disk cannot be used: sooner or later the served one expires. */
export const refusalAlarm = ({ fault }: Reload): Wanted | undefined =>
  fault === undefined ? undefined : { details: { fault }, severity: 'warning' }
