import type { Log } from '../../../kernel/log.ts'
import type { Audit } from '../../http/audit.ts'
import type { Certificates } from '../../http/certificates.ts'
import type { Runner } from '../../scheduler/ticker.ts'
import type { Db } from '../../store/db.ts'
import type { HealthStore } from '../health/health.store.ts'
import { type AlarmStem, type Alarms, alarms } from './alarms.ts'
import {
  type CertificateAlarm,
  clientsAlarm,
  type EndingClient,
  expiryAlarm,
  refusalAlarm,
} from './certificate.rules.ts'

interface Parts {
  audit: Audit
  /** Absent with plain HTTP. */
  certificates?: Certificates | undefined
  db: Db
  health: HealthStore
  log: Log
}

// A pass reads a few small files. A renewed certificate is in use after this long.
const INTERVAL_SECONDS = 10

export const CERTIFICATE_RUNNER = 'tls-certificate'

/** Starts to serve a renewed certificate, and raises an alarm before the served one expires. */
export function certificateRunner({ audit, certificates, db, health, log }: Parts): Runner {
  const settle = settling(alarms(health, audit), health)
  let lastFault: string | undefined
  return {
    enabled: certificates !== undefined,
    intervalSeconds: INTERVAL_SECONDS,
    name: CERTIFICATE_RUNNER,
    tick(now) {
      if (!certificates) return undefined
      const reload = certificates.reload(Date.parse(now))
      const { expiresAt, fingerprint } = certificates.served
      if (reload.changed) log.info('serving a renewed certificate', { expiresAt, fingerprint })
      if (reload.fault !== undefined && reload.fault !== lastFault)
        log.warn('renewed certificate refused; the current one stays in use', { expiresAt, fault: reload.fault })
      lastFault = reload.fault
      db.tx(() => {
        settle('certificate_expiring', () => expiryAlarm(certificates.served, now), now)
        settle('certificate_refused', () => refusalAlarm(reload), now)
        settle('client_certificate_expiring', (old) => clientsAlarm(certificates.clients, clientsIn(old), now), now)
      })
      return { expiresAt, fingerprint, ...(reload.fault === undefined ? {} : { fault: reload.fault }) }
    },
  }
}

type CertificateStem = Extract<AlarmStem, `${string}certificate_${string}`>
type Details = Record<string, unknown>
const clientsIn = ({ clients = [] }: Details): EndingClient[] => clients as EndingClient[]

/** Opens, updates or resolves one alarm, so that it exists exactly while `wanted` returns one. */
function settling(alarmEvents: Alarms, health: HealthStore) {
  return (stem: CertificateStem, wanted: (old: Details) => CertificateAlarm | undefined, now: string): void => {
    const type = `watchdog.${stem}`
    const [standing] = health.alarms(type)
    const alarm = wanted(standing?.details ?? {})
    if (!standing && alarm) alarmEvents.open(stem, type, alarm.severity, {}, alarm.details, now)
    if (!standing || (alarm && reasonOf(standing) === reasonOf(alarm))) return
    if (alarm)
      alarmEvents.update(stem, standing.id, alarm.severity, alarm.details, alarm.severity !== standing.severity, now)
    else alarmEvents.resolve(stem, standing.id, `${stem}_ended`, {}, now)
  }
}

/** An alarm is updated when this changes; the remaining days alone do not count. */
const reasonOf = ({ details, severity }: CertificateAlarm): string =>
  JSON.stringify([severity, details.expiresAt, details.fault, details.clients])
