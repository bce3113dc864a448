import { iso } from '../../kernel/clock.ts'
import { Fail } from '../../kernel/fail.ts'
import { HEADERS } from '../../wire/headers.ts'
import type { AuditEntry } from './audit.ts'
import { isStranger } from './callerlimits.ts'
import { removesTarget } from './permissioncleanup.ts'
import type { Call, Pipeline } from './pipeline.ts'
import { actorOf, type Principal } from './principal.ts'
import type { AnyRoute, Done, Target } from './route.ts'

/** Rights that were read longer ago are read again before a decision, ms. */
const FRESH_MS = 50

/** The path of a request, as the audit and the log show it. */
export const shownPath = ({ path, r }: Pick<Call, 'path' | 'r'>): string => (r.secretPath ? r.path : path.slice(0, 400))

export type RequestAudit = ReturnType<typeof requestAudit>

/** Writes the audit rows of one request: the decision, then at most one outcome. Call all of it inside transactions. */
export function requestAudit(pipeline: Pipeline, call: Call) {
  const { r } = call
  const principal = () => call.known?.principal
  const isMachine = r.auth !== 'user' && r.auth !== 'none'
  // The body is parsed only for the few targets that are named in it.
  const target = (): Target => r.target(call.params as never, r.target.length > 1 ? bodyIfReadable() : undefined)
  const bodyIfReadable = (): unknown => {
    try {
      return call.body()
    } catch {
      return undefined // an unreadable body is reported after the gate
    }
  }
  const [success, failure] = outcomeNames(r)
  let limited: Fail | undefined
  let via: { capability: string; roomId: string } | undefined

  const entry = (action: string, outcome: AuditEntry['outcome'], more: Partial<AuditEntry> = {}): AuditEntry => {
    const { details, ...rest } = more
    return {
      action,
      outcome,
      actor: actorOf(principal()),
      context: contextOf(call),
      permission: r.permission,
      target: target(),
      ...rest,
      details: { method: call.request.method, path: shownPath(call), ...details },
    }
  }

  const decided = (outcome: 'allowed' | 'denied', reason?: string): void => {
    const user = principal()
    const details = {
      requiredPermission: r.permission,
      resourceScope: target(),
      roles: user?.kind === 'user' ? user.roles : [],
      ...(user?.kind === 'user' && user.ticketed ? { viaTicket: true } : {}),
      ...(via ? { grantedViaRoomCapability: true, roomCapability: via.capability } : {}),
    }
    pipeline.audit.write(entry(r.action, outcome, { reason, details }), call.now)
  }

  /** Writes the row of a refusal while this caller may have one; further refusals are only counted. */
  const writeWithinLimit = (write: () => void): void => {
    const verdict = pipeline.callerLimits.refusal(call)
    if (verdict === 'row') write()
    if (verdict === 'limit') limited = pipeline.callerLimits.limited(call)
  }

  /**
   * Reads the caller's rights again when the request took its time: what held when it began may have been taken since.
   * @returns the refusal of a credential that has ended
   */
  const refreshed = (): { refusal: Fail } | undefined => {
    if (!call.known || pipeline.clock.monotonic() - call.identifiedAt < FRESH_MS) return undefined
    call.now = iso(pipeline.clock.now())
    const known = pipeline.principals.authenticate(r.auth, call.bearer, call.params)
    if (known) {
      call.known = known
      return undefined
    }
    const refusal = revoked(r)
    writeRefusal(refusal)
    return { refusal }
  }

  const writeRefusal = (refusal: Fail): void =>
    writeWithinLimit(() => {
      if (isMachine) pipeline.audit.write(entry(failure, 'denied', { reason: refusal.reason }), call.now)
      else decided('denied', refusal.reason)
    })

  /** Writes the decision; returns the refusal, or nothing when the handler may run. */
  const gate = (): { refusal: Fail } | undefined => {
    const ended = refreshed()
    if (ended) return ended
    const known = call.known
    if (!known) return undefined
    if (known.stale) touch(known.principal)
    const refusal = refused(known.principal)
    if (refusal) {
      writeRefusal(refusal)
      return { refusal }
    }
    if (r.auth === 'user' && r.audit !== 'outcome') decided('allowed')
    return undefined
  }

  const refused = (person: Principal): Fail | undefined => {
    const node = nodeParam(r, call)
    if (person.kind === 'node' && node !== undefined && person.nodeId !== node)
      return new Fail(403, 'node_scope_denied', 'Node credential cannot access this node')
    if (person.kind !== 'user' || !r.permission) return undefined
    const verdict = pipeline.scope.decide(person, r.permission, target())
    if (!verdict.allowed) return new Fail(403, verdict.reason, 'Forbidden')
    via = verdict.via
    return r.whole && !pipeline.scope.holdsNode(person, target().id ?? '') ? outOfScope() : undefined
  }

  const touch = (person: Principal): void => {
    const { activated, sshKeysEnded } = pipeline.principals.touch(person, call.now)
    if (activated) pipeline.audit.write(entry('nodes.credentials.activated', 'succeeded'), call.now)
    if (sshKeysEnded === 0) return
    const details = { previousKeysEnded: sshKeysEnded }
    pipeline.audit.write(entry('nodes.ssh_credential.confirmed', 'succeeded', { details }), call.now)
  }

  const succeeded = <D extends Done<unknown>>(done: D): D => {
    if (r.audit === 'decision' || r.audit === 'none') return done
    const { actor, after, before, correlation, each, outcome = 'succeeded', target: made } = done
    const ended = removesTarget(r) ? pipeline.endPermissions(target()) : undefined
    const details = ended ? { ...done.details, ended } : done.details
    if (each) {
      for (const { action, ...fields } of each)
        pipeline.audit.write(entry(`${action}.succeeded`, 'succeeded', fields), call.now)
      return done
    }
    for (const { action, ...fields } of done.also ?? [])
      pipeline.audit.write(entry(action, 'succeeded', fields), call.now)
    const row = () =>
      entry(success, outcome, {
        ...{ after, before, correlation, details },
        ...(actor ? { actor } : {}),
        ...(made ? { target: made } : {}),
      })
    // Anybody can cause a stranger's success: its rows count against the same budget.
    if (isStranger(call) && !actor && pipeline.callerLimits.refusal(call) !== 'row') return done
    const changed = done.changed ?? (before !== undefined || after !== undefined)
    if (!isMachine || changed) pipeline.audit.write(row(), call.now)
    else if (r.audit !== 'change') pipeline.audit.writeThrottled(actorOf(principal()).id, success, row, call.now)
    return done
  }

  const failed = (e: unknown): void => writeWithinLimit(() => writeFailure(e))

  const writeFailure = (e: unknown): void => {
    const fail = e instanceof Fail ? e : undefined
    // As long as the caller is unknown, the decision itself is the refusal.
    if (fail && !principal() && r.auth === 'user') {
      decided('denied', fail.reason)
      return
    }
    const outcome = fail?.extra.outcome === 'denied' ? 'denied' : 'failed'
    const details = fail?.extra.details
    pipeline.audit.write(entry(failure, outcome, { details, reason: fail?.reason ?? 'internal_error' }), call.now)
    fail?.extra.also?.(call.now)
  }

  return {
    gate,
    succeeded,
    failed,
    /** The caller has been refused too often already: counted, without a transaction. */
    isExhausted(): boolean {
      if (!pipeline.callerLimits.isExhausted(call)) return false
      writeWithinLimit(() => {})
      return true
    },
    /** The answer in place of a refusal that could not be recorded. */
    limited: (): Fail | undefined => limited,
    /** The step behind the gate failed and was rolled back together with the gate's own rows: writes those again. */
    failedBehindGate(e: unknown): void {
      gate()
      failed(e)
    },
    /** The refusal of an unknown caller. */
    stranger: (): Fail =>
      new Fail(401, isMachine ? strangerReason(r, call.bearer) : 'unauthenticated', 'Unauthorized', {
        outcome: 'denied',
      }),
    /** The decision made again after a wait: the refusal when the caller may no longer do this. */
    refusedNow: (): Fail | undefined => {
      const known = pipeline.principals.authenticate(r.auth, call.bearer, call.params)
      if (!known) return revoked(r)
      const refusal = refused(known.principal)
      return refusal && new Fail(refusal.status, refusal.reason, refusal.message, { outcome: 'denied' })
    },
    revoked: (): Fail => revoked(r),
  }
}

