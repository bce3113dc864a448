import type { Clock } from '../../kernel/clock.ts'
import type { Fail } from '../../kernel/fail.ts'
import type { Log } from '../../kernel/log.ts'
import type { Db } from '../store/db.ts'
import type { CommitGroup } from '../store/group.ts'
import type { Audit } from './audit.ts'
import type { Bodies } from './bodies.ts'
import type { CallerLimits } from './callerlimits.ts'
import type { SessionCookie } from './cookie.ts'
import type { Exports } from './exports.ts'
import type { Limiter } from './limiter.ts'
import type { EndedPermissions } from './permissioncleanup.ts'
import type { Principal } from './principal.ts'
import type { Principals } from './principals.ts'
import type { AnyRoute, Incoming, Target } from './route.ts'
import type { Scope } from './scope.ts'

/** What the pipeline works with. */
export interface Pipeline {
  audit: Audit
  /** Bodies being received, with separate limits for strangers and known callers. */
  bodies: { known: Bodies; strangers: Bodies }
  clock: Clock
  db: Db
  group: CommitGroup
  /** Ends the permissions that name a deleted resource. */
  endPermissions: (thing: Target) => EndedPermissions | undefined
  /** Answers of many rows, while they are read. */
  exports: Exports
  /** Refused bootstrap, runner and metrics tokens, per network. */
  guesses: Limiter
  /** Limits of refusals and requests per caller. */
  callerLimits: CallerLimits
  log: Log
  /** The session of the console. */
  cookie: SessionCookie
  /** The answer to the metrics scraper while the database is unavailable (docs/contract/api.md: Metrics). */
  outage: () => Promise<Response>
  principals: Principals
  scope: Scope
  /** Peers whose X-Forwarded-For is trusted. */
  trustedProxies: ReadonlySet<string>
  webOrigin: string
}

/** One request on its way through the pipeline. */
export interface Call {
  bearer: string
  /** Parsed JSON before any schema, for targets that are named in it. @throws Fail when it could not be read. */
  body: () => unknown
  /** Why the credential counts for no route that needs a session. */
  fault?: Fail | undefined
  /** When the caller's rights were read, by the monotonic clock, ms. */
  identifiedAt: number
  known: { stale: boolean; principal: Principal } | undefined
  /** Moves forward when a flow commits long after its request came. */
  now: string
  params: Record<string, string>
  path: string
  r: AnyRoute
  request: Incoming
  /** Its body is no longer held in memory: the caller may send another. */
  releaseBody: () => void
}
