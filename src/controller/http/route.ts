import type * as z from 'zod'
import type { Fail } from '../../kernel/fail.ts'
import type { Permission } from '../../wire/permissions.ts'
import type {
  Actor,
  BootstrapPrincipal,
  NodePrincipal,
  Principal,
  RunnerPrincipal,
  ScraperPrincipal,
  UserPrincipal,
} from './principal.ts'

export interface Target {
  type: string
  /** Absent on collections and singletons: only the permission decides (ADR-0003). */
  id?: string
  name?: string
}

export type Auth = 'user' | 'display' | 'node' | 'bootstrap' | 'runner' | 'scraper' | 'none'
type PrincipalOf<A extends Auth> = A extends 'user' | 'display'
  ? UserPrincipal
  : A extends 'node'
    ? NodePrincipal
    : A extends 'bootstrap'
      ? BootstrapPrincipal
      : A extends 'runner'
        ? RunnerPrincipal
        : A extends 'scraper'
          ? ScraperPrincipal
          : Principal

type Names<S extends string> = S extends `${string}:${infer A}/${infer R}`
  ? A | Names<`/${R}`>
  : S extends `${string}:${infer A}`
    ? A
    : never
type PathParams<S extends string> = { [K in Names<S>]: string }

/** The request as a handler sees it, from a socket or in memory. */
export interface Incoming {
  /** Client address; a forwarded one only from a trusted proxy. */
  address: string
  /** The body as it arrives, of any length and duration; for records with `upload` alone. Read at most once. */
  body(): AsyncIterable<Uint8Array>
  /** Aborts when the client goes before the answer is complete. A method: V8 would keep an accessor made per request alive. */
  gone(): AbortSignal
  header(name: string): string | undefined
  method: string
  /** The key an address is counted under: the address, or the /64 of IPv6; empty where there is no socket. */
  network: string
  /** The client speaks HTTPS, to this controller or to a proxy before it. */
  overHttps: boolean
  /** Whether a page of this origin asks: only such a page may have its cookie taken away. */
  sameOrigin(): boolean
  /**
   * The whole body in memory, at most `maxBytes`. @throws Fail as `Bodies.read` does.
   */
  whole(maxBytes: number): Promise<Uint8Array[]>
}

export interface Input<S extends string, A extends Auth, B, Q> {
  body: B
  /** One instant for everything the request writes. */
  now: string
  params: PathParams<S>
  query: Q
  request: Incoming
  principal: PrincipalOf<A>
}

/** What the audit keeps of a thing before or after a write: named fields, never a bare list. */
export type Snapshot = Record<string, unknown> | (object & { readonly map?: never })

/** One thing of a bulk write, as its own audit row shows it; `action` is the base of the name. */
export interface Written {
  action: string
  after?: Snapshot | null | undefined
  before?: Snapshot | null | undefined
  correlation?: Record<string, string>
  details?: Record<string, unknown>
  target: Target
}

/** The result of a handler: the answer, and the fields of its audit row. */
export interface Done<R> {
  /** Who did it, where only the request itself proved that: a login. */
  actor?: Actor
  after?: Snapshot | null | undefined
  /** Further successes this one caused, each under its full name; written before its own row. */
  also?: readonly Written[]
  before?: Snapshot | null | undefined
  /** Members of the answer next to `data`, for example `meta`. */
  beside?: Record<string, unknown>
  /** Machine routes: whether anything changed; an unchanged success is audited once per window (ADR-0004). */
  changed?: boolean
  correlation?: Record<string, string>
  data: R
  details?: Record<string, unknown>
  /** A bulk write: one success row for each thing written, in place of the route's own. */
  each?: readonly Written[]
  headers?: Record<string, string>
  /** Only part of it was done: what the audit row says instead of `succeeded`. */
  outcome?: 'partial'
  /** Answer status when it differs from the route's; 502 when a peer failed and the stored record says so. */
  status?: 200 | 201 | 202 | 204 | 302 | 502
  /** The resource created or found, when the route's own target is a collection. */
  target?: Target
  /** Called when the client was gone before the answer reached it: undoes what only that client could have used. */
  undelivered?: () => void
}

export interface Streamed {
  correlation?: Record<string, string>
  details?: Record<string, unknown>
  response: Response
}

