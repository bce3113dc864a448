import type { Log } from '../../../kernel/log.ts'
import type { HealthEvent } from '../../../wire/health.ts'
import type { Audit } from '../../http/audit.ts'
import type { Certificates } from '../../http/certificates.ts'
import type { Runner } from '../../scheduler/ticker.ts'
import type { Db } from '../../store/db.ts'
import type { HealthStore } from '../health/health.store.ts'
import { settling } from './alarms.ts'
import { clientsAlarm, type EndingClient, expiryAlarm, refusalAlarm } from './certificate.rules.ts'

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
  const settle = settling(health, audit)
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
        settle(
          'client_certificate_expiring',
          (standing) => clientsAlarm(certificates.clients, clientsIn(standing), now),
          now,
        )
      })
      return { expiresAt, fingerprint, ...(reload.fault === undefined ? {} : { fault: reload.fault }) }
    },
  }
}

const clientsIn = (standing: HealthEvent | undefined): EndingClient[] =>
  (standing?.details.clients ?? []) as EndingClient[]
