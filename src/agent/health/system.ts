// Checks the machine while the daemon runs: disk, load, sound devices, and whether this process keeps up.
import * as fs from 'node:fs/promises'
import * as os from 'node:os'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { errorFields, type Log } from '../../kernel/log.ts'
import type { Service } from '../proc/bell.ts'
import type { Gauge } from '../proc/disk.ts'
import type { Report } from './report.ts'
import { HEALTHY, judge, NO_ENCODER, type Reading, type SystemLimits } from './system.rules.ts'

interface SystemHealthOptions {
  /** Whether the program that encodes is installed. */
  encoder: () => Promise<boolean>
  everyMs: number
  gauge: Gauge
  limits: SystemLimits
  loadavgPath: string
  log: Log
  report: Report
}

export interface SystemHealth extends Service {
  /** What the latest inventory found. */
  heard(interfaces: { backend: string; channelCount: number; systemRef?: string | undefined }[]): void
}

/** Coarse, because each check wakes an idle machine; enough to notice stalls of a second. */
const LAG_RESOLUTION_MS = 200
/** A stall this long explains other delays. */
const LAG_TOLD_MS = 1000
const NANOS = 1e6

export function createSystemHealth(options: SystemHealthOptions): SystemHealth {
  const { everyMs, gauge, limits, log, report } = options
  const lag = monitorEventLoopDelay({ resolution: LAG_RESOLUTION_MS })
  let levels = HEALTHY
  let audio: boolean | undefined
  let timer: NodeJS.Timeout | undefined
  let looking = Promise.resolve()

  const take = (reading: Reading): void => {
    const [next, events] = judge(levels, reading, limits)
    if (next.encoder !== 'ok' && levels.encoder === 'ok') log.error(NO_ENCODER)
    levels = next
    for (const event of events) report(event)
  }
  const look = async (): Promise<void> => {
    const [disk, load] = [await gauge(), await loadOf(options.loadavgPath)]
    const encoder = await options.encoder()
    take({ encoder, ...(disk ? { disk } : {}), ...(load ? { load } : {}), ...(audio === undefined ? {} : { audio }) })
    const standstillMs = Math.round(lag.max / NANOS)
    lag.reset()
    if (standstillMs > LAG_TOLD_MS) log.warn('event loop stalled', { standstillMs })
  }
  const again = (): void => {
    looking = looking.then(look).catch((e) => log.error('system health check failed', errorFields(e)))
  }

  return {
    heard: (interfaces) => {
      // The test source has no backend and is there on purpose.
      audio = interfaces.some(
        ({ backend, channelCount, systemRef }) =>
          channelCount > 0 && (backend !== 'unknown' || systemRef?.startsWith('test:') === true),
      )
    },
    start: () => {
      lag.enable()
      timer = setInterval(again, everyMs)
      again()
    },
    stop: async () => {
      clearInterval(timer)
      lag.disable()
      await looking
    },
  }
}

async function loadOf(path: string): Promise<Reading['load']> {
  const text = await fs.readFile(path, 'utf8').catch(() => '')
  const loadAverage = Number.parseFloat(text)
  return Number.isFinite(loadAverage) ? { cores: os.availableParallelism(), loadAverage } : undefined
}