const outOfScope = (): Fail => new Fail(403, 'missing_resource_scope', 'Forbidden')

// A bootstrap token that ended meanwhile was spent by another: it is refused by the name it has when it comes late.
function revoked(r: AnyRoute): Fail {
  const outcome = 'denied'
  return r.auth === 'bootstrap'
    ? new Fail(401, 'invalid_bootstrap_token', 'Unauthorized', { outcome })
    : new Fail(401, 'credential_revoked', 'Unauthorized', { outcome })
}

function outcomeNames(r: AnyRoute): readonly [string, string] {
  if (Array.isArray(r.success)) return r.success as unknown as [string, string]
  return [(r.success as string | undefined) ?? `${r.action}.succeeded`, `${r.action}.failed`]
}

// Only routes below /nodes name the node in their path; jobs and recordings are checked by their handlers.
const nodeParam = (r: AnyRoute, call: Call): string | undefined =>
  r.path.startsWith('/nodes/') ? call.params.id : undefined

function strangerReason(r: AnyRoute, bearer: string): string {
  return `${bearer ? 'invalid' : 'missing'}_${r.auth}_token`
}

function contextOf(call: Call): NonNullable<AuditEntry['context']> {
  const principal = call.known?.principal
  // A stranger's claimed session is not recorded: a session in the audit must be somebody's.
  const claimed = isStranger(call) ? undefined : call.request.header(HEADERS.sessionId)?.slice(0, 120)
  const sessionId = principal?.kind === 'user' ? principal.sessionId : claimed
  const userAgent = call.request.header('user-agent')
  return {
    ...(call.request.address ? { ipAddress: call.request.address } : {}),
    ...(sessionId ? { sessionId } : {}),
    ...(userAgent ? { userAgent } : {}),
  }
}
