import { Fail, found } from '../../../kernel/fail.ts'
import type { AccessList, Group, GroupDetail, GroupInput, GroupPatch } from '../../../wire/access.ts'
import type { Db, Params } from '../../store/db.ts'
import { holding, Lister, present } from '../../store/filter.ts'
import { freeId, slug } from './access.rules.ts'

type Row = { [K in keyof Required<Group>]: Group[K] | null }
type Member = GroupDetail['members'][number]

const COLUMNS = `g.id, g.name, g.description, g.created_at AS createdAt, g.updated_at AS updatedAt,
  (SELECT count(*) FROM group_members WHERE group_id = g.id) AS memberCount`

/** Groups of people. Call every write inside a transaction. */
export function groupStore(db: Db) {
  const list = new Lister<Row>(db, { columns: COLUMNS, from: 'access_groups g' })
  const texts = db.stmt<object, { id: string; text: string }>(`SELECT id, name AS text FROM access_groups`)
  const byId = db.stmt<{ id: string }, Row>(`SELECT ${COLUMNS} FROM access_groups g WHERE g.id = @id`)
  const members = db.stmt<{ id: string }, Member>(
    `SELECT u.email, u.id, u.name FROM group_members m JOIN users u ON u.id = m.user_id WHERE m.group_id = @id ORDER BY u.email`,
  )
  const insert = db.stmt<Params>(
    `INSERT INTO access_groups (id, name, description, created_at, updated_at) VALUES (@id, @name, @description, @now, @now)`,
  )
  const update = db.stmt<Params>(
    `UPDATE access_groups SET name = @name, description = @description, updated_at = @now WHERE id = @id`,
  )
  const membership = memberRows(db)
  const removal = groupRemoval(db)

  const get = (id: string): GroupDetail => ({
    ...(present(found(byId.get({ id }), 'Group')) as Group),
    members: members.all({ id }),
  })

  return {
    get,
    page({ limit, offset, search }: AccessList): { groups: Group[]; total: number } {
      const wanted = search === undefined ? [] : [holding('g.id', texts.all({}), search)]
      const { rows, total } = list.page(wanted, 'g.name, g.id', limit, offset)
      return { groups: rows.map((row) => present(row) as Group), total }
    },
    /** The id is a readable form of the name; `spare` is used when the name has no readable character. */
    create({ name, description, memberIds }: GroupInput, spare: string, now: string): GroupDetail {
      const id = freeId(slug(name) || `group-${spare}`, (taken) => byId.get({ id: taken }) !== undefined)
      insert.run({ id, name, description: description || null, now })
      membership.replace(id, memberIds)
      return get(id)
    },
    patch(id: string, patch: GroupPatch, now: string): { before: GroupDetail; after: GroupDetail } {
      const before = get(id)
      const description = patch.description === undefined ? before.description : patch.description
      update.run({ id, name: patch.name ?? before.name, description: description || null, now })
      return { before, after: get(id) }
    },
    /** @throws Fail 400 `unknown_member` naming the unknown ids. */
    setMembers(id: string, memberIds: string[], now: string): { before: GroupDetail; after: GroupDetail } {
      const before = get(id)
      membership.replace(id, memberIds)
      update.run({ id, name: before.name, description: before.description ?? null, now })
      return { before, after: get(id) }
    },
    /** Also deletes the group's memberships, policies and roster rows. */
    remove(id: string): { before: GroupDetail; schedulesUpdated: number } {
      const before = get(id)
      return { before, schedulesUpdated: removal(id) }
    },
  }
}
export type GroupStore = ReturnType<typeof groupStore>

function memberRows(db: Db) {
  const clear = db.stmt<{ id: string }>(`DELETE FROM group_members WHERE group_id = @id`)
  const add = db.stmt<Params>(`INSERT OR IGNORE INTO group_members (group_id, user_id) VALUES (@id, @user)`)
  const unknown = db.stmt<{ ids: string }, { id: string }>(
    `SELECT value AS id FROM json_each(@ids) WHERE value NOT IN (SELECT id FROM users)`,
  )
  return {
    replace(id: string, memberIds: string[]): void {
      const strangers = [...new Set(unknown.all({ ids: JSON.stringify(memberIds) }).map((row) => row.id))]
      if (strangers.length > 0)
        throw new Fail(400, 'unknown_member', 'Unknown member ids', { body: { unknownMemberIds: strangers } })
      clear.run({ id })
      for (const user of memberIds) add.run({ id, user })
    },
  }
}

/** Deletes the references to a group. @returns how many schedules had assigned it */
function groupRemoval(db: Db): (id: string) => number {
  const assigned = db.stmt<{ id: string }, { n: number }>(
    `SELECT count(*) AS n FROM schedule_groups WHERE group_id = @id`,
  )
  const statements = [
    `DELETE FROM room_roster WHERE subject_type = 'group' AND subject_id = @id`,
    `DELETE FROM access_policies WHERE subject_type = 'group' AND subject_id = @id`,
    `DELETE FROM access_groups WHERE id = @id`,
  ].map((sql) => db.stmt<{ id: string }>(sql))
  return (id) => {
    const schedules = assigned.get({ id })?.n ?? 0
    for (const statement of statements) statement.run({ id })
    return schedules
  }
}
