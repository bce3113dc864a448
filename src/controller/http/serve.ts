import { type Context, Hono } from 'hono'
import { cors } from 'hono/cors'
import { iso } from '../../kernel/clock.ts'
import { Fail } from '../../kernel/fail.ts'
import { errorFields } from '../../kernel/log.ts'
import { API_PREFIX, HEADERS } from '../../wire/headers.ts'
import { JSON_LIMIT, STRANGER_LIMIT } from './bodies.ts'
import { parseBody, parsed } from './body.ts'
import { callerOf, isStranger } from './callerlimits.ts'
import { bearerOf, credentialOf } from './credentials.ts'
import type { Reader } from './exports.ts'
import { ANSWER, withDefaults } from './headers.ts'
import { headerOf, incoming, whenUndelivered } from './incoming.ts'
import { isStreamed } from './page.ts'
import type { Call, Pipeline } from './pipeline.ts'
import { type RequestAudit, requestAudit, shownPath } from './requestaudit.ts'
import type { AnyRoute, Auth, Commit, Done, Input, Streamed } from './route.ts'

/** Mounts the records, and `pages` behind them. Static paths win over `:id` paths whatever their order in the list. */
export function serve(
  pipeline: Pipeline,
  routes: readonly AnyRoute[],
  pages: (request: Request) => Response | undefined = () => undefined,
): Hono {
  const app = new Hono()
  const crossOrigin = cors({ ...CORS, origin: (origin) => (origin === pipeline.webOrigin ? origin : null) })
  // Only for requests with an Origin: the middleware turns an answer into a stream that is read back.
  app.use(`${API_PREFIX}/*`, (c, next) => (headerOf(c, 'origin') === undefined ? next() : crossOrigin(c, next)))
  for (const [key, candidates] of byPath(routes)) {
    const [method = '', path = ''] = key.split(' ')
    app.on(method, mounted(path), (c) => handle(pipeline, candidates, c))
  }
  app.notFound((c) => pages(c.req.raw) ?? json(404, { error: 'Not found' }))
  app.onError((e, c) => {
    pipeline.log.error('internal error: a request could not be answered. Please report this', {
      path: c.req.path,
      ...errorFields(e),
    })
    return json(500, { error: 'Internal server error' })
  })
  return app
}

const CORS = {
  allowHeaders: ['Content-Type', 'Authorization'],
  allowMethods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
  credentials: true,
  exposeHeaders: [
    ...['Accept-Ranges', 'Content-Disposition', 'Content-Range', 'ETag', 'Retry-After'],
    ...Object.values(HEADERS).filter((name) => name.startsWith('x-svc-')),
  ],
}

// `/metrics` and the probes live at the root (docs/contract/api.md: Transport), and so do the URLs that people type and the
// links of messages.
const AT_ROOT = /^\/(a\/.+|docs|docs\.css|healthz|install\.sh|metrics|readyz)$/
export const mounted = (path: string): string => (AT_ROOT.test(path) ? path : API_PREFIX + path)

function byPath(routes: readonly AnyRoute[]): [string, AnyRoute[]][] {
  const map = new Map<string, AnyRoute[]>()
  for (const r of routes) {
    const key = `${r.method} ${r.path}`
    map.set(key, [...(map.get(key) ?? []), r])
  }
  const dynamic = (key: string) => key.split('/').filter((part) => part.startsWith(':')).length
  return [...map].sort(([a], [b]) => dynamic(a) - dynamic(b))
}

// Two records on one path differ by `auth`: the kind of the token picks the record.
function routeFor(pipeline: Pipeline, candidates: AnyRoute[], bearer: string): AnyRoute {
  const auth = authOf(pipeline, candidates, bearer)
  return candidates.find((r) => r.auth === auth) ?? (candidates[0] as AnyRoute)
}

function authOf(pipeline: Pipeline, candidates: AnyRoute[], bearer: string): Auth {
  if (candidates.some((r) => r.auth === 'scraper') && pipeline.principals.isScraper(bearer)) return 'scraper'
  if (bearer.startsWith('svc_bs_')) return 'bootstrap'
  return bearer.startsWith('svc_node_') ? 'node' : 'user'
}

