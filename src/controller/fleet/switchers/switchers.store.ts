import { seal } from '../../../crypto/seal.ts'
import { conflict, type Fail, found, invalid } from '../../../kernel/fail.ts'
import type {
  MappedInput,
  MappedOutput,
  Switcher,
  SwitcherInput,
  SwitcherMappings,
  SwitcherMode,
  SwitcherModel,
  SwitcherPatch,
} from '../../../wire/switchers.ts'
import type { Visibility } from '../../http/visibility.ts'
import type { Db, Params } from '../../store/db.ts'
import { Lister, present } from '../../store/filter.ts'
import { checkMappings, PORTS } from './switchers.rules.ts'

interface Row {
  createdAt: string
  displayName: string
  enabled: number
  hasPassword: number
  host: string
  id: string
  mode: SwitcherMode
  model: SwitcherModel
  port: number
  updatedAt: string
  username: string | null
}

const COLUMNS = `x.id, x.display_name AS displayName, x.host, x.port, x.model, x.enabled, x.mode, x.username,
  x.sealed_password IS NOT NULL AS hasPassword, x.created_at AS createdAt, x.updated_at AS updatedAt`

/** The location of a password, to which its seal is bound. */
const placeOf = (id: string): string => `switchers/${id}/sealed_password`

/** Switchers as the API shows them; passwords go in and never come out. */
export function switcherStore(db: Db, key: () => Uint8Array) {
  const list = new Lister<Row>(db, { columns: COLUMNS, from: 'switchers x' })
  const byId = db.stmt<{ id: string }, Row>(`SELECT ${COLUMNS} FROM switchers x WHERE x.id = @id`)
  const insert = db.stmt<Params>(
    `INSERT INTO switchers (id, display_name, host, port, model, enabled, mode, username, sealed_password, created_at, updated_at)
     VALUES (@id, @displayName, @host, @port, @model, @enabled, @mode, @username, @sealed, @now, @now)`,
  )
  const update = db.stmt<Params>(
    `UPDATE switchers SET display_name = @displayName, host = @host, port = @port, enabled = @enabled, mode = @mode,
       username = @username, updated_at = @now WHERE id = @id`,
  )
  const setPassword = db.stmt<Params>(`UPDATE switchers SET sealed_password = @sealed WHERE id = @id`)
  const remove = db.stmt<{ id: string }>(`DELETE FROM switchers WHERE id = @id`)

  const get = (id: string): Switcher => shown(found(byId.get({ id }), 'Switcher'))
  const sealed = (id: string, password: string | undefined): string | null =>
    password ? seal(key(), placeOf(id), password) : null

  return {
    get,
    /** By name. */
    list: (visibility: Visibility): Switcher[] =>
      list.all(visibility.switchers(), 'x.display_name COLLATE NOCASE, x.id').map(shown),
    /** @throws Fail 409 `switcher_exists` for a used id. */
    create(id: string, { password, ...input }: SwitcherInput, now: string): Switcher {
      if (byId.get({ id })) throw conflict('switcher_exists', 'Switcher already exists')
      const { displayName, host, mode, model, port } = input
      const enabled = Number(input.enabled)
      const username = input.username || null
      insert.run({ id, displayName, host, port, model, enabled, mode, username, sealed: sealed(id, password), now })
      return get(id)
    },
    patch(id: string, { password, ...patch }: SwitcherPatch, now: string): { after: Switcher; before: Switcher } {
      const before = get(id)
      const { displayName, enabled, host, mode, port } = { ...before, ...present(patch) }
      const username = patch.username === undefined ? (before.username ?? null) : patch.username || null
      update.run({ id, displayName, enabled: Number(enabled), host, mode, port, username, now })
      if (password !== undefined) setPassword.run({ id, sealed: sealed(id, password) })
      return { before, after: get(id) }
    },
    /** Also removes its mappings. */
    remove(id: string): Switcher {
      const before = get(id)
      remove.run({ id })
      return before
    },
  }
}
export type SwitcherStore = ReturnType<typeof switcherStore>

function shown({ enabled, hasPassword, ...row }: Row): Switcher {
  const ports = PORTS[row.model]
  return {
    ...(present(row) as Omit<Switcher, 'enabled' | 'hasPassword'>),
    ...ports,
    enabled: enabled === 1,
    hasPassword: hasPassword === 1,
  }
}

export interface Mappings {
  inputs: MappedInput[]
  outputs: MappedOutput[]
}

const unknown = (what: string, id: string, place: (string | number)[]): Fail =>
  invalid(`Invalid mapping: there is no ${what} ${id}`, place, `no such ${what}`, 'invalid_mapping')

/** The error for a room that is unknown or not visible, named by entry `i` of the inputs. */
export const noRoom = (roomId: string, i: number): Fail => unknown('room', roomId, ['inputs', i, 'roomId'])

/** Which room is connected to which input, and which output belongs to whom. */
export function mappingStore(db: Db, switchers: SwitcherStore) {
  const inputs = db.stmt<{ id: string }, MappedInput>(
    `SELECT m.input, m.room_id AS roomId, r.name AS roomName FROM switcher_inputs m JOIN rooms r ON r.id = m.room_id
      WHERE m.switcher_id = @id ORDER BY m.input`,
  )
  const outputs = db.stmt<{ id: string }, MappedOutput>(
    `SELECT m.output, m.user_id AS userId, u.email AS userEmail, u.name AS userName
       FROM switcher_outputs m JOIN users u ON u.id = m.user_id WHERE m.switcher_id = @id ORDER BY m.output`,
  )
  const clear = ['switcher_inputs', 'switcher_outputs'].map((table) =>
    db.stmt<{ id: string }>(`DELETE FROM ${table} WHERE switcher_id = @id`),
  )
  const addInput = db.stmt<Params>(
    `INSERT INTO switcher_inputs (switcher_id, input, room_id) SELECT @id, @input, id FROM rooms WHERE id = @roomId`,
  )
  const addOutput = db.stmt<Params>(
    `INSERT INTO switcher_outputs (switcher_id, output, user_id) SELECT @id, @output, id FROM users WHERE id = @userId`,
  )
  const users = db.stmt<object, { email: string; id: string; name: string }>(
    `SELECT email, id, name FROM users WHERE disabled_at IS NULL ORDER BY email`,
  )
  const read = (id: string): Mappings => ({ inputs: inputs.all({ id }), outputs: outputs.all({ id }) })

  return {
    read,
    /** People for an editor of the map: enabled accounts, by e-mail. */
    users: () => users.all({}),
    /** @throws Fail 400 `invalid_mapping` for what does not exist, is beyond the model, or is named twice. */
    replace(id: string, wanted: SwitcherMappings): { after: Mappings; before: Mappings } {
      const { inputs, outputs } = switchers.get(id)
      checkMappings(wanted, { inputs, outputs })
      const before = read(id)
      for (const statement of clear) statement.run({ id })
      wanted.inputs.forEach(({ input, roomId }, i) => {
        if (addInput.run({ id, input, roomId }) !== 1) throw noRoom(roomId, i)
      })
      wanted.outputs.forEach(({ output, userId }, i) => {
        if (addOutput.run({ id, output, userId }) !== 1) throw unknown('user', userId, ['outputs', i, 'userId'])
      })
      return { before, after: read(id) }
    },
  }
}
export type MappingStore = ReturnType<typeof mappingStore>
