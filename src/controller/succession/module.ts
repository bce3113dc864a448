import { iso } from '../../kernel/clock.ts'
import { systemActor } from '../http/principal.ts'
import type { Base, Module } from '../module.ts'
import type { WatchdogApi } from '../monitoring/watchdog/api.ts'
import type { LeaseClient } from './leaseclient.ts'
import { pulseStore } from './pulse.store.ts'
import type { ReplicaWatch } from './replica.ts'

interface Deps {
  /** The lease this controller holds; undefined for one that is alone. */
  lease: Pick<LeaseClient, 'silence' | 'term'> | undefined
  /** Undefined where nothing replicates the database. */
  replica: Pick<ReplicaWatch, 'fault' | 'look'> | undefined
  watchdog: Pick<WatchdogApi, 'settle'>
}

/** How often the age of the database is written down for a standby. */
const PULSE_SECONDS = 10
/** The store may be away this long before people are told. */
const PATIENCE_MS = 60_000
/** How often it is looked whether the replica moves: one list request each. */
const LOOK_SECONDS = 30

const actor = systemActor('lease')

const warning = (message: string) => ({ details: { message }, severity: 'warning' }) as const

/** What a controller with a lease writes into its own database: a pulse for its standby, and that the store is away. */
export function createSuccession({ audit, clock, db }: Base, { lease, replica, watchdog: { settle } }: Deps): Module {
  const pulses = pulseStore(db)
  const beat = (now: string): void => {
    if (lease) pulses.write({ term: lease.term, writtenAt: now })
  }
  /** Opened when the store has been away for a while; until it is back, also over a restart. */
  const unreachable = (standing: object | undefined) => {
    const silence = lease?.silence
    if (!silence || (!standing && silence.ms < PATIENCE_MS)) return undefined
    return warning(
      `The lease cannot be renewed: ${silence.why}. Until it can, only an unplanned takeover is possible (--unplanned).`,
    )
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
            settle('lease_unreachable', unreachable, now)
          }),
      },
      {
        enabled: replica !== undefined,
        intervalSeconds: LOOK_SECONDS,
        name: 'replica-watch',
        async tick(now) {
          await replica?.look()
          const fault = replica?.fault
          db.tx(() => settle('replica_stalled', () => (fault === undefined ? undefined : warning(fault)), now))
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
