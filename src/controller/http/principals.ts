import { hashToken, isTicket, sameSecret } from '../../crypto/token.ts'
import type { Clock } from '../../kernel/clock.ts'
import { iso } from '../../kernel/clock.ts'
import { Fail } from '../../kernel/fail.ts'
import { CAPABILITY_OF, type Permission, permissionsOf } from '../../wire/permissions.ts'
import type { Db } from '../store/db.ts'
import type { BootstrapPrincipal, NodePrincipal, Pair, Principal, RunnerPrincipal, UserPrincipal } from './principal.ts'
import type { Auth } from './route.ts'
import type { Scope } from './scope.ts'
import { screenStore } from './screens.store.ts'

interface SessionRow {
  email: string
  id: string
  lastSeenAt: string
  name: string
  sessionId: string
}

interface Rights {
  grants: Pair[]
  policies: (Pair & { effect: string })[]
  roles: string[]
  rooms: { capability: string; roomId: string }[]
}

type Unspent = Pick<BootstrapPrincipal, 'createdBy' | 'tokenPrefix'>

/** `stale`: the row's last-used time is worth a write; it is moved at most once a minute. */
interface Known<W> {
  stale: boolean
  principal: W
}

const TOUCH_AFTER_MS = 60_000

const SESSION = `
  SELECT u.id, u.email, u.name, s.id AS sessionId, s.last_seen_at AS lastSeenAt FROM sessions s JOIN users u ON u.id = s.user_id
  WHERE s.token_hash = @hash AND s.revoked_at IS NULL AND s.expires_at > @now AND u.disabled_at IS NULL`
const SESSION_BY_ID = SESSION.replace('s.token_hash = @hash', 's.id = @id')
const PERSON = `
  SELECT id, email, name, '' AS sessionId, '' AS lastSeenAt FROM users WHERE id = @id AND disabled_at IS NULL`
const TICKET = `
  SELECT u.id, u.email, u.name, s.id AS sessionId, s.last_seen_at AS lastSeenAt, t.permission FROM playback_tickets t
    JOIN sessions s ON s.id = t.session_id JOIN users u ON u.id = s.user_id
  WHERE t.token_hash = @hash AND t.recording_id = @recordingId AND t.expires_at > @now
    AND s.revoked_at IS NULL AND s.expires_at > @now AND u.disabled_at IS NULL`
const POLICIES = `
  SELECT effect, resource_type AS type, resource_id AS id FROM access_policies
  WHERE subject_type = 'everyone'
     OR (subject_type = 'user' AND subject_id IN (@id, @email))
     OR (subject_type = 'group' AND subject_id IN (SELECT group_id FROM group_members WHERE user_id = @id))`
const ROOMS = `
  SELECT room_id AS roomId, capability FROM room_roster
  WHERE (subject_type = 'user' AND subject_id = @id)
     OR (subject_type = 'group' AND subject_id IN (SELECT group_id FROM group_members WHERE user_id = @id))`

/** Roles, grants, groups, policies and roster are read at each request: a change takes effect at once. */
function rightsOf(db: Db): (user: { id: string; email: string }) => Rights {
  const roles = db.stmt<{ id: string }, { role: string }>(`SELECT role FROM user_roles WHERE user_id = @id`)
  const grants = db.stmt<{ id: string }, Pair>(
    `SELECT resource_type AS type, resource_id AS id FROM user_grants WHERE user_id = @id`,
  )
  const policies = db.stmt<{ id: string; email: string }, Rights['policies'][number]>(POLICIES)
  const rooms = db.stmt<{ id: string }, Rights['rooms'][number]>(ROOMS)
  // Four small queries: one statement with all of them as JSON costs several times as much.
  return ({ id, email }) => ({
    grants: grants.all({ id }),
    policies: policies.all({ id, email }),
    roles: roles.all({ id }).map(({ role }) => role),
    rooms: rooms.all({ id }),
  })
}

/** People as they are now, without a session of theirs. */
function peopleOf(db: Db, scope: Scope, rights: ReturnType<typeof rightsOf>): Pick<Principals, 'person' | 'vouches'> {
  const one = db.stmt<{ id: string }, SessionRow>(PERSON)
  const person = (id: string): UserPrincipal | undefined => {
    const row = one.get({ id })
    return row && userPrincipal(row, rights(row))
  }
  return {
    person,
    vouches(id, nodeId) {
      if (id === null) return true
      const maker = person(id)
      const target = { type: 'node', id: nodeId }
      return !!maker && scope.decide(maker, 'node:manage', target).allowed && scope.holdsNode(maker, nodeId)
    },
  }
}

