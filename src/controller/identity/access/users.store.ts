import { conflict, found } from '../../../kernel/fail.ts'
import type { AccessList, AccessUpdate, CurrentUser } from '../../../wire/access.ts'
import { permissionsOf, ROLES, type Role } from '../../../wire/permissions.ts'
import type { Db, Params } from '../../store/db.ts'
import { holding, Lister } from '../../store/filter.ts'
import { type Manager, manages, type Subject } from './access.rules.ts'

interface Row {
  disabledAt: string | null
  email: string
  grants: string
  groups: string
  id: string
  name: string
  provider: 'local' | 'oidc'
  roles: string
}

const COLUMNS = `u.id, u.email, u.name, u.provider, u.disabled_at AS disabledAt,
  (SELECT json_group_array(role) FROM user_roles WHERE user_id = u.id) AS roles,
  (SELECT json_group_array(json_object('resourceId', resource_id, 'resourceType', resource_type))
     FROM (SELECT * FROM user_grants WHERE user_id = u.id ORDER BY resource_type, resource_id)) AS grants,
  (SELECT json_group_array(json_object('id', id, 'name', name)) FROM (SELECT g.id, g.name
     FROM group_members m JOIN access_groups g ON g.id = m.group_id WHERE m.user_id = u.id ORDER BY g.name, g.id)) AS groups`

interface NewUser extends AccessUpdate {
  email: string
  name: string
  passwordHash: string
}

/** People as the API shows them. Call every write inside a transaction. */
export function userStore(db: Db) {
  const list = new Lister<Row>(db, { columns: COLUMNS, from: 'users u' })
  const texts = db.stmt<object, { id: string; text: string }>(`SELECT id, name || char(10) || email AS text FROM users`)
  const byId = db.stmt<{ id: string }, Row>(`SELECT ${COLUMNS} FROM users u WHERE u.id = @id`)
  const idOf = db.stmt<{ email: string }, { id: string }>(`SELECT id FROM users WHERE email = @email`)
  const insert = db.stmt<Params>(
    `INSERT INTO users (id, email, name, password_hash, created_at, updated_at) VALUES (@id, @email, @name, @hash, @now, @now)`,
  )
  const setPassword = db.stmt<Params>(`UPDATE users SET password_hash = @hash, updated_at = @now WHERE id = @id`)
  const disable = db.stmt<Params>(
    `UPDATE users SET disabled_at = coalesce(disabled_at, @now), updated_at = @now WHERE id = @id`,
  )
  const enable = db.stmt<Params>(`UPDATE users SET disabled_at = NULL, updated_at = @now WHERE id = @id`)
  const remove = db.stmt<{ id: string }>(`DELETE FROM users WHERE id = @id`)
  const leaveRosters = db.stmt<{ id: string }>(
    `DELETE FROM room_roster WHERE subject_type = 'user' AND subject_id = @id`,
  )
  const endPolicies = db.stmt<{ email: string; id: string }, { id: string }>(
    `DELETE FROM access_policies WHERE effect = 'allow' AND subject_type = 'user' AND subject_id IN (@id, @email) RETURNING id`,
  )
  const revoke = db.stmt<Params>(`UPDATE sessions SET revoked_at = @now WHERE user_id = @id AND revoked_at IS NULL`)
  const endLinks = db.stmt<{ id: string }>(`DELETE FROM sign_in_links WHERE user_id = @id`)
  const managers = db.stmt<object, { id: string; email: string; roles: string; groupIds: string }>(
    `SELECT u.id, u.email, (SELECT json_group_array(role) FROM user_roles WHERE user_id = u.id) AS roles,
       (SELECT json_group_array(group_id) FROM group_members WHERE user_id = u.id) AS groupIds
     FROM users u WHERE u.disabled_at IS NULL`,
  )
  const access = accessRows(db)

  const get = (id: string): CurrentUser => userOf(found(byId.get({ id }), 'User'))
  /** Ends every session, and the link that would open another one. */
  const shutOut = (id: string, now: string): void => {
    revoke.run({ id, now })
    endLinks.run({ id })
  }
  const idByEmail = (email: string): string | undefined => idOf.get({ email })?.id

  return {
    get,
    idByEmail,
    page({ limit, offset, search }: AccessList): { users: CurrentUser[]; total: number } {
      const wanted = search === undefined ? [] : [holding('u.id', texts.all({}), search)]
      const { rows, total } = list.page(wanted, 'u.email', limit, offset)
      return { users: rows.map(userOf), total }
    },
    /** @throws Fail 409 `user_exists` for a used e-mail. */
    create(id: string, user: NewUser, now: string): CurrentUser {
      if (idByEmail(user.email)) throw conflict('user_exists', 'Local user already exists')
      insert.run({ id, email: user.email, name: user.name, hash: user.passwordHash, now })
      access.replace(id, user, now)
      return get(id)
    },
    /** Replaces roles, groups and grants as a whole; creates unknown groups. */
    replaceAccess(id: string, wanted: AccessUpdate, now: string): CurrentUser {
      access.replace(id, wanted, now)
      return get(id)
    },
    addRole: (id: string, role: Role): void => access.addRole(id, role),
    /** Also ends every session opened with the old password, and a link made before. */
    setPassword(id: string, hash: string, now: string): CurrentUser {
      setPassword.run({ id, hash, now })
      shutOut(id, now)
      return get(id)
    },
    setDisabled(id: string, disabled: boolean, now: string): CurrentUser {
      if (disabled) shutOut(id, now)
      const change = disabled ? disable : enable
      change.run({ id, now })
      return get(id)
    },
    /** Also deletes sessions, roles, grants, memberships and allow policies. @returns the ids of those policies */
    remove({ email, id }: Subject): string[] {
      remove.run({ id })
      leaveRosters.run({ id })
      return endPolicies.all({ email, id }).map((row) => row.id)
    },
    /** Enabled people who may manage access. */
    managers: (): Manager[] =>
      managers
        .all({})
        .filter((row) => manages(JSON.parse(row.roles)))
        .map(({ id, email, groupIds }) => ({ id, email, groupIds: JSON.parse(groupIds) })),
  }
}
export type UserStore = ReturnType<typeof userStore>

