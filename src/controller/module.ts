import type { Clock } from '../kernel/clock.ts'
import type { Ids } from '../kernel/ids.ts'
import type { Log } from '../kernel/log.ts'
import type { Permission } from '../wire/permissions.ts'
import type { Config } from './config.ts'
import type { Events } from './events.ts'
import type { Audit } from './http/audit.ts'
import type { UserPrincipal } from './http/principal.ts'
import type { Principals } from './http/principals.ts'
import type { AnyRoute } from './http/route.ts'
import type { Scope } from './http/scope.ts'
import type { Visibility } from './http/visibility.ts'
import type { Notifier } from './scheduler/notifier.ts'
import type { Runner, Ticker } from './scheduler/ticker.ts'
import type { Db } from './store/db.ts'
import type { CommitGroup } from './store/group.ts'

/** What every module gets. */
export interface Base {
  audit: Audit
  authorization: Authorization
  clock: Clock
  config: Config
  db: Db
  events: Events
  group: CommitGroup
  ids: Ids
  log: Log
  notifier: Notifier
  ticker: Pick<Ticker, 'reschedule' | 'status'>
}

export interface Authorization {
  principals: Principals
  /** The part of the fleet a person may see or touch, as a condition in SQL. */
  visibility: (principal: UserPrincipal, permission: Permission) => Visibility
  /** Whether a person may do something to one thing. */
  scope: Scope
}

/** A part of the controller. Others use its `api` and nothing else; a module without one only serves requests. */
export interface Module<Api = undefined> {
  api: Api
  /** The wall clock jumped by so many ms: shifts the times held in memory. */
  clockJumped?(by: number): void
  /** The controller listens, on this port. */
  listening?(port: number): void
  /** Ends long polls and endless answers before the server closes. */
  release?(): void
  routes?: AnyRoute[]
  runners?: Runner[]
  /** Before the first request. */
  start?(): void | Promise<void>
  stop?(): void | Promise<void>
}
