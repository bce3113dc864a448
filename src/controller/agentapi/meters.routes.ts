import { Fail } from '../../kernel/fail.ts'
import { MeterFrame } from '../../wire/meters.ts'
import { type AnyRoute, route } from '../http/route.ts'
import type { LiveApi } from '../monitoring/listen/api.ts'

/** Levels as an agent measures them (docs/contract/agent.md: Meters): telemetry, kept in memory. */
export const meterLinkRoutes = (meters: LiveApi['meters'], layouts: LiveApi['layouts']): AnyRoute[] => [
  route({
    method: 'POST',
    path: '/nodes/:id/meter-frame',
    auth: 'node',
    permission: 'node:control',
    target: (p) => ({ type: 'node', id: p.id }),
    action: 'nodes.meter_frame.ingest',
    audit: 'telemetry',
    body: MeterFrame,
    bodyLimit: 256 * 1024,
    status: 202,
    run: ({ params: { id }, body, now }) => {
      if (body.nodeId !== id)
        throw new Fail(403, 'node_scope_denied', 'Meter frame node mismatch', { outcome: 'denied' })
      // A device the node has not told of yet keeps the name it came with; only full authority over the node sees it.
      const frame = { ...body, interfaceId: layouts.interfaceId(id, body.interfaceId) ?? body.interfaceId }
      meters.put(id, frame, now)
      return { data: { frame, receivedAt: now }, changed: false }
    },
  }),
]
