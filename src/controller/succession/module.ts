import { iso } from '../../kernel/clock.ts'
import { systemActor } from '../http/principal.ts'
import type { Base, Module } from '../module.ts'
import type { HealthApi } from '../monitoring/health/api.ts'
import { pulseStore } from './pulse.store.ts'
import type { ReplicaWatch } from './replica.ts'
import type { Tenure } from './tenure.ts'

interface Deps {
  health: HealthApi
  /** The lease this controller holds; undefined for one that is alone. */
  lease: Pick<Tenure, 'silence' | 'term'> | undefined
  /** Undefined where nothing replicates the database. */
  replica: Pick<ReplicaWatch, 'fault' | 'look'> | undefined
}

/** How often the age of the database is written down for a standby. */
const PULSE_SECONDS = 10
/** The store may be away this long before people are told. */
const PATIENCE_MS = 60_000
export const LEASE_UNREACHABLE = 'watchdog.lease_unreachable'
/** How often it is looked whether the replica moves: one list request each. */
const LOOK_SECONDS = 30
export const REPLICA_STALLED = 'watchdog.replica_stalled'

const actor = systemActor('lease')

/** What a controller with a lease writes into its own database: a pulse for its standby, and that the store is away. */
export function createSuccession({ audit, clock, db }: Base, { health: { health }, lease, replica }: Deps): Module {
  const pulses = pulseStore(db)
  const beat = (now: string): void => {
    if (lease) pulses.write({ term: lease.term, writtenAt: now })
  }
  const alarm = (now: string): void => {
    const silence = lease?.silence
    const [standing] = health.alarms(LEASE_UNREACHABLE)
    if (standing && !silence) health.autoResolve([standing.id], { by: actor.id, reason: 'lease_seen_again' }, now)
    if (standing || !silence || silence.ms < PATIENCE_MS) return
    const message = `The lease cannot be renewed: ${silence.why}. Until it can, only an unplanned takeover is possible (--unplanned).`
    health.open({ details: { message }, openedAt: now, severity: 'warning', type: LEASE_UNREACHABLE }, now)
  }
  const settle = (now: string): void => {
    const message = replica?.fault
    const [standing] = health.alarms(REPLICA_STALLED)
    if (standing && message === undefined)
      health.autoResolve([standing.id], { by: actor.id, reason: 'replica_moves_again' }, now)
    if (standing || message === undefined) return
    health.open({ details: { message }, openedAt: now, severity: 'warning', type: REPLICA_STALLED }, now)
  }
  return {
    api: undefined,
    runners: [
      {
        enabled: lease !== undefined,
        intervalSeconds: PULSE_SECONDS,
        name: 'lease-pulse',
        tick: (now) =>
          db.tx(() => {
            beat(now)
            alarm(now)
          }),
      },
      {
        enabled: replica !== undefined,
        intervalSeconds: LOOK_SECONDS,
        name: 'replica-watch',
        async tick(now) {
          await replica?.look()
          db.tx(() => settle(now))
        },
      },
    ],
    start() {
      if (!lease) return
      const before = pulses.read()
      const now = iso(clock.now())
      db.tx(() => {
        beat(now)
        if (before?.term === lease.term) return
        const details = { previous: before ?? null, term: lease.term }
        const entry = { action: 'controller.term_began', actor, details, outcome: 'succeeded' } as const
        audit.write({ ...entry, target: { type: 'controller' } }, now)
      })
    },
  }
}
