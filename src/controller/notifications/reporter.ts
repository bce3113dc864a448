import { iso } from '../../kernel/clock.ts'
import { diskRoom, freePercent } from '../../kernel/disk.ts'
import type { Ids } from '../../kernel/ids.ts'
import { DAY_MS } from '../../kernel/zones.ts'
import type { Db } from '../store/db.ts'
import type { QueueStore } from './queue.store.ts'
import type { Report, ReportStore } from './report.store.ts'
import { nextReportAt, reportDueAt, type Zones } from './rules.rules.ts'
import type { RuleStore } from './rules.store.ts'

interface Parts {
  db: Db
  ids: Ids
  queue: QueueStore
  report: ReportStore
  rules: RuleStore
  /** Directory of the takes. */
  takes: string
  zones: Zones
}

/** Queues the daily reports of rules, each once however often the controller starts. */
export function reporter({ db, ids, queue, report, rules, takes, zones }: Parts) {
  const reporting = () => rules.active().flatMap((rule) => (rule.dailyReport ? [{ at: rule.dailyReport, rule }] : []))
  return {
    /** When the next report is due, Unix ms. */
    nextAt(now: string): number | undefined {
      const times = reporting().map(({ at }) => nextReportAt(at, Date.parse(now), zones))
      return times.length > 0 ? Math.min(...times) : undefined
    },
    async queueDue(now: string): Promise<void> {
      for (const { at, rule } of reporting()) {
        const due = reportDueAt(at, Date.parse(now), zones)
        const until = iso(due)
        // A time to come was noted by a clock that was wrong.
        if (until <= rule.reportedUntil && rule.reportedUntil <= now) continue
        const disk = await freeOn(takes)
        db.tx(() => {
          if (!rules.claimReport(rule.id, until, now)) return
          const content = report(rule, iso(due - DAY_MS), until, disk)
          const id = ids.make('notification')
          queue.queue({ channelId: rule.channelId, content, dueAt: now, id, kind: 'report', ruleId: rule.id }, now)
        })
      }
    },
  }
}
export type Reporter = ReturnType<typeof reporter>

const GIGABYTE = 1e9

/** Undefined where the file system does not tell: the report goes without it. */
async function freeOn(dir: string): Promise<Report['disk']> {
  const room = await diskRoom(dir).catch(() => undefined)
  return room && { freeGb: Math.floor(room.freeBytes / GIGABYTE), freePercent: freePercent(room) }
}
