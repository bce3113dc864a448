import { setImmediate as breath } from 'node:timers/promises'
import { iso } from '../../../kernel/clock.ts'
import { PERMISSIONS } from '../../../wire/permissions.ts'
import type { Certificates } from '../../http/certificates.ts'
import type { Reach, reaches } from '../../http/reach.ts'
import { type AnyRoute, stream } from '../../http/route.ts'
import type { ScraperWho, UserWho } from '../../http/who.ts'
import type { Chunks } from '../listen/chunks.store.ts'
import type { ListenSessions } from '../listen/sessions.store.ts'
import type { LayoutStore } from '../meters/layout.store.ts'
import type { Meters } from '../meters/meters.store.ts'
import { type Sight, seenFrame, sight } from '../meters/sight.rules.ts'
import type { CountStore } from './counts.store.ts'
import { families, type RunnerGauge, type Snapshot } from './families.rules.ts'
import { CONTENT_TYPE, exposition, outage, processMetrics } from './metrics.prometheus.ts'
import type { MetricsStore } from './metrics.store.ts'
import type { Input, Signals } from './signals.rules.ts'
import type { AuditTally, Tally } from './tally.store.ts'

interface MetricsParts {
  certificates?: Pick<Certificates, 'shown'> | undefined
  chunks: Chunks
  counts: CountStore
  feeds: { count(): number }
  /** Age from which a meter frame is of the past. */
  frameMaxAgeSeconds: number
  layouts: LayoutStore
  listeners: Pick<ListenSessions, 'count'>
  meters: Meters
  metrics: MetricsStore
  reach: ReturnType<typeof reaches>
  runners: () => RunnerGauge[]
  startedAtMs: number
  tally: AuditTally
}

// The scraper sees with the eyes of an owner whom nothing is refused.
const ALL_SEEING: UserWho = {
  ...{ id: 'metrics-scraper', email: '', name: 'Metrics Scraper', sessionId: '' },
  ...{ allow: [], deny: [], rooms: new Map() },
  kind: 'user',
  permissions: new Set(PERMISSIONS),
  roles: ['owner'],
}
const eyesOf = (who: UserWho | ScraperWho): UserWho => (who.kind === 'user' ? who : ALL_SEEING)

/** Prometheus metrics, for people's sessions and for the static token (contract B, section 22). */
export const metricsRoutes = (parts: MetricsParts): AnyRoute[] => {
  const ofProcess = processMetrics()
  const page = async (who: UserWho | ScraperWho, now: string) =>
    answer(await exposition(families(await snapshot(parts, eyesOf(who), now)), ofProcess))
  const metrics = {
    method: 'GET',
    path: '/metrics',
    permission: 'metrics:read',
    target: () => ({ type: 'controller' }),
  } as const
  return [
    stream({
      ...metrics,
      auth: 'user',
      action: 'metrics.read',
      run: async ({ who, now }) => ({ response: await page(who, now) }),
    }),
    stream({
      ...metrics,
      auth: 'scraper',
      action: 'metrics.scrape',
      run: async ({ who, now }) => ({ response: await page(who, now) }),
    }),
  ]
}

/** What the scraper reads while the database is away. */
export const metricsOutage = async (): Promise<Response> => answer(await outage())

const answer = (body: string): Response =>
  new Response(body, { headers: { 'Content-Type': CONTENT_TYPE, 'Cache-Control': 'no-store' } })

/** Each count is a statement of its own, and others may speak between them. */
async function snapshot(parts: MetricsParts, who: UserWho, now: string): Promise<Snapshot> {
  const { counts, metrics, reach, runners, startedAtMs } = parts
  // What the caller sees of lists: a roster that lets them view a room counts as much as a grant (contract B, 22).
  const visible = reach(who, 'node:read')
  const nodes = metrics.nodes(visible, now)
  const told = {
    ...signals(parts, who, visible, new Set(nodes.map(({ id }) => id)), now),
    ...{ nodes, now, startedAtMs, runners: runners() },
    certificateExpiresAt: parts.certificates?.shown.expiresAt,
    audit: audited(parts, who),
  }
  await breath()
  const recordings = counts.recordings(visible)
  await breath()
  const jobs = counts.jobs(visible)
  await breath()
  const health = counts.health(visible)
  await breath()
  const uploads = counts.uploads(visible)
  await breath()
  return { ...told, recordings, jobs, health, uploads, running: metrics.running(visible) }
}

// Who is not free of scope reads no audit of scoped resources, so it is not counted for them either.
function audited({ reach, tally: { read } }: MetricsParts, who: UserWho): Tally[] {
  if (!who.permissions.has('audit:read')) return []
  const all = read()
  return reach(who, 'audit:read').unrestricted ? merged(all) : all.filter((t) => !t.scoped)
}

/** One sample per label set: scoped and unscoped rows share their labels. */
function merged(all: Tally[]): Tally[] {
  const totals = new Map<string, Tally>()
  for (const row of all) {
    const key = JSON.stringify([row.action, row.actorType, row.outcome, row.permission])
    totals.set(key, { ...row, n: row.n + (totals.get(key)?.n ?? 0) })
  }
  return [...totals.values()]
}

function signals(parts: MetricsParts, who: UserWho, visible: Reach, nodes: ReadonlySet<string>, now: string): Signals {
  const { chunks, feeds, listeners } = parts
  return {
    chunks: chunks.snapshot(now).filter(({ nodeId }) => nodes.has(nodeId)),
    inputs: inputsOf(parts, visible.unrestricted ? undefined : who, nodes, now),
    streams: visible.unrestricted ? { events: feeds.count(), listeners: listeners.count(now) } : undefined,
  }
}

// Who may read metrics reads the levels of what is within reach, also without the permission to list nodes.
const seeing = (who: UserWho): UserWho => ({ ...who, permissions: new Set([...who.permissions, 'node:read'] as const) })

// What is made up is not measured, and what is old is not the level any more.
function inputsOf(parts: MetricsParts, scoped: UserWho | undefined, nodes: ReadonlySet<string>, now: string): Input[] {
  const { frameMaxAgeSeconds, layouts, meters } = parts
  const oldest = iso(Date.parse(now) - frameMaxAgeSeconds * 1000)
  const seen = new Map<string, Sight | undefined>()
  const sightOf = (nodeId: string): Sight | undefined => {
    if (!scoped) return 'all'
    if (!seen.has(nodeId)) {
      const layout = layouts.of(nodeId)
      seen.set(nodeId, layout && sight(seeing(scoped), 'node:read', layout))
    }
    return seen.get(nodeId)
  }
  return meters.snapshot().flatMap(({ frame, nodeId, receivedAt }) => {
    const past = frame.synthetic || receivedAt < oldest || !nodes.has(nodeId)
    const view = past ? undefined : sightOf(nodeId)
    const { interfaceId } = frame
    return view ? seenFrame(frame, view).levels.map((level) => ({ interfaceId, level, nodeId })) : []
  })
}