export interface Principals {
  /** Who presents this bearer token for a route of this kind; undefined for an unknown token. */
  authenticate(auth: Auth, bearer: string, params: Record<string, string>): Known<Principal> | undefined
  /**
   * Records that the credential was used. A token minted for a deploy becomes the active one; the first use of a token from
   * a bootstrap confirms that the node's new SSH key is in place, so the older keys end (ADR-0006).
   */
  touch(principal: Principal, now: string): { activated: boolean; sshKeysEnded: number }
  /** Whether this is the static token of the monitoring system. */
  isScraper(bearer: string): boolean
  /** Somebody as they are now, without a session of theirs; undefined for nobody, and while the account is disabled. */
  person(id: string): UserPrincipal | undefined
  /**
   * Whether a bootstrap token or pairing code of the node still counts: who had it made could make one now. Null: the
   * controller itself did.
   */
  vouches(createdBy: string | null, nodeId: string): boolean
  /** The person with their current rights, for an endless answer; undefined when the session or the account has ended. */
  reload(principal: UserPrincipal): UserPrincipal | undefined
}

/** Tokens from the settings; an absent one admits nobody. */
interface StaticTokens {
  metrics?: string | undefined
  runner?: string | undefined
}

export function principals(db: Db, clock: Clock, scope: Scope, tokens: StaticTokens): Principals {
  const session = db.stmt<{ hash: string; now: string }, SessionRow>(SESSION)
  const sessionById = db.stmt<{ id: string; now: string }, SessionRow>(SESSION_BY_ID)
  const ticketed = db.stmt<{ hash: string; now: string; recordingId: string }, SessionRow & { permission: Permission }>(
    TICKET,
  )
  const rights = rightsOf(db)
  const people = peopleOf(db, scope, rights)
  const credential = db.stmt<
    { hash: string },
    { id: string; nodeId: string; state: string; lastUsedAt: string | null }
  >(
    `SELECT id, node_id AS nodeId, state, last_used_at AS lastUsedAt FROM node_credentials WHERE token_hash = @hash AND state <> 'revoked'`,
  )
  const bootstrap = db.stmt<{ hash: string; nodeId: string; now: string }, Unspent>(
    `SELECT created_by AS createdBy, token_prefix AS tokenPrefix FROM bootstrap_tokens
      WHERE token_hash = @hash AND node_id = @nodeId AND consumed_at IS NULL AND revoked_at IS NULL AND expires_at > @now`,
  )
  const screens = screenStore(db)
  const display = (token: string): Known<UserPrincipal> | undefined => {
    const known = screens.find(hashToken(token), iso(clock.now()))
    return known && { principal: known.principal, stale: stale(known.lastSeenAt) }
  }
  const touchSession = db.stmt<{ id: string; now: string }>(`UPDATE sessions SET last_seen_at = @now WHERE id = @id`)
  const usedByNode = credentialUse(db)
  const stale = (at: string | null) => at === null || Math.abs(clock.now() - Date.parse(at)) > TOUCH_AFTER_MS

  const user = (bearer: string): Known<UserPrincipal> | undefined => {
    const row = session.get({ hash: hashToken(bearer), now: iso(clock.now()) })
    return row && { principal: userPrincipal(row, rights(row)), stale: stale(row.lastSeenAt) }
  }
  const ticketHolder = (bearer: string, recordingId: string): Known<UserPrincipal> | undefined => {
    const row = ticketed.get({ hash: hashToken(bearer), now: iso(clock.now()), recordingId })
    return (
      row && { principal: restrictTo(userPrincipal(row, rights(row)), row.permission), stale: stale(row.lastSeenAt) }
    )
  }
  const node = (bearer: string): Known<NodePrincipal> | undefined => {
    const row = credential.get({ hash: hashToken(bearer) })
    if (!row) return undefined
    const principal: NodePrincipal = { kind: 'node', credentialId: row.id, nodeId: row.nodeId }
    return { principal, stale: row.state === 'pending' || stale(row.lastUsedAt) }
  }
  const bootstrapper = (bearer: string, nodeId: string): Known<BootstrapPrincipal> | undefined => {
    const tokenHash = hashToken(bearer)
    const row = bootstrap.get({ hash: tokenHash, nodeId, now: iso(clock.now()) })
    if (!row || !people.vouches(row.createdBy, nodeId)) return undefined
    return { principal: { kind: 'bootstrap', nodeId, tokenHash, ...row }, stale: false }
  }
  const runner = (bearer: string): Known<RunnerPrincipal> | undefined => {
    if (!tokens.runner) throw new Fail(503, 'runner_token_unconfigured', 'Runner credential not configured')
    return sameSecret(bearer, tokens.runner) ? { principal: { kind: 'runner' }, stale: false } : undefined
  }

  const isScraper = (bearer: string): boolean => tokens.metrics !== undefined && sameSecret(bearer, tokens.metrics)

  return {
    isScraper,
    authenticate(auth, bearer, params) {
      if (auth === 'none')
        return { principal: (bearer && user(bearer)?.principal) || { kind: 'anonymous' }, stale: false }
      if (auth === 'runner') return runner(bearer)
      if (!bearer) return undefined
      // Without the database: the scraper's answer must report its outage.
      if (auth === 'scraper') return isScraper(bearer) ? { principal: { kind: 'scraper' }, stale: false } : undefined
      if (auth === 'display') return display(bearer)
      if (auth === 'user') return isTicket(bearer) ? ticketHolder(bearer, params.id ?? '') : user(bearer)
      if (auth === 'node') return node(bearer)
      return bootstrapper(bearer, params.id ?? '')
    },
    ...people,
    reload({ display: isScreen, sessionId }) {
      if (isScreen) return screens.reload(sessionId, iso(clock.now()))
      const row = sessionById.get({ id: sessionId, now: iso(clock.now()) })
      return row && userPrincipal(row, rights(row))
    },
    touch(principal, now) {
      if (principal.kind === 'user' && principal.display) screens.touch(principal, now)
      else if (principal.kind === 'user') touchSession.run({ id: principal.sessionId, now })
      if (principal.kind !== 'node') return { activated: false, sshKeysEnded: 0 }
      return usedByNode(principal, now)
    },
  }
}

