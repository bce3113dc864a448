import { iso } from '../../kernel/clock.ts'
import type { FleetApi } from '../fleet/api.ts'
import type { Target } from '../http/route.ts'
import { placeOf } from './capture.rules.ts'

// Only the status of a node depends on the time, and the gate does not ask for it.
const ANY_TIME = iso(0)

/** Where the schedule of this body would be, whatever the body is: see `placeOf`. */
export function gateOf(
  parts: { defaultInterfaceId: string | undefined; nodes: FleetApi['nodes'] },
  body: unknown,
): Target {
  const { nodeId } = Object(body) as { nodeId?: unknown }
  const node = typeof nodeId === 'string' ? parts.nodes.find(nodeId.trim(), ANY_TIME) : undefined
  // What there is not is refused like what is foreign (ADR-0003).
  if (!node && typeof nodeId === 'string') return { type: 'node', id: nodeId.trim() }
  return placeOf(node, body, parts.defaultInterfaceId)
}
