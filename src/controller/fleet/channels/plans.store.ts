import { conflict, Fail } from '../../../kernel/fail.ts'
import type { AssignmentPlan, MapTarget } from '../../../wire/channels.ts'
import type { Visibility } from '../../http/visibility.ts'
import type { Db, Params } from '../../store/db.ts'
import { type Condition, Lister, present } from '../../store/filter.ts'

type Row = { [K in Exclude<keyof AssignmentPlan, 'targets'>]-?: AssignmentPlan[K] | null } & { targets: string }

// Rows per turn of the event loop.
const SLICE = 200

const COLUMNS = `x.id, x.status, x.template_id AS templateId, x.targets, x.note, x.created_at AS createdAt,
  x.created_by AS createdByUserId, x.applied_at AS appliedAt, x.applied_by AS appliedByUserId, x.cancelled_at AS cancelledAt`

const planOf = (row: Row): AssignmentPlan => present({ ...row, targets: JSON.parse(row.targets) }) as AssignmentPlan

interface NewPlan {
  createdBy: string
  id: string
  note?: string | undefined
  targets: readonly MapTarget[]
  templateId: string
}

/** Rollouts prepared for later: pending until they are applied. */
export function planStore(db: Db) {
  const lister = new Lister<Row>(db, { columns: COLUMNS, from: 'channel_map_plans x' })
  const byId = db.stmt<{ id: string }, Row>(`SELECT ${COLUMNS} FROM channel_map_plans x WHERE x.id = @id`)
  const insert = db.stmt<Params>(
    `INSERT INTO channel_map_plans (id, template_id, targets, note, created_at, created_by)
     VALUES (@id, @templateId, @targets, @note, @now, @createdBy)`,
  )
  const apply = db.stmt<{ id: string; actor: string; now: string }>(
    `UPDATE channel_map_plans SET status = 'applied', applied_at = @now, applied_by = @actor
      WHERE id = @id AND status = 'pending'`,
  )

  const get = (id: string): AssignmentPlan => {
    const row = byId.get({ id })
    if (!row) throw new Fail(404, 'plan_not_found', 'Channel map assignment plan not found')
    return planOf(row)
  }

  return {
    /** @throws Fail 404 `plan_not_found`. */
    get,
    /** Newest first, slice by slice; none with a target that is refused. */
    *slices(visibility: Visibility, refusals: Visibility): Generator<AssignmentPlan[]> {
      const order = { direction: 'DESC', keys: ['x.created_at', 'x.id'] } as const
      const seen = [...visibility.own('channel_map_assignment_plan'), ...unrefused(refusals)]
      for (const rows of lister.walk(seen, order, SLICE)) yield rows.map(planOf)
    },
    stage({ note, targets, ...plan }: NewPlan, now: string): AssignmentPlan {
      insert.run({ ...plan, note: note || null, targets: JSON.stringify(targets), now })
      return get(plan.id)
    },
    /** pending -> applied. @throws Fail 404, or 409 `plan_not_pending`. */
    apply(id: string, actor: string, now: string): { before: AssignmentPlan; after: AssignmentPlan } {
      const before = get(id)
      if (apply.run({ id, actor, now }) === 0)
        throw conflict('plan_not_pending', 'Channel map assignment plan is not pending')
      return { before, after: get(id) }
    },
  }
}
export type PlanStore = ReturnType<typeof planStore>

const TARGETS = {
  interface: { from: 'interfaces x', id: 'x.id', views: (of: Visibility) => of.interfaces() },
  node: { from: 'nodes n', id: 'n.id', views: (of: Visibility) => of.nodes() },
} satisfies Record<MapTarget['targetType'], { from: string; id: string; views: (of: Visibility) => Condition[] }>

/** A refusal of one target is one of the plan: it tells of all of them, and is applied to all or none. */
const unrefused = (refusals: Visibility): Condition[] =>
  Object.entries(TARGETS).flatMap(([type, { from, id, views }]) =>
    views(refusals).map(({ sql, params }) => ({
      sql: `NOT EXISTS (SELECT 1 FROM json_each(x.targets) t JOIN ${from} ON ${id} = t.value ->> 'targetId'
        WHERE t.value ->> 'targetType' = '${type}' AND NOT (${sql}))`,
      params,
    })),
  )
