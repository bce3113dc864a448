import { Fail } from '../../kernel/fail.ts'
import { sidesOf } from '../audit/audit.rules.ts'
import type { reaches } from '../edge/reach.ts'
import { type AnyRoute, stream } from '../edge/route.ts'
import type { UserWho } from '../edge/who.ts'
import {
  CONTENT_TYPE,
  exposition,
  outage,
  processMetrics,
  type RunnerGauge,
  type Snapshot,
} from './metrics.prometheus.ts'
import type { MetricsStore } from './metrics.store.ts'
import type { AuditTally } from './tally.store.ts'

export interface MetricsParts {
  metrics: MetricsStore
  reach: ReturnType<typeof reaches>
  runners: () => RunnerGauge[]
  startedAtMs: number
  tally: AuditTally
}

export const metricsRoutes = ({ metrics, reach, runners, startedAtMs, tally }: MetricsParts): AnyRoute[] => {
  const ofProcess = processMetrics()
  const snapshot = (who: UserWho, now: string): Snapshot => {
    const visible = reach(who, 'metrics:read')
    return {
      active: metrics.active(visible),
      audit: counted(who, tally),
      cached: metrics.cached(visible),
      health: metrics.health(sidesOf(reach, who, 'metrics:read')),
      jobs: metrics.jobs(visible),
      nodes: metrics.nodes(visible, now),
      runners: runners(),
      startedAtMs,
    }
  }
  // Who is not free of scope reads no audit of scoped resources, so it is not counted for them either.
  const counted = (who: UserWho, { read }: AuditTally) => {
    if (!who.permissions.has('audit:read')) return []
    const all = read()
    return reach(who, 'audit:read').unrestricted ? merged(all) : all.filter((t) => !t.scoped)
  }
  return [
    stream({
      method: 'GET',
      path: '/metrics',
      auth: 'user',
      permission: 'metrics:read',
      action: 'metrics.read',
      target: () => ({ type: 'controller' }),
      run: async ({ who, now }) => answer(await text(() => exposition(snapshot(who, now), ofProcess))),
    }),
  ]
}

type Tallies = ReturnType<AuditTally['read']>

/** One sample per label set: scoped and unscoped rows share their labels. */
function merged(all: Tallies): Tallies {
  const totals = new Map<string, Tallies[number]>()
  for (const row of all) {
    const key = JSON.stringify([row.action, row.actorType, row.outcome, row.permission])
    totals.set(key, { ...row, n: row.n + (totals.get(key)?.n ?? 0) })
  }
  return [...totals.values()]
}

const answer = (body: string): { response: Response } => ({
  response: new Response(body, { headers: { 'Content-Type': CONTENT_TYPE, 'Cache-Control': 'no-store' } }),
})

async function text(make: () => Promise<string>): Promise<string> {
  try {
    return await make()
  } catch (e) {
    // The outage IS the metric (contract B, section 22); anything else is a bug.
    if (e instanceof Fail && e.status === 503) return outage()
    throw e
  }
}