/** Records the use of a node's credential, and what its first use brings about (ADR-0006). */
function credentialUse(db: Db) {
  const touchCredential = db.stmt<{ id: string; now: string }>(
    `UPDATE node_credentials SET last_used_at = @now WHERE id = @id`,
  )
  const retire = db.stmt<{ id: string; nodeId: string; now: string }>(
    `UPDATE node_credentials SET state = 'revoked', revoked_at = @now
      WHERE node_id = @nodeId AND state = 'active' AND EXISTS (SELECT 1 FROM node_credentials WHERE id = @id AND state = 'pending')`,
  )
  const activate = db.stmt<{ id: string }>(
    `UPDATE node_credentials SET state = 'active' WHERE id = @id AND state = 'pending'`,
  )

  const confirmKey = db.stmt<{ id: string; now: string }>(
    `UPDATE ssh_credentials SET confirmed_at = @now
      WHERE confirmed_by = @id AND confirmed_at IS NULL AND state <> 'revoked'`,
  )
  const endKeys = db.stmt<{ id: string; nodeId: string; now: string }>(
    `UPDATE ssh_credentials SET state = 'revoked', sealed_key = NULL, revoked_at = @now
      WHERE node_id = @nodeId AND state = 'previous'
        AND rowid < (SELECT rowid FROM ssh_credentials WHERE confirmed_by = @id)`,
  )
  return ({ credentialId: id, nodeId }: NodePrincipal, now: string) => {
    touchCredential.run({ id, now })
    retire.run({ id, nodeId, now })
    const sshKeysEnded = confirmKey.run({ id, now }) === 1 ? endKeys.run({ id, nodeId, now }) : 0
    return { activated: activate.run({ id }) === 1, sshKeysEnded }
  }
}

/** The person limited to one permission; a ticket never adds rights. */
function restrictTo(principal: UserPrincipal, permission: Permission): UserPrincipal {
  const capability = CAPABILITY_OF[permission]
  const rooms = [...principal.rooms].filter(([, held]) => capability !== undefined && held.has(capability))
  return {
    ...principal,
    permissions: new Set(principal.permissions.has(permission) ? [permission] : []),
    rooms: new Map(rooms.map(([id]) => [id, new Set([capability as string])])),
    ticketed: true,
  }
}

function userPrincipal(row: SessionRow, { grants, policies, roles, rooms: roster }: Rights): UserPrincipal {
  const rooms = new Map<string, Set<string>>()
  for (const { capability, roomId } of roster) rooms.set(roomId, (rooms.get(roomId) ?? new Set()).add(capability))
  return {
    kind: 'user',
    allow: [...grants, ...policies.filter((p) => p.effect === 'allow')],
    deny: policies.filter((p) => p.effect === 'deny'),
    email: row.email,
    id: row.id,
    name: row.name,
    permissions: new Set(permissionsOf(roles)),
    roles,
    rooms,
    sessionId: row.sessionId,
  }
}