/** The only way from a request to a handler: authenticate, authorize, ALWAYS audit, then run it. */
async function handle(pipeline: Pipeline, candidates: AnyRoute[], c: Context): Promise<Response> {
  const header = bearerOf(c)
  const r = routeFor(pipeline, candidates, header)
  const bodyReleased = Promise.withResolvers<void>()
  const { bearer, byCookie, fault } = credentialOf(pipeline.cookie, r, c, header)
  const call: Call = {
    bearer,
    body: () => undefined,
    fault,
    identifiedAt: 0,
    known: undefined,
    now: iso(pipeline.clock.now()),
    params: c.req.param() as Record<string, string>,
    path: c.req.path,
    r,
    request: incoming(c, {
      overHttps: pipeline.cookie.isSecure(c),
      read: (source, maxBytes) =>
        bodiesFor(pipeline, call).read(source, callerOf(call), maxBytes, bodyReleased.promise),
      sameOrigin: () => pipeline.cookie.isSameOrigin(c),
      trustedProxies: pipeline.trustedProxies,
      upload: r.upload === true,
    }),
    releaseBody: bodyReleased.resolve,
  }
  const audit = requestAudit(pipeline, call)
  // A probe must answer even when the database fails: no lookup, no audit.
  if (r.kind === 'stream' && r.audit === 'none') return withDefaults((await r.run(probeInput(call))).response)
  try {
    call.identifiedAt = pipeline.clock.monotonic()
    call.known = await identify(pipeline, call, audit, candidates.some(isGuessable))
    checkLimits(pipeline, call, audit)
    await readBody(call)
    const done = await dispatch(pipeline, call, audit, r.query ? c.req.query() : {})
    return done instanceof Response ? done : answer(pipeline, c, r, done)
  } catch (e) {
    if (call.known?.principal.kind === 'scraper' && e instanceof Fail && e.status === 503) return pipeline.outage()
    // A server error stays one, whoever gets it.
    const refusal = refuse(pipeline, c, r, e instanceof Fail && e.status < 500 ? (audit.limited() ?? e) : e)
    // A cookie that is still good outlives a password mistyped beside it.
    const isSpent = byCookie && !fault && call.known?.principal.kind !== 'user'
    const jar = r.auth === 'display' ? pipeline.cookie.display : pipeline.cookie
    if (isSpent && refusal.status === 401) refusal.headers.append('set-cookie', jar.clear(call.request))
    return refusal
  } finally {
    call.releaseBody()
  }
}

/** The input of a probe, which anybody may call and which has neither body nor query. */
const probeInput = (call: Call): AnyInput => ({
  body: undefined,
  now: call.now,
  params: call.params as never,
  query: undefined,
  request: call.request,
  principal: { kind: 'anonymous' } as never,
})

/** @throws Fail 429 for an account that asks too often, and for a stranger who was refused too often this minute. */
function checkLimits(pipeline: Pipeline, call: Call, audit: RequestAudit): void {
  pipeline.callerLimits.request(call, call.r)
  if (isStranger(call) && !call.r.signsIn && audit.isExhausted()) throw pipeline.callerLimits.limited(call)
}

// Tokens that people chose; on a path that takes one, other refused tokens count as well.
const isGuessable = ({ auth }: AnyRoute): boolean => auth === 'bootstrap' || auth === 'runner' || auth === 'scraper'

/** Who is calling. @throws Fail 401 for a stranger, 429 for an address that keeps guessing tokens (ADR-0005). */
async function identify(
  pipeline: Pipeline,
  call: Call,
  audit: RequestAudit,
  guessable: boolean,
): Promise<Call['known']> {
  const { auth } = call.r
  return withFailureAudit(pipeline, call, audit, async () => {
    const { network } = call.request
    const wait = guessable ? pipeline.guesses.blocked(network, pipeline.clock.monotonic()) : undefined
    if (wait)
      throw new Fail(429, 'rate_limited', `Too many invalid tokens: try again in ${wait} s`, {
        headers: { 'retry-after': String(wait) },
      })
    // Without a session of its own a route does nothing that another site could gain from.
    if (call.fault && auth !== 'none') throw call.fault
    const known = pipeline.principals.authenticate(auth, call.bearer, call.params)
    if (!known && guessable) pipeline.guesses.count(network, pipeline.clock.monotonic())
    if (!known) throw audit.stranger()
    return known
  })
}

