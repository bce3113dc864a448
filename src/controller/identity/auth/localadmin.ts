import { randomBytes } from 'node:crypto'
import { hashPassword, verifyPassword } from '../../../crypto/password.ts'
import { conflict } from '../../../kernel/fail.ts'
import type { Ids } from '../../../kernel/ids.ts'
import type { Log } from '../../../kernel/log.ts'
import type { Audit, AuditEntry } from '../../http/audit.ts'
import { systemActor } from '../../http/principal.ts'
import type { Db, Params } from '../../store/db.ts'
import { userSnapshot } from '../access/access.rules.ts'
import type { UserStore } from '../access/users.store.ts'
import type { LinkStore } from './links.store.ts'

export interface LocalAdmin {
  /** Lower case. */
  email: string
  name: string
  password: string | undefined
}

interface Parts {
  audit: Audit
  db: Db
  ids: Ids
  log: Log
  users: UserStore
}

/** The e-mail and scrypt text of the last password that came from the environment. */
interface Applied {
  email: string
  hash: string
}

const KEY = 'local_admin_password'
const GENERATED_BYTES = 18

/**
 * Creates the first admin (role owner) when it is missing; without a configured password one is generated and logged once.
 * A configured password is applied only when it differs from the one applied last: then the account is enabled and owner
 * again, and its sessions end. Otherwise changes made through the API stay.
 * @throws Fail 409 `local_admin_not_local` when the address belongs to an account of the identity provider.
 */
export async function seedLocalAdmin(parts: Parts, admin: LocalAdmin, now: string): Promise<void> {
  const state = stateRow(parts.db)
  const exists = parts.users.idByEmail(admin.email) !== undefined
  if (admin.password === undefined) {
    if (!exists) await generate(parts, admin, now)
    return
  }
  const applied = state.read()
  const known = applied?.email === admin.email && (await verifyPassword(admin.password, applied.hash))
  if (exists && known) return
  const hash = await hashPassword(admin.password)
  parts.db.tx(() => {
    apply(parts, admin, hash, now)
    state.write({ email: admin.email, hash }, now)
  })
}

async function generate(parts: Parts, admin: LocalAdmin, now: string): Promise<void> {
  const password = randomBytes(GENERATED_BYTES).toString('base64url')
  const hash = await hashPassword(password)
  parts.db.tx(() => apply(parts, admin, hash, now))
  // The only password that is ever logged: there is no other way to learn it (ADR-0006). `warn`, to pass log filters.
  parts.log.warn('first admin created; this password is shown only once', { email: admin.email, password })
}

function apply({ audit, ids, users }: Parts, { email, name }: LocalAdmin, passwordHash: string, now: string): void {
  const id = users.idByEmail(email)
  const entry = { actor: systemActor('local-admin'), outcome: 'succeeded', permission: 'auth:manage' } as const
  const writeAudit = (more: Pick<AuditEntry, 'action'> & Partial<AuditEntry>, target: string): void =>
    audit.write({ ...entry, ...more, target: { type: 'user', id: target, name: email } }, now)
  if (id === undefined) {
    const access = { roles: ['owner' as const], groupIds: [], resourceGrants: [] }
    const made = users.create(ids.uuid(), { email, name, passwordHash, ...access }, now)
    writeAudit({ action: 'auth.users.create.succeeded', after: userSnapshot(made) }, made.id)
    return
  }
  const account = users.get(id)
  // Otherwise whoever has the address at the provider would sign in as the owner here.
  if (account.provider !== 'local')
    throw conflict(
      'local_admin_not_local',
      `${email} signs in through the identity provider: set SVC_LOCAL_ADMIN_EMAIL to an address of its own.`,
    )
  const before = userSnapshot(account)
  users.addRole(id, 'owner')
  users.setDisabled(id, false, now)
  const after = userSnapshot(users.setPassword(id, passwordHash, now))
  writeAudit({ action: 'auth.users.password.reset.succeeded', before, after, details: { sessionsRevoked: true } }, id)
}

/** Token of a link for the first admin, who has not signed in yet; undefined afterwards, and when the account is disabled. */
export function firstLink(
  { audit, db, links, users }: Pick<Parts, 'audit' | 'db' | 'users'> & { links: LinkStore },
  email: string,
  now: string,
): string | undefined {
  const id = users.idByEmail(email)
  if (id === undefined || links.isUsed(id) || users.get(id).disabledAt) return undefined
  return db.tx(() => {
    const target = { type: 'user', id, name: email }
    const entry = { actor: systemActor('local-admin'), outcome: 'succeeded', permission: 'auth:manage' } as const
    audit.write({ ...entry, action: 'auth.sign_in_link.create.succeeded', target }, now)
    return links.make(id, now)
  })
}

function stateRow(db: Db) {
  const get = db.stmt<{ key: string }, { value: string }>(`SELECT value FROM controller_state WHERE key = @key`)
  const put = db.stmt<Params>(
    `INSERT INTO controller_state (key, value, updated_at) VALUES (@key, @value, @now)
     ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at`,
  )
  return {
    read: (): Applied | undefined => {
      const row = get.get({ key: KEY })
      return row && (JSON.parse(row.value) as Applied)
    },
    write: (applied: Applied, now: string): void => {
      put.run({ key: KEY, value: JSON.stringify(applied), now })
    },
  }
}
