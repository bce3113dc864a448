// Who is heard how often: refusals leave so many rows a minute, and one person so many requests.
import { type Clock, isoPlus } from '../../kernel/clock.ts'
import { Fail } from '../../kernel/fail.ts'
import type { AuditEntry } from './audit.ts'
import { type Budget, budget, type Counted, type Verdict } from './budget.ts'
import { type Actor, actorOf, type Principal } from './principal.ts'
import type { AnyRoute, Incoming } from './route.ts'

/** A caller, as far as anybody knows. */
interface Caller {
  known: { principal: Principal } | undefined
  request: Pick<Incoming, 'address' | 'network'>
}

interface About {
  actor: Actor
  address: string
}

interface Limits {
  /** Requests of one account in a minute. */
  requests: number
  /** Rows for refusals of one network's strangers in a minute. */
  strangers: number
}

/** Who is known leaves traces under a name, and may be shut out: more rows, so that an honest agent's trouble is seen. */
const KNOWN_FACTOR = 10
/** Networks of strangers that can spend their whole budget at once. */
const NETWORKS = 20

/** Nobody, or somebody who did not say who he is. */
export const isStranger = ({ known }: Caller): boolean => !known || known.principal.kind === 'anonymous'

/** Who is counted where something is bounded for each caller: an account, a node, or a stranger's network. */
export function callerOf({ known, request }: Caller): string {
  if (known?.principal.kind === 'user') return `user ${known.principal.id}`
  return known?.principal.kind === 'node' ? `node ${known.principal.nodeId}` : request.network
}

export type CallerLimits = ReturnType<typeof callerLimits>

/** The budgets of one controller. Requests that came over no socket are nobody's and not counted. */
export function callerLimits(clock: Clock, limits: Limits) {
  const { strangers: limit } = limits
  const strangers = budget<About>({ limit, overall: limit * NETWORKS })
  const known = budget<About>({ limit: limit * KNOWN_FACTOR })
  const requests = budget<About>({ limit: limits.requests })
  // As many as there are records that say so.
  const routeBudgets = new Map<string, Budget<About>>()
  const routeBudget = (action: string, perMinute: number): Budget<About> => {
    const found = routeBudgets.get(action) ?? budget<About>({ limit: perMinute })
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
    /** Whether the caller has had all the refusals of this minute. */
    isExhausted: (caller: Caller): boolean =>
      caller.request.address !== '' && budgetOf(caller).retryAfter(callerOf(caller), clock.monotonic()) !== undefined,
    /** What a caller who was refused too often is answered. */
    limited: (caller: Caller): Fail => tooMany(budgetOf(caller).retryAfter(callerOf(caller), clock.monotonic())),
    /** Counts a request. @throws Fail 429 beyond a person's or the record's limit; nothing is written of that but a count. */
    request(caller: Caller, { action, perMinute }: Pick<AnyRoute, 'action' | 'perMinute'>): void {
      const counting = perMinute ? routeBudget(action, perMinute) : requests
      if ((!perMinute && caller.known?.principal.kind !== 'user') || take(counting, caller) === 'row') return
      throw tooMany(counting.retryAfter(callerOf(caller), clock.monotonic()))
    },
    /** The minute that runs is over: nobody is heard any more. */
    end(): void {
      for (const one of [strangers, known, requests, ...routeBudgets.values()]) one.end()
    },
    /** One entry for each caller that was counted in a minute that is over; each is given once. */
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
