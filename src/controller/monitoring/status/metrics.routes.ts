import { setImmediate as nextTurn } from 'node:timers/promises'
import { iso } from '../../../kernel/clock.ts'
import { PERMISSIONS } from '../../../wire/permissions.ts'
import type { Certificates } from '../../http/certificates.ts'
import type { ScraperPrincipal, UserPrincipal } from '../../http/principal.ts'
import { type AnyRoute, stream } from '../../http/route.ts'
import type { Visibility, visibilities } from '../../http/visibility.ts'
import type { Chunks } from '../listen/chunks.store.ts'
import type { ListenSessions } from '../listen/sessions.store.ts'
import { type ChannelVisibility, channelVisibility, visibleFrame } from '../meters/channelvisibility.rules.ts'
import type { LayoutStore } from '../meters/layout.store.ts'
import type { Meters } from '../meters/meters.store.ts'
import type { CountStore } from './counts.store.ts'
import { families, type RunnerGauge, type Snapshot } from './families.rules.ts'
import { CONTENT_TYPE, exposition, outage, processMetrics } from './metrics.prometheus.ts'
import type { MetricsStore } from './metrics.store.ts'
import type { Operations } from './operations.rules.ts'
import type { Input, Signals } from './signals.rules.ts'
import type { AuditTally, Tally } from './tally.store.ts'

interface MetricsParts {
  certificates?: Pick<Certificates, 'served'> | undefined
  chunks: Chunks
  counts: CountStore
  streams: { count(): number }
  /** Age from which a meter frame is outdated. */
  frameMaxAgeSeconds: number
  layouts: LayoutStore
  listeners: Pick<ListenSessions, 'count'>
  meters: Meters
  metrics: MetricsStore
  operations: () => Promise<Operations>
  visibility: ReturnType<typeof visibilities>
  runners: () => RunnerGauge[]
  startedAtMs: number
  tally: AuditTally
}

// The scraper sees what an owner without refusals sees.
const UNRESTRICTED_USER: UserPrincipal = {
  ...{ id: 'metrics-scraper', email: '', name: 'Metrics Scraper', sessionId: '' },
  ...{ allow: [], deny: [], rooms: new Map() },
  kind: 'user',
  permissions: new Set(PERMISSIONS),
  roles: ['owner'],
}
const asUser = (principal: UserPrincipal | ScraperPrincipal): UserPrincipal =>
  principal.kind === 'user' ? principal : UNRESTRICTED_USER

/** Prometheus metrics, for people's sessions and for the static token (docs/contract/api.md: Metrics). */
export const metricsRoutes = (parts: MetricsParts): AnyRoute[] => {
  const ofProcess = processMetrics()
  const page = async (principal: UserPrincipal | ScraperPrincipal, now: string) =>
    answer(await exposition(families(await snapshot(parts, asUser(principal), now)), ofProcess))
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
      run: async ({ principal, now }) => ({ response: await page(principal, now) }),
    }),
    stream({
      ...metrics,
      auth: 'scraper',
      action: 'metrics.scrape',
      run: async ({ principal, now }) => ({ response: await page(principal, now) }),
    }),
  ]
}

/** The scraper's answer while the database is unavailable. */
export const metricsOutage = async (): Promise<Response> => answer(await outage())

const answer = (body: string): Response =>
  new Response(body, { headers: { 'Content-Type': CONTENT_TYPE, 'Cache-Control': 'no-store' } })

/** Each count is a separate statement; the event loop runs other work between them. */
async function snapshot(parts: MetricsParts, principal: UserPrincipal, now: string): Promise<Snapshot> {
  const { counts, metrics, visibility, runners, startedAtMs } = parts
  // The same visibility as in lists: a roster entry that lets them view a room counts like a grant (docs/contract/api.md:
  // Metrics).
  const visible = visibility(principal, 'node:read')
  const nodes = metrics.nodes(visible, now)
  const fromMemory = {
    ...signals(parts, principal, visible, new Set(nodes.map(({ id }) => id)), now),
    ...{ nodes, now, startedAtMs, runners: runners() },
    certificateExpiresAt: parts.certificates?.served.expiresAt,
    audit: auditCounts(parts, principal),
  }
  await nextTurn()
  const recordings = counts.recordings(visible)
  await nextTurn()
  const jobs = counts.jobs(visible)
  await nextTurn()
  const health = counts.health(visible)
  await nextTurn()
  const uploads = counts.uploads(visible)
  await nextTurn()
  const lateSchedules = metrics.late(visible, now)
  const operations = visible.unrestricted ? await parts.operations() : undefined
  const running = metrics.running(visible)
  return { ...fromMemory, health, jobs, lateSchedules, operations, recordings, running, uploads }
}

// A caller with a limited scope cannot read the audit of scoped resources, so it is not counted for them either.
function auditCounts({ visibility, tally: { read } }: MetricsParts, principal: UserPrincipal): Tally[] {
  if (!principal.permissions.has('audit:read')) return []
  const all = read()
  return visibility(principal, 'audit:read').unrestricted ? merged(all) : all.filter((t) => !t.scoped)
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

function signals(
  parts: MetricsParts,
  principal: UserPrincipal,
  visible: Visibility,
  nodes: ReadonlySet<string>,
  now: string,
): Signals {
  const { chunks, streams, listeners } = parts
  return {
    chunks: chunks.snapshot(now).filter(({ nodeId }) => nodes.has(nodeId)),
    inputs: inputsOf(parts, visible.unrestricted ? undefined : principal, nodes, now),
    streams: visible.unrestricted ? { events: streams.count(), listeners: listeners.count(now) } : undefined,
  }
}

// Metrics show the levels of everything in scope, also without the permission to list nodes.
const withNodeRead = (principal: UserPrincipal): UserPrincipal => ({
  ...principal,
  permissions: new Set([...principal.permissions, 'node:read'] as const),
})

// Synthetic and outdated frames are left out.
function inputsOf(
  parts: MetricsParts,
  scoped: UserPrincipal | undefined,
  nodes: ReadonlySet<string>,
  now: string,
): Input[] {
  const { frameMaxAgeSeconds, layouts, meters } = parts
  const oldest = iso(Date.parse(now) - frameMaxAgeSeconds * 1000)
  const seen = new Map<string, ChannelVisibility | undefined>()
  const visibilityOf = (nodeId: string): ChannelVisibility | undefined => {
    if (!scoped) return 'all'
    if (!seen.has(nodeId)) {
      const layout = layouts.of(nodeId)
      seen.set(nodeId, layout && channelVisibility(withNodeRead(scoped), 'node:read', layout))
    }
    return seen.get(nodeId)
  }
  return meters.snapshot().flatMap(({ frame, nodeId, receivedAt }) => {
    const past = frame.synthetic || receivedAt < oldest || !nodes.has(nodeId)
    const view = past ? undefined : visibilityOf(nodeId)
    const { interfaceId } = frame
    return view ? visibleFrame(frame, view).levels.map((level) => ({ interfaceId, level, nodeId })) : []
  })
}
