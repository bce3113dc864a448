import type { Audit } from '../../http/audit.ts'
import type { HealthApi } from '../../monitoring/health/api.ts'
import { Rounds } from '../../scheduler/rounds.ts'
import type { Runner } from '../../scheduler/ticker.ts'
import type { Db } from '../../store/db.ts'
import type { Devices } from './devices.ts'
import { openUnreachable, ROUTER, resolveUnreachable } from './reachability.ts'
import type { Routed, RoutingStore } from './routing.store.ts'
import { DeviceError } from './session.ts'
import { type Change, type Conflict, changes, desired, type Live } from './switchers.rules.ts'

interface Parts {
  audit: Audit
  /** Maximum of switchers per pass; the next pass continues with the others. */
  batchSize: number
  db: Db
  devices: Devices
  enabled: boolean
  health: HealthApi['health']
  intervalSeconds: number
  /** Who is live in which room. */
  live: (now: string) => Live[]
  routing: RoutingStore
}

interface Plan {
  conflicts: Conflict[]
  planned: Change[]
}

/** The last audited result of each switcher: a pass with the same result is not audited again. */
type Reported = Map<string, string>

/**
 * Routes live meetings to the outputs of their people (docs/contract/switchers.md: Routing): reads the routes, compares them and
 * in enforce mode sets those that differ. Switchers are handled in parallel; one that does not answer delays none of the others.
 */
export function routingRunner(parts: Parts): Runner {
  const { batchSize, db, enabled, intervalSeconds, live, routing } = parts
  const reported: Reported = new Map()
  const rounds = new Rounds(batchSize)
  return {
    name: 'switcher-routing',
    enabled,
    intervalSeconds,
    async tick(now) {
      const people = live(now)
      const active = routing.active()
      for (const id of reported.keys()) if (!active.some((one) => one.id === id)) reported.delete(id)
      db.tx(() => {
        for (const { event, id } of routing.idle()) resolveUnreachable(parts, id, event, 'no_longer_routed', now)
      })
      rounds.begin()
      const asked = active.filter(({ id }) => rounds.turn(id))
      rounds.end(new Set(active.map(({ id }) => id)))
      const passes = await Promise.all(asked.map((one) => routeOne(parts, reported, one, people, now)))
      const applied = passes.reduce((sum, pass) => sum + pass.applied, 0)
      return { applied, failed: passes.filter((pass) => pass.failed).length, switchers: asked.length }
    },
  }
}

async function routeOne(parts: Parts, reported: Reported, one: Routed, people: Live[], now: string) {
  const plan: Plan = { conflicts: [], planned: [] }
  try {
    await parts.devices.use(one, async (driver) => {
      const wanted = desired(one, people)
      plan.conflicts = wanted.conflicts
      plan.planned = changes(wanted.routes, await driver.routes())
      if (one.mode === 'enforce' && plan.planned.length > 0) await driver.apply(plan.planned)
    })
  } catch (e) {
    if (!(e instanceof DeviceError)) throw e
    failed(parts, reported, one, plan, e.message, now)
    return { applied: 0, failed: true }
  }
  const applied = one.mode === 'enforce' ? plan.planned.length : 0
  succeeded(parts, reported, one, plan, now)
  return { applied, failed: false }
}

function succeeded(parts: Parts, reported: Reported, one: Routed, plan: Plan, now: string): void {
  const outcome = one.mode === 'enforce' ? 'succeeded' : 'observed'
  const applied = one.mode === 'enforce' ? plan.planned : []
  const nothing = fingerprintOf(outcome, { conflicts: [], planned: [] })
  const news = fingerprintOf(outcome, plan)
  const silent = applied.length === 0 && (reported.get(one.id) ?? nothing) === news
  // Routes that were set are done: the next change is audited again.
  reported.set(one.id, applied.length > 0 ? fingerprintOf(outcome, { ...plan, planned: [] }) : news)
  parts.db.tx(() => {
    if (one.unreachableEvent) resolveUnreachable(parts, one.id, one.unreachableEvent, 'switcher_reachable', now)
    if (!silent) write(parts, one, plan, { outcome, applied }, now)
  })
}

const fingerprintOf = (outcome: string, plan: Plan): string =>
  `${outcome} ${JSON.stringify([plan.conflicts, plan.planned])}`

function failed(parts: Parts, reported: Reported, one: Routed, plan: Plan, reason: string, now: string): void {
  const news = `failed ${reason}`
  const silent = reported.get(one.id) === news
  reported.set(one.id, news)
  parts.db.tx(() => {
    if (!one.unreachableEvent) openUnreachable(parts, one, reason, now)
    if (!silent) write(parts, one, plan, { outcome: 'failed', applied: [], reason }, now)
  })
}

interface Result {
  applied: Change[]
  outcome: 'failed' | 'observed' | 'succeeded'
  reason?: string
}

function write({ audit }: Parts, one: Routed, plan: Plan, { applied, outcome, reason }: Result, now: string): void {
  audit.write(
    {
      action: `switchers.reconcile.${outcome}`,
      actor: ROUTER,
      details: {
        applied,
        appliedCount: applied.length,
        conflicts: plan.conflicts,
        mode: one.mode,
        ownedOutputs: one.outputs.map(({ output }) => output),
        plannedChanges: plan.planned,
      },
      outcome: outcome === 'failed' ? 'failed' : 'succeeded',
      permission: 'switcher:manage',
      ...(reason ? { reason } : {}),
      target: { type: 'switcher', id: one.id, name: one.displayName },
    },
    now,
  )
}
