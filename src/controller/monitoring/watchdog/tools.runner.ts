import type { Log } from '../../../kernel/log.ts'
import { isInstalled, TOOL_ENV } from '../../../system/host/ffmpeg.ts'
import type { Events } from '../../events.ts'
import type { Audit } from '../../http/audit.ts'
import type { Runner } from '../../scheduler/ticker.ts'
import type { Db } from '../../store/db.ts'
import type { HealthStore } from '../health/health.store.ts'
import { settling } from './alarms.ts'

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

/** Raises an alarm while programs are missing that join chunks and make waveforms. */
export function toolsRunner({ audit, db, events, health, log, tools }: Parts): Runner {
  const settle = settling(health, audit)
  return {
    enabled: true,
    intervalSeconds: INTERVAL_SECONDS,
    name: 'audio-tools',
    async tick(now) {
      const there = await Promise.all(tools.map((tool) => isInstalled(tool, TOOL_ENV.PATH)))
      const missing = tools.filter((_, i) => !there[i])
      const message = `not installed: ${missing.join(', ')}. Chunks are not joined, waveforms not made (Debian: apt-get install ffmpeg)`
      const alarm = missing.length > 0 ? ({ details: { message, missing }, severity: 'warning' } as const) : undefined
      const settled = db.tx(() => settle('audio_tools_missing', () => alarm, now))
      if (settled === 'opened') log.error('required programs are missing', { message })
      if (settled === 'resolved') {
        log.info('missing programs found again', { tools })
        events.emit('tools.found', {})
      }
      return { missing }
    },
  }
}
