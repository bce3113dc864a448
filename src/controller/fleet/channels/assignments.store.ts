import { conflict, found } from '../../../kernel/fail.ts'
import type { Ids } from '../../../kernel/ids.ts'
import type { Assignment, AssignmentEvent, MapTarget, Template } from '../../../wire/channels.ts'
import type { ChannelMap } from '../../../wire/recordings.ts'
import type { Visibility } from '../../http/visibility.ts'
import type { Db, Params } from '../../store/db.ts'
import { Lister, present } from '../../store/filter.ts'
import { fits, mapOf } from './maps.rules.ts'
import { beyondDevice, type TemplateStore } from './templates.store.ts'

interface Row {
  assignedAt: string
  /** JSON rows of events, oldest first. */
  history: string
  id: string
  targetId: string
  targetType: MapTarget['targetType']
  templateId: string
}

// The newest changes of an assignment that are shown: the response must not grow without bound.
const SHOWN = 100
// Rows per turn of the event loop.
const SLICE = 200

const COLUMNS = `x.id, x.target_type AS targetType, coalesce(x.interface_id, x.node_id) AS targetId,
  x.template_id AS templateId, x.assigned_at AS assignedAt,
  (SELECT json_group_array(json_object('id', e.id, 'reason', e.reason, 'changedAt', e.changed_at, 'actorUserId', e.actor_user_id,
      'previousTemplateId', e.previous_template_id, 'nextTemplateId', e.next_template_id) ORDER BY e.seq)
     FROM (SELECT * FROM channel_map_assignment_events WHERE assignment_id = x.id ORDER BY seq DESC LIMIT ${SHOWN}) e) AS history`
const FROM = 'channel_map_assignments x'

const assignmentOf = ({ history, ...row }: Row): Assignment => ({
  ...row,
  history: (JSON.parse(history) as AssignmentEvent[]).map((event) => present(event) as AssignmentEvent),
})

/** Who makes a change, and when. */
interface Change {
  actor: string
  now: string
}

/** Which map each interface and node has, with the history of its changes. Writes belong into one transaction. */
export function assignmentStore(db: Db, ids: Ids, templates: TemplateStore) {
  const lister = new Lister<Row>(db, { columns: COLUMNS, from: FROM })
  const byId = db.stmt<{ id: string }, Row>(`SELECT ${COLUMNS} FROM ${FROM} WHERE x.id = @id`)
  const of = {
    interface: db.stmt<{ id: string }, Row>(`SELECT ${COLUMNS} FROM ${FROM} WHERE x.interface_id = @id`),
    node: db.stmt<{ id: string }, Row>(`SELECT ${COLUMNS} FROM ${FROM} WHERE x.node_id = @id`),
  }
  const ofNode = db.stmt<{ id: string }, Row>(
    `SELECT ${COLUMNS} FROM ${FROM} WHERE x.node_id = @id
     UNION ALL SELECT ${COLUMNS} FROM interfaces i JOIN ${FROM} ON x.interface_id = i.id WHERE i.node_id = @id`,
  )
  const newest = db.stmt<{ id: string }, { previous: string | null }>(
    `SELECT previous_template_id AS previous FROM channel_map_assignment_events WHERE assignment_id = @id
      ORDER BY seq DESC LIMIT 1`,
  )
  const { widths, write } = writer(db, ids)

  const find = ({ targetId, targetType }: MapTarget): Assignment | undefined => {
    const row = of[targetType].get({ id: targetId })
    return row && assignmentOf(row)
  }
  const mustFit = (target: MapTarget, template: Template): void => {
    const channels = widthOf(widths, target)
    if (!fits(template.entries, channels)) throw beyondDevice(template, channels, target)
  }
  const set = (
    target: MapTarget,
    templateId: string,
    reason: AssignmentEvent['reason'],
    change: Change,
  ): Assignment => {
    mustFit(target, templates.named(templateId))
    const before = find(target)
    // Assigning the same map again is not a change, and does not belong in the history.
    if (before?.templateId !== templateId) write(before, target, templateId, reason, change)
    return find(target) as Assignment
  }

  return {
    find,
    /** @throws Fail 404 `channel_map_assignment_not_found`. */
    get: (id: string): Assignment => assignmentOf(found(byId.get({ id }), 'Channel map assignment')),
    /** @throws Fail 404 `interface_not_found`, `node_not_found` or `template_not_found`, 409 `channel_map_beyond_device`. */
    assign: (target: MapTarget, templateId: string, change: Change) => set(target, templateId, 'assigned', change),
    /** The template before the newest change; a second rollback goes forward again. */
    previous: (id: string): string | undefined => newest.get({ id })?.previous ?? undefined,
    /** @throws Fail 409 `rollback_target_not_found`. */
    rollback(target: MapTarget, change: Change): { before: Assignment; after: Assignment } {
      const before = find(target)
      const templateId = before && newest.get({ id: before.id })?.previous
      if (!templateId) throw conflict('rollback_target_not_found', 'Channel map assignment cannot be rolled back')
      return { before, after: set(target, templateId, 'rolled_back', change) }
    },
    /** Checks a target of a plan before the plan is stored. @throws Fail as `assign`. */
    check: (target: MapTarget, template: Template): void => mustFit(target, template),
    /** Newest first, slice by slice. */
    *slices(visibility: Visibility): Generator<Assignment[]> {
      const order = { direction: 'DESC', keys: ['x.assigned_at', 'x.id'] } as const
      for (const rows of lister.walk(visibility.assignments(), order, SLICE)) yield rows.map(assignmentOf)
    },
    /** Of the node itself and of its interfaces, each with its template. */
    ofNode: (nodeId: string): { assignment: Assignment; template: Template }[] =>
      ofNode
        .all({ id: nodeId })
        .map((row) => ({ assignment: assignmentOf(row), template: templates.get(row.templateId) })),
    /**
     * The map of a take without an explicit selection: the interface's, else the node's, else none. A map that needs channels
     * the device no longer has is skipped: a take without a map is better than a capture that fails.
     */
    channelMapFor(interfaceId: string | undefined, nodeId: string): ChannelMap | undefined {
      const device = interfaceId === undefined ? undefined : widths.interface.get({ id: interfaceId })
      const rows = [
        interfaceId === undefined ? undefined : of.interface.get({ id: interfaceId }),
        of.node.get({ id: nodeId }),
      ]
      return rows
        .filter((row) => row !== undefined)
        .map((row) => mapOf(row, templates.get(row.templateId)))
        .find((map) => fits(map.entries, device?.channels ?? 0))
    },
  }
}
export type AssignmentStore = ReturnType<typeof assignmentStore>