const bodiesFor = ({ bodies }: Pipeline, call: Call) => (isStranger(call) ? bodies.strangers : bodies.known)

// What people and their programs send holds hundreds of values; each costs the schemas microseconds of everybody's time.
const MAX_VALUES = 10_000

/** Largest JSON body of a record, bytes. */
export const limitOf = ({ auth, bodyLimit }: AnyRoute): number =>
  bodyLimit ?? (auth === 'none' ? STRANGER_LIMIT : JSON_LIMIT)

/**
 * A request whose body could not be read still passes the gate first. The body is parsed on first use, in the caller's
 * turn: parsing a megabyte takes milliseconds, and a refused caller's body is never parsed.
 */
async function readBody(call: Call): Promise<void> {
  if (!call.r.body) return
  try {
    const parts = await call.request.whole(limitOf(call.r))
    call.body = once(() => parseBody(parts, call.r.auth === 'user' ? MAX_VALUES : undefined))
  } catch (e) {
    if (!(e instanceof Fail)) throw e
    call.body = () => {
      throw e
    }
  }
}

/** Calls `make` at the first use and keeps its result. */
function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

/** @throws Fail 400, or the record's own for a body that is no good */
function bodyOf({ body, r }: Call): unknown {
  if (!r.body) return undefined
  try {
    return parsed(r.body, body(), 'invalid_request')
  } catch (e) {
    throw r.badBody && e instanceof Fail && e.status === 400 ? r.badBody() : e
  }
}

type AnyInput = Input<string, Auth, unknown, unknown>

async function dispatch(
  pipeline: Pipeline,
  call: Call,
  audit: RequestAudit,
  query: Record<string, string>,
): Promise<Done<unknown> | Response> {
  const { r } = call
  const durable = r.audit !== 'telemetry'
  const input = (): AnyInput => ({
    body: bodyOf(call),
    now: call.now,
    params: call.params as never,
    query: r.query ? parsed(r.query, query, 'invalid_filters') : undefined,
    request: call.request,
    principal: call.known?.principal as never,
  })
  const gated = async <T>(step: () => T): Promise<T> => {
    const turn = () => audit.gate() ?? { value: step() }
    const outcome = await pipeline.group
      .submit(turn, durable, audit.failedBehindGate, callerOf(call))
      .finally(() => call.releaseBody())
    if ('refusal' in outcome) throw outcome.refusal
    return outcome.value
  }
  if (r.kind === 'tx') return gated(() => audit.succeeded(r.run(input()) as Done<unknown>))
  const ready = await gated(input)
  return withFailureAudit<Done<unknown> | Response>(pipeline, call, audit, () =>
    r.kind === 'flow' ? runFlow(pipeline, call, audit, ready, r.run) : runStream(pipeline, call, audit, r.run(ready)),
  )
}

/** A write of this call, queued under its caller. */
const inTurn = <T>({ group }: Pipeline, call: Call, write: () => T, durable = true): Promise<T> =>
  group.submit(write, durable, undefined, callerOf(call))

type FlowRun = (input: AnyInput, commit: Commit) => Promise<Done<unknown>>

async function runFlow(
  pipeline: Pipeline,
  call: Call,
  audit: RequestAudit,
  input: AnyInput,
  run: FlowRun,
): Promise<Done<unknown>> {
  let committed: Done<unknown> | undefined
  const checkStillAllowed = (): void => {
    if (committed !== undefined) {
      // An earlier write may have moved or removed the target: only the credential is checked.
      if (!pipeline.principals.authenticate(call.r.auth, call.bearer, call.params)) throw audit.revoked()
      return
    }
    const refusal = audit.refusedNow()
    if (refusal) throw refusal
  }
  const commit: Commit = async (write, durable = true) => {
    const done = await inTurn(
      pipeline,
      call,
      () => {
        // I/O came before this write: credential and rights must still be good.
        checkStillAllowed()
        call.now = iso(pipeline.clock.now())
        return audit.succeeded(write(call.now))
      },
      durable,
    )
    committed = done
    return done
  }
  const done = await run(input, commit)
  // The handler may have waited since its last write: an ended credential must not get the result.
  if (done !== committed) checkStillAllowed()
  call.now = iso(pipeline.clock.now())
  if (committed === undefined) await inTurn(pipeline, call, () => audit.succeeded(done), call.r.audit !== 'telemetry')
  return done
}