function accessRows(db: Db) {
  const clear = ['user_roles', 'user_grants', 'group_members'].map((table) =>
    db.stmt<{ id: string }>(`DELETE FROM ${table} WHERE user_id = @id`),
  )
  const addRole = db.stmt<Params>(`INSERT OR IGNORE INTO user_roles (user_id, role) VALUES (@id, @role)`)
  const addGrant = db.stmt<Params>(
    `INSERT OR IGNORE INTO user_grants (user_id, resource_type, resource_id) VALUES (@id, @type, @resource)`,
  )
  const makeGroup = db.stmt<Params>(
    `INSERT OR IGNORE INTO access_groups (id, name, created_at, updated_at) VALUES (@group, @group, @now, @now)`,
  )
  const join = db.stmt<Params>(`INSERT OR IGNORE INTO group_members (group_id, user_id) VALUES (@group, @id)`)
  return {
    addRole: (id: string, role: Role): void => void addRole.run({ id, role }),
    replace(id: string, { groupIds, resourceGrants, roles }: AccessUpdate, now: string): void {
      for (const statement of clear) statement.run({ id })
      for (const role of roles) addRole.run({ id, role })
      for (const grant of resourceGrants) addGrant.run({ id, type: grant.resourceType, resource: grant.resourceId })
      for (const group of groupIds) {
        makeGroup.run({ group, now })
        join.run({ group, id })
      }
    },
  }
}

function userOf({ disabledAt, grants, groups, roles: held, ...row }: Row): CurrentUser {
  const names = JSON.parse(held) as string[]
  const roles = ROLES.filter((role) => names.includes(role))
  return {
    ...(disabledAt ? { disabledAt } : {}),
    ...row,
    groups: JSON.parse(groups),
    permissions: permissionsOf(roles),
    resourceGrants: JSON.parse(grants),
    roles,
  }
}
