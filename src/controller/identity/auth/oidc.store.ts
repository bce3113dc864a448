import { Fail } from '../../../kernel/fail.ts'
import type { Ids } from '../../../kernel/ids.ts'
import type { Db, Params } from '../../store/db.ts'
import type { Identity } from './oidc.rules.ts'

interface Row {
  disabledAt: string | null
  email: string
  externalId: string | null
  id: string
  provider: string
}

const COLUMNS = `id, email, provider, external_id AS externalId, disabled_at AS disabledAt`

/**
 * Accounts of people who sign in through the identity provider. Call every write inside a transaction.
 * `localAdmin`: e-mail of the env-configured admin, who never signs in this way.
 */
export function oidcStore(db: Db, ids: Ids, localAdmin: string) {
  const linked = db.stmt<{ externalId: string }, Row>(`SELECT ${COLUMNS} FROM users WHERE external_id = @externalId`)
  const byEmail = db.stmt<{ email: string }, Row>(`SELECT ${COLUMNS} FROM users WHERE email = @email`)
  const insert = db.stmt<Params>(
    `INSERT INTO users (id, email, name, provider, external_id, created_at, updated_at)
     VALUES (@id, @email, @name, 'oidc', @externalId, @now, @now)`,
  )
  const update = db.stmt<Params>(
    `UPDATE users SET email = @email, name = @name, external_id = @externalId, updated_at = @now WHERE id = @id`,
  )
  const clearRoles = db.stmt<Params>(`DELETE FROM user_roles WHERE user_id = @id`)
  const addRole = db.stmt<Params>(`INSERT INTO user_roles (user_id, role) VALUES (@id, @role)`)
  const clearGroups = db.stmt<Params>(`DELETE FROM group_members WHERE user_id = @id`)
  const makeGroup = db.stmt<Params>(
    `INSERT OR IGNORE INTO access_groups (id, name, created_at, updated_at) VALUES (@group, @name, @now, @now)`,
  )
  const join = db.stmt<Params>(`INSERT OR IGNORE INTO group_members (group_id, user_id) VALUES (@group, @id)`)

  const accountOf = ({ email, externalId }: Identity): Row | undefined => {
    const row = linked.get({ externalId })
    const owner = byEmail.get({ email })
    if (email === localAdmin || row?.email === localAdmin) throw refused(403, 'oidc_email_conflict')
    if (row && (!owner || owner.id === row.id)) return row
    if (!owner) return undefined
    // An account created before the provider's id was known is adopted; any other owner of the address is somebody else.
    if (!row && owner.provider === 'oidc' && owner.externalId === null) return owner
    throw refused(403, 'oidc_email_conflict')
  }

  return {
    /**
     * The account of an identity: found by its external id, else adopted by its address, else created. Roles and groups are
     * replaced by the token's claims; without such a claim they stay.
     * @throws Fail 403 `oidc_email_conflict` or `user_disabled`.
     */
    sync(identity: Identity, now: string): string {
      const { email, externalId, groups, name, roles } = identity
      const row = accountOf(identity)
      if (row?.disabledAt) throw refused(403, 'user_disabled')
      const id = row?.id ?? ids.uuid()
      if (row) update.run({ id, email, name, externalId, now })
      else insert.run({ id, email, name, externalId, now })
      if (roles) {
        clearRoles.run({ id })
        for (const role of roles) addRole.run({ id, role })
      }
      if (groups && !identity.groupsOverage) {
        clearGroups.run({ id })
        for (const group of groups) {
          makeGroup.run({ group: group.id, name: group.name, now })
          join.run({ group: group.id, id })
        }
      }
      return id
    },
  }
}
export type OidcStore = ReturnType<typeof oidcStore>

const refused = (status: 403, reason: string): Fail =>
  new Fail(status, reason, 'OIDC callback failed', { body: { reason } })
