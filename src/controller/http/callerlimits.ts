// How many audit rows a caller's refusals may leave per minute, and how many requests a person may send.
import { type Clock, isoPlus } from '../../kernel/clock.ts'
import { Fail } from '../../kernel/fail.ts'
import type { AuditEntry } from './audit.ts'
import { type Budget, budget, type Counted, type Verdict } from './budget.ts'
import { type Actor, actorOf, type Principal } from './principal.ts'
import type { AnyRoute, Incoming } from './route.ts'

/** A caller; `known` once authenticated. */
interface Caller {
  known: { principal: Principal } | undefined
  request: Pick<Incoming, 'address' | 'network'>
}

interface About {
  actor: Actor
  address: string
}

type Limited = Pick<AnyRoute, 'action' | 'perMinute' | 'perMinuteOverall'>

interface Limits {
  /** Requests of one account in a minute. */
  requests: number
  /** Rows for refusals of one network's strangers in a minute. */
  strangers: number
}

/** A known caller gets more rows: it can be named and locked out, and an honest agent's trouble must be visible. */
const KNOWN_FACTOR = 10
/** Networks of strangers that can spend their whole budget at once. */
const NETWORKS = 20

/** An unauthenticated caller. */
export const isStranger = ({ known }: Caller): boolean => !known || known.principal.kind === 'anonymous'

/** The key under which a caller is counted: an account, a screen on a wall, a node, or a stranger's network. */
export function callerOf({ known, request }: Caller): string {
  if (known?.principal.kind === 'user') {
    const { display, id, sessionId } = known.principal
    // One screen on a wall must not use up what the others of its link may ask.
    return display ? `screen ${sessionId}` : `user ${id}`
  }
  return known?.principal.kind === 'node' ? `node ${known.principal.nodeId}` : request.network
}

export type CallerLimits = ReturnType<typeof callerLimits>

/** The budgets of one controller. Requests without a socket (in tests) are not counted. */
export function callerLimits(clock: Clock, limits: Limits) {
  const { strangers: limit } = limits
  const strangers = budget<About>({ limit, overall: limit * NETWORKS })
  const known = budget<About>({ limit: limit * KNOWN_FACTOR })
  const requests = budget<About>({ limit: limits.requests })
  // One for each record with a limit of its own.
  const routeBudgets = new Map<string, Budget<About>>()
  const routeBudget = (action: string, limit: number, overall: number | undefined): Budget<About> => {
    const found = routeBudgets.get(action) ?? budget<About>({ limit, ...(overall ? { overall } : {}) })
    routeBudgets.set(action, found)
    return found
  }
  const about = (caller: Caller) => (): About => ({
    actor: actorOf(caller.known?.principal),
    address: caller.request.address,
  })
  const budgetOf = (caller: Caller): Budget<About> => (isStranger(caller) ? strangers : known)
  const take = (from: Budget<About>, caller: Caller): Verdict =>
    caller.request.address ? from.take(callerOf(caller), clock.monotonic(), about(caller)) : 'row'

  return {
    /** Whether a refusal of this caller may be written down; one that may not is counted. */
    refusal: (caller: Caller): Verdict => take(budgetOf(caller), caller),
    /** Whether the caller has used up this minute's refusals. */
    isExhausted: (caller: Caller): boolean =>
      caller.request.address !== '' && budgetOf(caller).retryAfter(callerOf(caller), clock.monotonic()) !== undefined,
    /** The answer to a caller who was refused too often. */
    limited: (caller: Caller): Fail => tooMany(budgetOf(caller).retryAfter(callerOf(caller), clock.monotonic())),
    /** Counts a request. @throws Fail 429 beyond a person's or the record's limit; the audit only gets the count. */
    request(caller: Caller, { action, perMinute, perMinuteOverall }: Limited): void {
      const counting = perMinute ? routeBudget(action, perMinute, perMinuteOverall) : requests
      if ((!perMinute && caller.known?.principal.kind !== 'user') || take(counting, caller) === 'row') return
      const now = clock.monotonic()
      throw tooMany(counting.retryAfter(callerOf(caller), now) ?? counting.allRetryAfter(now))
    },
    /** Ends the current minute early, when the controller stops: `counted` then returns everything. */
    end(): void {
      for (const one of [strangers, known, requests, ...routeBudgets.values()]) one.end()
    },
    /** One entry per caller counted in a minute that is over; each is returned once. */
    counted(now: string): AuditEntry[] {
      const at = clock.monotonic()
      return [
        ...[...strangers.drain(at), ...known.drain(at)].map((one) => countRow('auth.refusals.counted', one, now)),
        ...[requests, ...routeBudgets.values()]
          .flatMap((one) => one.drain(at))
          .map((one) => countRow('auth.requests.counted', one, now)),
      ]
    },
  }
}

const tooMany = (seconds = 1): Fail =>
  new Fail(429, 'rate_limited', 'Too many requests, try again later', { headers: { 'retry-after': String(seconds) } })

const countRow = (action: string, { about, count, sinceMs }: Counted<About>, now: string): AuditEntry => ({
  action,
  actor: about?.actor ?? actorOf(undefined),
  ...(about ? { context: { ipAddress: about.address } } : {}),
  details: { count, since: isoPlus(now, -sinceMs / 1000) },
  outcome: 'denied',
  permission: null,
  reason: 'rate_limited',
  target: { type: 'controller' },
})
