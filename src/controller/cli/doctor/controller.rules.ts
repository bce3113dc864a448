// When a certificate, a backup or the background work of a controller is worth a word.
import { counted } from '../../../kernel/words.ts'
import { UNITS } from '../../../system/host/places.ts'
import { advice, type Finding, type Fix } from '../../../wire/doctor.ts'

const DAY_MS = 86_400_000
const CERTIFICATE_DAYS = { fail: 3, warn: 21 }
const BACKUP_DAYS = 8
/** A pass may wait for its turn, and a pass before it may last. */
const LATE_SECONDS = 60

const day = (at: string): string => at.slice(0, 10)

/** `fix`: how it is renewed. `now`: Unix ms. */
export function judgeCertificate(expiresAt: string, now: number, fix: Fix): Finding {
  const days = (Date.parse(expiresAt) - now) / DAY_MS
  if (days <= 0) return { fix, message: `The certificate has expired on ${day(expiresAt)}`, status: 'fail' }
  const message = `The certificate is valid until ${day(expiresAt)} (${Math.floor(days)} days)`
  if (days < CERTIFICATE_DAYS.fail) return { fix, message, status: 'fail' }
  return days < CERTIFICATE_DAYS.warn ? { fix, message, status: 'warn' } : { message, status: 'ok' }
}

interface BackupFacts {
  /** When the last one was made, ISO. */
  at: string | undefined
  now: number
  /** Another program copies the database continuously. */
  replicated: boolean
  target: string | undefined
}

const BACK_UP = advice(
  'To another disk, mounted at /backup for example, and every night by a timer or cron (docs/operations.md):',
  'sudo roomtone backup /backup/roomtone --takes',
)

export function judgeBackup({ at, now, replicated, target }: BackupFacts): Finding {
  if (at === undefined)
    return replicated
      ? { message: 'Another program replicates the database (SVC_DATABASE_REPLICATED)', status: 'ok' }
      : { fix: BACK_UP, message: 'No backup was ever made with roomtone backup', status: 'warn' }
  const days = Math.floor((now - Date.parse(at)) / DAY_MS)
  const age = days < 1 ? 'less than a day' : days === 1 ? 'a day' : `${days} days`
  const message = `The last backup is ${age} old (${target})`
  return days >= BACKUP_DAYS && !replicated ? { fix: BACK_UP, message, status: 'warn' } : { message, status: 'ok' }
}

/** A background runner as the running controller tells of it. */
interface RunnerFacts {
  enabled: boolean
  intervalSeconds: number
  lastError?: string | undefined
  lastRunAt?: string | undefined
  name: string
  running: boolean
}

/** `uptimeSeconds`: a pass that has not come yet may still be due. */
export function judgeRunners(runners: readonly RunnerFacts[], now: number, uptimeSeconds: number): Finding {
  const enabled = runners.filter((runner) => runner.enabled)
  const late = enabled.filter(({ intervalSeconds, lastRunAt, running }) => {
    const since = lastRunAt === undefined ? uptimeSeconds : (now - Date.parse(lastRunAt)) / 1000
    return !running && since > 3 * intervalSeconds + LATE_SECONDS
  })
  if (late.length > 0)
    return {
      fix: advice(
        'Why it stood still may be in the journal of the controller. A restart sets it going:',
        `sudo systemctl restart ${UNITS.controller}`,
      ),
      message: `Background work stands still: ${late.map(({ name }) => name).join(', ')}`,
      status: 'fail',
    }
  const failing = enabled.filter(({ lastError }) => lastError !== undefined)
  if (failing.length > 0)
    return {
      fix: advice(
        'It is tried again at every pass. What happened:',
        `sudo journalctl -u ${UNITS.controller} --no-pager | grep runner | tail`,
      ),
      message: `The last pass failed of ${failing.map(({ lastError, name }) => `${name} (${lastError})`).join(', ')}`,
      status: 'warn',
    }
  return { message: `${enabled.length} background runners make their passes`, status: 'ok' }
}

export interface StuckUploads {
  error: string | null
  failed: number
  /** Tried more than once, and waiting since yesterday. */
  old: number
}

export function judgeUploads({ error, failed, old }: StuckUploads): Finding {
  if (failed + old === 0) return { message: 'No upload is stuck', status: 'ok' }
  const parts = [failed > 0 ? `${failed} given up` : '', old > 0 ? `${old} tried in vain for a day` : '']
  return {
    fix: advice(
      'In the console: Activity, Uploads shows each with its reason; mend the destination (Settings, Upload destinations), then Retry',
    ),
    message: `Uploads: ${parts.filter(Boolean).join(', ')}${error ? `; the latest reason: ${error}` : ''}`,
    status: 'warn',
  }
}

export function judgeOffline(offline: readonly { alias: string; id: string }[], all: number): Finding {
  if (all === 0) return { message: 'There is no recorder yet', status: 'ok' }
  if (offline.length === 0) return { message: `${counted(all, 'recorder')}, none offline`, status: 'ok' }
  const named = offline.slice(0, 5).map(({ alias, id }) => `${alias} (${id})`)
  const more = offline.length > named.length ? `, and ${offline.length - named.length} more` : ''
  return {
    fix: advice(
      'Look at each of them: power, network. One that is gone for good is retired on its page in the console. More, on the recorder:',
      'sudo roomtone doctor',
    ),
    message: `${offline.length} of ${all} recorders are offline: ${named.join(', ')}${more}`,
    status: 'warn',
  }
}

/** One of two boxes that is not the controller. */
export const judgeAway = (role: 'fenced' | 'standby'): Finding =>
  role === 'standby'
    ? { message: 'This box follows the controller on the other box, which does the background work', status: 'skipped' }
    : {
        fix: advice(
          'To have it follow, put standby.conf in place and restart the controller (docs/standby.md: Back again)',
        ),
        message: 'Another box took over as the controller: this one serves nobody',
        status: 'warn',
      }