// The handler may have waited: the response goes only to a caller who may have it now.
async function runStream(
  pipeline: Pipeline,
  call: Call,
  audit: RequestAudit,
  running: Promise<Streamed>,
): Promise<Response> {
  const { response: made, ...audited } = await running
  const response = isStreamed(made) ? await pipeline.exports.bounded(made, readerOf(call, audit)) : made
  try {
    withDefaults(response)
    await inTurn(pipeline, call, () => {
      const refusal = audit.refusedNow()
      if (refusal) throw refusal
      call.now = iso(pipeline.clock.now())
      return audit.succeeded({ data: null, ...audited })
    })
    return response
  } catch (e) {
    await response.body?.cancel()
    throw e
  }
}

const readerOf = (call: Call, audit: RequestAudit): Reader => ({
  caller: callerOf(call),
  gone: call.request.gone(),
  mayGoOn: () => audit.refusedNow() === undefined,
})

async function withFailureAudit<T>(
  pipeline: Pipeline,
  call: Call,
  audit: RequestAudit,
  run: () => Promise<T>,
): Promise<T> {
  try {
    return await run()
  } catch (e) {
    // The run may have taken long: the row has the time of the failure, not of the request.
    call.now = iso(pipeline.clock.now())
    if (!audit.isExhausted()) await inTurn(pipeline, call, () => audit.failed(e))
    throw e
  }
}

function answer(pipeline: Pipeline, c: Context, r: AnyRoute, done: Done<unknown>): Response {
  if (done.undelivered) whenUndelivered(c, () => takeBack(pipeline, r, done))
  const status = done.status ?? r.status ?? 200
  if (status === 204 || status === 302) return new Response(null, { status, headers: { ...ANSWER, ...done.headers } })
  return json(status, { data: done.data, ...done.beside }, done.headers)
}

// A string and plain headers go to the socket as they are; the context's own helpers would build a `Headers` first.
const json = (status: number, body: object, headers: Record<string, string> = {}): Response =>
  new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json', ...ANSWER, ...headers } })

// Nobody waits for this any more: a failure is only logged.
function takeBack(pipeline: Pipeline, r: AnyRoute, { undelivered = () => {} }: Done<unknown>): void {
  pipeline.group
    .submit(undelivered)
    .catch((e) =>
      pipeline.log.error('undelivered response could not be rolled back', { action: r.action, ...errorFields(e) }),
    )
}

/** The answer to a refusal or failure. Anything but a `Fail` is a bug: the caller learns nothing of it. */
function refuse(pipeline: Pipeline, c: Context, r: AnyRoute, e: unknown): Response {
  if (!(e instanceof Fail)) {
    pipeline.log.error('internal error: a request failed and was rolled back. Please report this', {
      action: r.action,
      path: shownPath({ path: c.req.path, r }),
      ...errorFields(e),
    })
    return json(500, { error: 'Internal server error' })
  }
  const page = r.refusalPage?.(e, (c.req.header('accept') ?? '').toLowerCase())
  if (page) return withDefaults(page)
  const words = DENIALS[e.status]
  const body = words && r.permission ? denied(words, r.permission, e) : { error: e.message, ...explained(e) }
  return json(e.status, { ...body, ...e.extra.body }, e.extra.headers)
}

// The permission is named wherever one is required (docs/contract/api.md: Errors).
const DENIALS: { [status: number]: string } = { 401: 'Unauthorized', 403: 'Forbidden' }

/** Adds message and reason when something other than the permission is wrong. */
const denied = (error: string, permission: string, { message, reason }: Fail): object => ({
  ...{ error, permission },
  ...(message === error ? {} : { message, reason }),
})

function explained(e: Fail): object {
  if (e.status === 401 || e.status === 404 || e.message === DENIALS[e.status]) return {}
  const reason = e.reason === 'invalid_request' || e.reason === 'invalid_filters' ? {} : { reason: e.reason }
  return e.status === 400 ? { ...reason, issues: e.extra.issues ?? [] } : reason
}
