import { createHash } from 'node:crypto'
import { type Clock, iso } from '../../kernel/clock.ts'
import { Fail, notFound } from '../../kernel/fail.ts'
import { LONGEST_DETAILS } from '../../wire/health.ts'
import { AgentHealthEvent, Heartbeat, Inventory, type NodeConfig } from '../../wire/nodes.ts'
import { WaitQuery } from '../../wire/recordings.ts'
import type { Events } from '../events.ts'
import type { FleetApi } from '../fleet/api.ts'
import { lacksDevice } from '../fleet/nodes/status.rules.ts'
import { limiter } from '../http/limiter.ts'
import { type AnyRoute, flow, route } from '../http/route.ts'
import type { HealthApi } from '../monitoring/health/api.ts'
import type { LiveApi } from '../monitoring/listen/api.ts'
import type { PreflightApi } from '../monitoring/preflight/api.ts'
import type { RecordingsApi } from '../recordings/api.ts'
import { type Notifier, topics } from '../scheduler/notifier.ts'
import type { ProvenanceStore } from './provenance.store.ts'

const node = (p: { id: string }) => ({ type: 'node', id: p.id })
const agent = { auth: 'node', permission: 'node:control', target: node } as const

interface Parts {
  notifier: Notifier
  captureEvents: HealthApi['captureEvents']
  clock: Clock
  custody: RecordingsApi['custody']
  doctor: FleetApi['doctor']
  events: Events
  listeners: LiveApi['listeners']
  nodes: FleetApi['nodes']
  policies: RecordingsApi['policies']
  preflight: PreflightApi
  provenance: ProvenanceStore
  reconcile: FleetApi['reconcile']
  watchers: LiveApi['watchers']
}

// Details have the same limit as in events of people; ids and a type come on top.
const EVENT_LIMIT = LONGEST_DETAILS + 32 * 1024
const EVENTS_PER_MINUTE = 120
/** Per node. Devices are plugged by hand and a recorder sends only changes; a refused inventory costs as much as another. */
const INVENTORIES_PER_MINUTE = 12
/** Per node: further changes by heartbeats are only counted. */
const AUDITED_HEARTBEATS_PER_MINUTE = 60

const detailsTooLong = (): Fail =>
  new Fail(413, 'payload_too_large', `The details are longer than ${LONGEST_DETAILS} characters`)

/** Whether a heartbeat that changed something gets a row of its own. */
function heartbeatAuditBudget(clock: Clock): (nodeId: string) => boolean {
  const beats = limiter(AUDITED_HEARTBEATS_PER_MINUTE, 60)
  return (nodeId) => {
    if (beats.blocked(nodeId, clock.monotonic()) !== undefined) return false
    beats.count(nodeId, clock.monotonic())
    return true
  }
}

/** Heartbeats, inventories, health events and config of a node. */
export const nodeAgentRoutes = (parts: Parts): AnyRoute[] => {
  const { captureEvents, clock, custody, events, nodes, provenance, reconcile } = parts
  const mayAudit = heartbeatAuditBudget(clock)
  return [
    configRoute(parts),
    route({
      method: 'POST',
      path: '/nodes/:id/heartbeat',
      ...agent,
      action: 'nodes.heartbeat',
      audit: 'telemetry',
      body: Heartbeat,
      bodyLimit: 64 * 1024,
      status: 202,
      run: ({ params, body: { kept, ...body }, now }) => {
        const { before, after, changed } = nodes.heartbeat(params.id, body, now)
        if (before.status !== after.status) events.emit('node.status', { nodeId: params.id, status: after.status })
        const details = { changed }
        const data = kept ? { ...after, kept: custody.judge(params.id, kept, now) } : after
        return changed && mayAudit(params.id)
          ? { data, before: facts(before), after: facts(after), details }
          : { data, changed: false, details }
      },
    }),
    route({
      method: 'POST',
      path: '/nodes/:id/inventory',
      ...agent,
      action: 'nodes.inventory.reconciled',
      success: ['nodes.inventory.reconciled', 'nodes.inventory.reconciled.failed'],
      audit: 'change',
      body: Inventory,
      perMinute: INVENTORIES_PER_MINUTE,
      status: 202,
      run: ({ params, body, now }) => {
        nodes.mustExist(params.id)
        const { after, before, counts, summary, ...report } = reconcile(params.id, body.interfaces)
        const node = nodes.get(params.id, now)
        const healthEventIds = captureEvents.update(params.id, lacksDevice(node), now)
        if (!lacksDevice(node)) events.emit('node.ready', { nodeId: params.id, now })
        const changed = report.changed || healthEventIds.length > 0
        return {
          data: { changed, node, summary },
          changed,
          ...(changed ? { before, after } : {}),
          details: healthEventIds.length > 0 ? { ...counts, healthEventIds } : counts,
        }
      },
    }),
    route({
      method: 'POST',
      path: '/nodes/:id/health-events',
      auth: 'node',
      permission: 'health:acknowledge',
      target: node,
      action: 'nodes.health_events.sync',
      body: AgentHealthEvent,
      bodyLimit: EVENT_LIMIT,
      perMinute: EVENTS_PER_MINUTE,
      status: 201,
      run: ({ params, body, now }) => {
        if (JSON.stringify(body.details).length > LONGEST_DETAILS) throw detailsTooLong()
        mustOwn(provenance, params.id, body)
        const { id: localEventId, openedAt: reported = now, ...rest } = body
        // A clock that runs ahead would keep an event on top of every list.
        const openedAt = reported < now ? reported : now
        const { event, fresh } = captureEvents.report(
          { ...rest, nodeId: params.id, openedAt, ...(localEventId ? { localEventId } : {}) },
          now,
        )
        return {
          data: event,
          changed: fresh,
          details: { type: event.type, severity: event.severity },
          correlation: { healthEventId: event.id },
        }
      },
    }),
  ]
}

