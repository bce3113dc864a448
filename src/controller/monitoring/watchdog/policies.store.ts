import { found } from '../../../kernel/fail.ts'
import { BUILT_IN } from '../../../wire/settings.ts'
import type { WatchdogPolicy, WatchdogPolicyInput, WatchdogPolicyPatch } from '../../../wire/watchdog.ts'
import type { Visibility } from '../../http/visibility.ts'
import type { Db, Params } from '../../store/db.ts'
import { Lister, present } from '../../store/filter.ts'

interface Row {
  id: string
  name: string
  rules: string
}

const COLUMNS = 'x.id, x.name, x.rules'

/** Watchdog policies; thresholds and modes are stored as one JSON and shown next to id and name. */
export function watchdogPolicyStore(db: Db) {
  const lister = new Lister<Row>(db, { columns: COLUMNS, from: 'watchdog_policies x' })
  const byId = db.stmt<{ id: string }, Row>(`SELECT ${COLUMNS} FROM watchdog_policies x WHERE x.id = @id`)
  const insert = db.stmt<Params>(
    `INSERT INTO watchdog_policies (id, name, rules, created_at, updated_at) VALUES (@id, @name, @rules, @now, @now)`,
  )
  const update = db.stmt<Params>(
    `UPDATE watchdog_policies SET name = @name, rules = @rules, updated_at = @now WHERE id = @id`,
  )
  const get = (id: string): WatchdogPolicy => policyOf(found(byId.get({ id }), 'Watchdog policy'))
  return {
    /** @throws Fail 404 `watchdog_policy_not_found`. */
    get,
    /** Newest first. */
    list: (visibility: Visibility): WatchdogPolicy[] =>
      lister.all(visibility.own('watchdog_policy'), 'x.created_at DESC, x.id').map(policyOf),
    /** Fields missing in `input` come from the built-in policy. */
    create(id: string, input: WatchdogPolicyInput, now: string): WatchdogPolicy {
      insert.run(columns(amended({ ...get(BUILT_IN.watchdog), id }, input), now))
      return get(id)
    },
    patch(id: string, patch: WatchdogPolicyPatch, now: string): { after: WatchdogPolicy; before: WatchdogPolicy } {
      const before = get(id)
      update.run(columns(amended(before, patch), now))
      return { before, after: get(id) }
    },
  }
}
export type WatchdogPolicyStore = ReturnType<typeof watchdogPolicyStore>

const policyOf = ({ id, name, rules }: Row): WatchdogPolicy => ({ id, name, ...JSON.parse(rules) })

/** Null unsets an optional field. */
const amended = (policy: WatchdogPolicy, fields: WatchdogPolicyInput | WatchdogPolicyPatch): WatchdogPolicy =>
  present({ ...policy, ...fields }) as WatchdogPolicy

const columns = ({ id, name, ...rules }: WatchdogPolicy, now: string): Params => ({
  id,
  name,
  now,
  rules: JSON.stringify(rules),
})