type Widths = ReturnType<typeof writer>['widths']

function widthOf(widths: Widths, { targetId, targetType }: MapTarget): number {
  return found(widths[targetType].get({ id: targetId }), targetType === 'node' ? 'Node' : 'Interface').channels
}

function writer(db: Db, ids: Ids) {
  // The channels a map may use: those of the node's widest device; 0 (unknown) when one of its devices reported no width.
  const widths = {
    interface: db.stmt<{ id: string }, { channels: number }>(
      `SELECT channel_count AS channels FROM interfaces WHERE id = @id`,
    ),
    node: db.stmt<{ id: string }, { channels: number }>(
      `SELECT coalesce((SELECT CASE WHEN min(channel_count) = 0 THEN 0 ELSE max(channel_count) END
         FROM interfaces WHERE node_id = nodes.id), 0) AS channels FROM nodes WHERE id = @id`,
    ),
  }
  const insert = db.stmt<Params>(
    `INSERT INTO channel_map_assignments (id, target_type, interface_id, node_id, template_id, assigned_at)
     VALUES (@id, @targetType, @interfaceId, @nodeId, @templateId, @now)`,
  )
  const change = db.stmt<Params>(
    `UPDATE channel_map_assignments SET template_id = @templateId, assigned_at = @now WHERE id = @id`,
  )
  const tell = db.stmt<Params>(
    `INSERT INTO channel_map_assignment_events (id, assignment_id, actor_user_id, changed_at, previous_template_id,
       next_template_id, reason) VALUES (@id, @assignmentId, @actor, @now, @previous, @next, @reason)`,
  )

  const write = (
    before: Assignment | undefined,
    { targetId, targetType }: MapTarget,
    templateId: string,
    reason: AssignmentEvent['reason'],
    { actor, now }: Change,
  ): void => {
    const id = before?.id ?? ids.make('assignment')
    const [interfaceId, nodeId] = targetType === 'interface' ? [targetId, null] : [null, targetId]
    if (before) change.run({ id, templateId, now })
    else insert.run({ id, targetType, interfaceId, nodeId, templateId, now })
    const previous = before?.templateId ?? null
    tell.run({ id: ids.make('assignment_event'), assignmentId: id, actor, now, previous, next: templateId, reason })
  }

  return { widths, write }
}