/**
 * The config of a node. With `If-None-Match` and `waitSeconds` it answers as soon as the config differs: an agent learns at
 * once that somebody listens.
 */
const configRoute = ({ clock, doctor, listeners, nodes, notifier, policies, preflight, watchers }: Parts): AnyRoute =>
  flow({
    method: 'GET',
    path: '/nodes/:id/config',
    ...agent,
    action: 'nodes.config.read',
    audit: 'telemetry',
    query: WaitQuery,
    run: async ({ params: { id }, query, request }) => {
      const read = () => withEtag(configOf(iso(clock.now())))
      const configOf = (now: string): NodeConfig => {
        const { audioDefaults, recordingCapacity } = nodes.get(id, now)
        const { enhanced, listening } = listeners.demand(id, now)
        const called = doctor.calls.wanted(id)
        const preflights = preflight.planned(id, now)
        return {
          ...(audioDefaults ? { audioDefaults } : {}),
          ...(called ? { doctor: called } : {}),
          liveListen: { requested: listening },
          liveMeters: watchers.wanted(id),
          monitorEnhancement: { engine: 'deepfilternet3', requested: enhanced },
          ...(preflights.length > 0 ? { preflights } : {}),
          recorderCachePolicies: policies.recorderCachePolicies(),
          recordingCapacity: recordingCapacity ?? { maxConcurrentRecordings: 1 },
        }
      }
      const known = request.header('if-none-match')
      const other = (): Tagged | undefined => {
        const now = read()
        return now.etag === known ? undefined : now
      }
      const seen = await notifier.until(topics.config(id), query.waitSeconds ?? 0, request.gone(), other)
      const { data, etag } = seen ?? read()
      return { data, changed: false, headers: { etag } }
    },
  })

interface Tagged {
  data: NodeConfig
  etag: string
}

const withEtag = (data: NodeConfig): Tagged => {
  const digest = createHash('sha256').update(JSON.stringify(data)).digest('base64url')
  return { data, etag: `"${digest.slice(0, 22)}"` }
}

// A node may report only on its own recordings and schedules (docs/contract/agent.md: Health events).
function mustOwn(provenance: ProvenanceStore, nodeId: string, { recordingId, scheduleId }: AgentHealthEvent): void {
  const named = [
    ['recording', recordingId],
    ['schedule', scheduleId],
  ] as const
  for (const [kind, id] of named) {
    if (id === undefined) continue
    const owner = provenance.ownerOf(kind, id)
    if (owner === undefined) throw notFound(kind === 'recording' ? 'Recording' : 'Schedule')
    if (owner !== nodeId)
      throw new Fail(403, 'node_scope_denied', `Node credential cannot access this ${kind}`, { outcome: 'denied' })
  }
}

const facts = (n: {
  agentVersion: string
  hostname: string
  ipAddresses: string[]
  runtime?: object
  status: string
}): object => ({
  agentVersion: n.agentVersion,
  hostname: n.hostname,
  ipAddresses: n.ipAddresses,
  runtime: n.runtime,
  status: n.status,
})
