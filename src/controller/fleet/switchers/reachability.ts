// The one health event of a switcher that cannot be reached: opened once, resolved when it can.
import { systemActor } from '../../http/principal.ts'
import type { HealthApi } from '../../monitoring/health/api.ts'
import type { Routed, RoutingStore } from './routing.store.ts'

interface Parts {
  health: HealthApi['health']
  routing: RoutingStore
}

/** The router as the actor of its service actions. */
export const ROUTER = systemActor('switcher-router')

/** Opens `switcher.unreachable`; call it in the transaction that audits the failure. */
export function openUnreachable(
  { health, routing }: Parts,
  { displayName, host, id }: Routed,
  error: string,
  now: string,
): void {
  const details = { displayName, error, host, switcherId: id }
  const { event } = health.open({ details, openedAt: now, severity: 'warning', type: 'switcher.unreachable' }, now)
  routing.mark(id, event.id)
}

/** Resolves it, also when a person acknowledged or suppressed it. */
export function resolveUnreachable(
  { health, routing }: Parts,
  switcherId: string,
  eventId: string,
  why: string,
  now: string,
): void {
  routing.mark(switcherId, null)
  health.autoResolve([eventId], { by: ROUTER.id, reason: why }, now)
}
