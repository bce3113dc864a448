import type { Log } from '../../../kernel/log.ts'
import { isInstalled, TOOL_ENV } from '../../../system/host/ffmpeg.ts'
import type { Events } from '../../events.ts'
import type { Audit } from '../../http/audit.ts'
import type { Runner } from '../../scheduler/ticker.ts'
import type { Db } from '../../store/db.ts'
import type { HealthStore } from '../health/health.store.ts'
import { alarms } from './alarms.ts'

interface Parts {
  audit: Audit
  db: Db
  events: Events
  health: HealthStore
  log: Log
  /** Programs that join chunks and make waveforms: names or paths. */
  tools: readonly string[]
}

const INTERVAL_SECONDS = 30
const STEM = 'audio_tools_missing'
const TYPE = `watchdog.${STEM}`

/** Raises an alarm while programs are missing that join chunks and make waveforms. */
export function toolsRunner({ audit, db, events, health, log, tools }: Parts): Runner {
  const alarmEvents = alarms(health, audit)
  return {
    enabled: true,
    intervalSeconds: INTERVAL_SECONDS,
    name: 'audio-tools',
    async tick(now) {
      const there = await Promise.all(tools.map((tool) => isInstalled(tool, TOOL_ENV.PATH)))
      const missing = tools.filter((_, i) => !there[i])
      const [standing] = health.alarms(TYPE)
      if (missing.length > 0 && !standing) {
        const message = `not installed: ${missing.join(', ')}. Chunks are not joined, waveforms not made (Debian: apt-get install ffmpeg)`
        log.error('required programs are missing', { message })
        db.tx(() => alarmEvents.open(STEM, TYPE, 'warning', {}, { message, missing }, now))
      }
      if (missing.length === 0 && standing) {
        db.tx(() => alarmEvents.resolve(STEM, standing.id, `${STEM}_ended`, {}, now))
        log.info('missing programs found again', { tools })
        events.emit('tools.found', {})
      }
      return { missing }
    },
  }
}