interface Head<S extends string, B, Q> {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: S
  auth: Auth
  permission: Permission | null
  /** Audit base: the decision is written under it, outcomes as `<action>.succeeded` and `<action>.failed`. */
  action: string
  /** Outcome names where the catalogue has others: of success, or of success and failure. */
  success?: string | readonly [succeeded: string, failed: string]
  target: (params: PathParams<S>, body: unknown) => Target
  /** The target is a node, and one of its rooms is not enough (docs/contract/access.md: Whole nodes). */
  whole?: true
  body?: z.ZodType<B>
  /** Largest body, bytes; default `STRANGER_LIMIT` with `auth: 'none'`, otherwise 1 MiB. */
  bodyLimit?: number
  /** What answers a body that is no good, in place of a 400 that says why. */
  badBody?: () => Fail
  /** What stands in its address is a secret: the audit and the log name the record's own path instead. */
  secretPath?: true
  /** What a person in a browser is shown in place of the JSON of a refusal; `accept`: the header, lower case. */
  refusalPage?: (refusal: Fail, accept: string) => Response | undefined
  /** Requests of one caller per minute, counted before the body is read; 429 beyond it. */
  perMinute?: number
  /** And of all callers together. */
  perMinuteOverall?: number
  /** The handler reads the body as a stream: a file of any length. All other bodies are bounded and read whole. */
  upload?: true
  query?: z.ZodType<Q>
  status?: 200 | 201 | 202 | 204 | 302
  /** Statuses of answers other than `status` that are no errors in JSON, in words. */
  otherwise?: { readonly [status in 201 | 202 | 204 | 206 | 304 | 307 | 410 | 502]?: string }
  /** A login: stays open to addresses whose strangers were refused too often. */
  signsIn?: true
  /**
   * Which rows a success writes: both (default), only the `outcome`, only the `decision`, only a `change`;
   * `telemetry` like both, but the commit need not be synced to disk before the answer; `none` for probes.
   */
  audit?: 'outcome' | 'decision' | 'change' | 'telemetry' | 'none'
}

/** A commit that need not be on disk before the answer: its content will be sent again. */
export const UNSYNCED = false

/**
 * Runs a synchronous write and its `*.succeeded` row in one transaction, at one instant; settles after the commit, which
 * is synced to disk unless `durable` is `UNSYNCED`.
 */
export type Commit = <D extends Done<unknown>>(write: (now: string) => D, durable?: boolean) => Promise<D>

interface TxRoute<S extends string, A extends Auth, B, Q, R> extends Head<S, B, Q> {
  kind: 'tx'
  auth: A
  run: (input: Input<S, A, B, Q>) => R extends Promise<unknown> ? never : Done<R>
}
interface FlowRoute<S extends string, A extends Auth, B, Q, R> extends Head<S, B, Q> {
  kind: 'flow'
  auth: A
  run: (input: Input<S, A, B, Q>, commit: Commit) => Promise<Done<R>>
}
interface StreamRoute<S extends string, A extends Auth, B, Q> extends Head<S, B, Q> {
  kind: 'stream'
  auth: A
  run: (input: Input<S, A, B, Q>) => Promise<Streamed>
}

// biome-ignore lint/suspicious/noExplicitAny: the list of routes forgets each record's own types; the makers below keep them
type Any = any
export type AnyRoute =
  | TxRoute<Any, Any, Any, Any, Any>
  | FlowRoute<Any, Any, Any, Any, Any>
  | StreamRoute<Any, Any, Any, Any>

type Unkinded<T> = Omit<T, 'kind'>

/** A synchronous handler inside ONE transaction, together with its audit rows. */
export const route = <S extends string, A extends Auth, B = undefined, Q = undefined, R = unknown>(
  record: Unkinded<TxRoute<S, A, B, Q, R>>,
): AnyRoute => ({ kind: 'tx', ...record })

/** I/O first, then `commit(...)` for the writes. */
export const flow = <S extends string, A extends Auth, B = undefined, Q = undefined, R = unknown>(
  record: Unkinded<FlowRoute<S, A, B, Q, R>>,
): AnyRoute => ({ kind: 'flow', ...record })

/** The handler owns the Response: server-sent events, audio, files. */
export const stream = <S extends string, A extends Auth, B = undefined, Q = undefined>(
  record: Unkinded<StreamRoute<S, A, B, Q>>,
): AnyRoute => ({ kind: 'stream', ...record })
