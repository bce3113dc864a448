import { conflict, Fail, found } from '../../kernel/fail.ts'
import { folded } from '../../kernel/fold.ts'
import type { Zone } from '../../kernel/zones.ts'
import type { CalendarFilters, Recurrence, Schedule, ScheduleFilters } from '../../wire/schedules.ts'
import type { Live } from '../fleet/switchers/switchers.rules.ts'
import type { Visibility } from '../http/visibility.ts'
import type { Db, Params } from '../store/db.ts'
import { type Condition, json, Lister, type Order, present, when } from '../store/filter.ts'
import type { Stamped } from './calendar.store.ts'
import { liveNow, planOf, type Stored } from './planning.rules.ts'
import type { Plan } from './recurrence.rules.ts'

type Lists =
  | 'assignedGroupIds'
  | 'assignedUserIds'
  | 'captureChannelSelection'
  | 'recurrence'
  | 'tags'
  | 'uploadPolicyIds'
type Row = { [K in Exclude<keyof Stored, Lists | 'enabled'>]-?: Stored[K] | null } & Record<Lists, string> & {
    enabled: number
  }

const listed = (column: string, table: string): string =>
  `(SELECT json_group_array(${column} ORDER BY position) FROM ${table} WHERE schedule_id = s.id)`
const COLUMNS = `s.id, s.name, s.enabled, s.node_id AS nodeId, s.room, s.room_id AS roomId,
  s.capture_interface_id AS captureInterfaceId, s.capture_backend AS captureBackend,
  s.capture_channels AS captureChannelSelection, s.channel_mode AS channelMode,
  s.recording_profile_id AS recordingProfileId, s.watchdog_policy_id AS watchdogPolicyId,
  s.retention_policy_id AS retentionPolicyId, s.tags, s.timezone, s.title_template AS titleTemplate,
  s.folder_template AS folderTemplate, s.recurrence, s.anchor_date AS anchorDate, s.next_run_at AS nextRunAt,
  s.slot_at AS slotAt, s.slot_date AS slotDate, s.created_at AS createdAt, s.updated_at AS updatedAt,
  ${listed('policy_id', 'schedule_upload_policies')} AS uploadPolicyIds,
  ${listed('user_id', 'schedule_users')} AS assignedUserIds,
  ${listed('group_id', 'schedule_groups')} AS assignedGroupIds`

/** A node has few devices: more cannot record at once. */
const MOST_STARTING = 32

const NEWEST: Order = { direction: 'DESC', keys: ['s.created_at', 's.id'] }

const storedOf = ({ captureChannelSelection, enabled, ...row }: Row): Stored =>
  present({
    ...row,
    assignedGroupIds: JSON.parse(row.assignedGroupIds),
    assignedUserIds: JSON.parse(row.assignedUserIds),
    captureChannelSelection: captureChannelSelection && JSON.parse(captureChannelSelection),
    enabled: enabled === 1,
    recurrence: JSON.parse(row.recurrence),
    tags: JSON.parse(row.tags),
    uploadPolicyIds: JSON.parse(row.uploadPolicyIds),
  }) as Stored

/** A schedule in its wire format. */
export const shown = ({ anchorDate: _a, slotAt: _b, slotDate: _c, ...schedule }: Stored): Schedule => schedule

/** Schedules, their policies and assignments. Call every write inside a transaction. */
export function scheduleStore(db: Db, zones: (name: string) => Zone) {
  const list = new Lister<{ id: string }>(db, { columns: 's.id', from: 'schedules s' })
  const rowsOf = db.stmt<{ ids: string }, Row>(
    `SELECT ${COLUMNS} FROM json_each(@ids) page CROSS JOIN schedules s ON s.id = page.value ORDER BY page.key`,
  )
  const byId = db.stmt<{ id: string }, Row>(`SELECT ${COLUMNS} FROM schedules s WHERE s.id = @id`)
  const starting = db.stmt<{ from: string; nodeId: string; until: string }, { id: string }>(
    `SELECT id FROM schedules WHERE node_id = @nodeId AND enabled = 1 AND next_run_at > @from AND next_run_at <= @until
      ORDER BY next_run_at LIMIT ${MOST_STARTING}`,
  )
  const ofNode = db.stmt<{ nodeId: string }, { id: string }>(
    `SELECT id FROM schedules WHERE node_id = @nodeId ORDER BY created_at, id`,
  )
  const reassignRoom = db.stmt<Params>(`UPDATE schedules SET room_id = @roomId, updated_at = @now WHERE id = @id`)
  const drop = db.stmt<{ id: string }>(`DELETE FROM schedules WHERE id = @id`)
  const write = writer(db)

  const find = (id: string): Stored | undefined => {
    const row = byId.get({ id })
    return row && storedOf(row)
  }
  const get = (id: string): Stored => found(find(id), 'Schedule')
  const whole = (rows: { id: string }[]): Stored[] =>
    rowsOf.all({ ids: JSON.stringify(rows.map((row) => row.id)) }).map(storedOf)

  return {
    find,
    /** @throws Fail 404 `schedule_not_found`. */
    get,
    planOf: (schedule: Pick<Stored, 'anchorDate' | 'recurrence' | 'timezone'>): Plan => planOf(schedule, zones),
    zones,
    /** One page of what the caller may see, newest first. */
    list(
      visibility: Visibility,
      filters: ScheduleFilters,
      limit: number,
      offset: number,
    ): { rows: Stored[]; total: number } {
      const conditions = [...visibility.schedules(), ...matching(filters)]
      const { rows, total } = list.page(conditions, 's.created_at DESC, s.id DESC', limit, offset)
      return { rows: whole(rows), total }
    },
    /** The whole list, slice by slice. */
    *walk(visibility: Visibility, filters: ScheduleFilters, size: number): Generator<Stored[]> {
      for (const rows of list.walk([...visibility.schedules(), ...matching(filters)], NEWEST, size)) yield whole(rows)
    },
    /** These schedules in the order asked for. @throws Fail 404 when one is not visible. */
    chosen(visibility: Visibility, ids: readonly string[]): Stored[] {
      const wanted = { sql: 's.id IN (SELECT value FROM json_each(@chosen))', params: { chosen: JSON.stringify(ids) } }
      const visible = new Set(list.all([wanted, ...visibility.schedules()], 's.id').map((row) => row.id))
      if (ids.some((id) => !visible.has(id))) throw notVisible()
      return whole(ids.map((id) => ({ id })))
    },
    create(schedule: Stored): Stored {
      if (find(schedule.id))
        throw conflict(
          'schedule_exists',
          'A schedule with this id already exists: omit the id, or update that schedule',
        )
      write(schedule, true)
      return get(schedule.id)
    },
    update(schedule: Stored): Stored {
      write(schedule, false)
      return get(schedule.id)
    },
    /** These schedules in the order asked for; one that does not exist is left out. */
    some: (ids: readonly string[]): Stored[] => whole(ids.map((id) => ({ id }))),
    /** Enabled schedules of a node whose next recording starts in this time, the earliest first. */
    startingBetween: (nodeId: string, from: string, until: string): Stored[] =>
      whole(starting.all({ from, nodeId, until })),
    ofNode: (nodeId: string): Stored[] => whole(ofNode.all({ nodeId })),
    /** Its channels have moved to another room, or to none. */
    reassignRoom: (id: string, roomId: string | undefined, now: string): void =>
      void reassignRoom.run({ id, roomId: roomId ?? null, now }),
    remove: (id: string): void => void drop.run({ id }),
    /** Ids and stamps of enabled schedules for the calendar. */
    calendarStamps: calendarStamps(db),
    ...overviews(db, zones, whole),
  }
}
export type ScheduleStore = ReturnType<typeof scheduleStore>

const notVisible = (): Fail =>
  new Fail(404, 'schedule_not_visible', 'One or more schedules are not visible', { outcome: 'denied' })

const matching = (f: ScheduleFilters): Condition[] => [
  ...when(f.captureBackend, 's.capture_backend = @backend', (backend) => ({ backend })),
  ...when(f.captureInterfaceId, 's.capture_interface_id = @interfaceId', (interfaceId) => ({ interfaceId })),
  ...when(f.enabled, 's.enabled = @enabled', (enabled) => ({ enabled: enabled === 'true' ? 1 : 0 })),
  ...when(f.nodeId, 's.node_id = @nodeId', (nodeId) => ({ nodeId })),
  ...when(f.search, 'instr(s.search, @search) > 0', (text) => ({ search: folded(text) })),
]

const AT_SITE = `s.room_id IN (SELECT id FROM rooms WHERE site = @site COLLATE NOCASE)
  OR (s.room_id IS NULL AND s.node_id IN (SELECT id FROM nodes WHERE site = @site COLLATE NOCASE))`
const OF_USER = `s.id IN (SELECT schedule_id FROM schedule_users WHERE user_id = @userId
  UNION SELECT schedule_id FROM schedule_groups
    WHERE group_id IN (SELECT group_id FROM group_members WHERE user_id = @userId))`

const placed = (f: CalendarFilters, userId: string): Condition[] => [
  ...when(f.mine, OF_USER, () => ({ userId })),
  ...when(f.roomId, 's.room_id = @roomId', (roomId) => ({ roomId })),
  ...when(f.scheduleId, 's.id = @scheduleId', (scheduleId) => ({ scheduleId })),
  ...when(f.site, AT_SITE, (site) => ({ site })),
]

const searchOf = (s: Stored): string =>
  folded(
    [
      ...[s.name, s.room, s.titleTemplate, s.folderTemplate, s.timezone, ...s.tags],
      ...[s.id, s.nodeId, s.captureInterfaceId, s.roomId],
      ...[s.recordingProfileId, s.watchdogPolicyId, s.retentionPolicyId, ...s.uploadPolicyIds],
    ].join('\n'),
  )

function writer(db: Db) {
  const fields = {
    name: 'name',
    enabled: 'enabled',
    node_id: 'nodeId',
    room: 'room',
    room_id: 'roomId',
    capture_interface_id: 'captureInterfaceId',
    capture_backend: 'captureBackend',
    capture_channels: 'captureChannelSelection',
    channel_mode: 'channelMode',
    recording_profile_id: 'recordingProfileId',
    watchdog_policy_id: 'watchdogPolicyId',
    retention_policy_id: 'retentionPolicyId',
    tags: 'tags',
    timezone: 'timezone',
    title_template: 'titleTemplate',
    folder_template: 'folderTemplate',
    recurrence: 'recurrence',
    anchor_date: 'anchorDate',
    next_run_at: 'nextRunAt',
    slot_at: 'slotAt',
    slot_date: 'slotDate',
    updated_at: 'updatedAt',
  } as const satisfies Record<string, keyof Stored>
  const columns = [...Object.keys(fields), 'search']
  const insert = db.stmt<Params>(
    `INSERT INTO schedules (id, created_at, ${columns.join(', ')}) VALUES (@id, @created_at, ${columns.map((c) => `@${c}`).join(', ')})`,
  )
  const update = db.stmt<Params>(`UPDATE schedules SET ${columns.map((c) => `${c} = @${c}`).join(', ')} WHERE id = @id`)
  const lists = [
    ['schedule_upload_policies', 'policy_id', 'uploadPolicyIds'],
    ['schedule_users', 'user_id', 'assignedUserIds'],
    ['schedule_groups', 'group_id', 'assignedGroupIds'],
  ].map(([table, column, field]) => ({
    clear: db.stmt<{ id: string }>(`DELETE FROM ${table} WHERE schedule_id = @id`),
    add: db.stmt<Params>(
      `INSERT INTO ${table} (schedule_id, position, ${column}) SELECT @id, key, value FROM json_each(@list)`,
    ),
    field: field as 'uploadPolicyIds' | 'assignedUserIds' | 'assignedGroupIds',
  }))
  return (schedule: Stored, fresh: boolean): void => {
    const values = Object.entries(fields).map(([column, field]) => [
      column,
      column in JSON_COLUMNS ? json(schedule[field]) : plain(schedule[field]),
    ])
    const params: Params = { ...Object.fromEntries(values), id: schedule.id, search: searchOf(schedule) }
    if (fresh) insert.run({ ...params, created_at: schedule.createdAt })
    else update.run(params)
    for (const { clear, add, field } of lists) {
      clear.run({ id: schedule.id })
      add.run({ id: schedule.id, list: JSON.stringify(schedule[field]) })
    }
  }
}

const JSON_COLUMNS = { capture_channels: 1, recurrence: 1, tags: 1 }
const plain = (value: unknown) =>
  value === undefined ? null : typeof value === 'boolean' ? Number(value) : (value as string)

const RUNNING: Condition = { sql: 's.enabled = 1', params: {} }

function calendarStamps(db: Db) {
  const columns = 'json_group_array(json_array(s.id, s.stamp)) AS stamps'
  const list = new Lister<never>(db, { columns, from: 'schedules s' })
  return (visibility: Visibility, filters: CalendarFilters, userId: string): Stamped[] => {
    const conditions = [RUNNING, ...visibility.schedules(), ...matching(filters), ...placed(filters, userId)]
    return JSON.parse(list.aggregate<{ stamps: string }>(columns, conditions).stamps) as Stamped[]
  }
}

function overviews(db: Db, zones: (name: string) => Zone, whole: (rows: { id: string }[]) => Stored[]) {
  const ofRoom = db.stmt<{ roomId: string }, { id: string }>(
    `SELECT id FROM schedules WHERE room_id = @roomId AND enabled = 1 AND next_run_at IS NOT NULL ORDER BY next_run_at LIMIT 500`,
  )
  type Rule = { anchorDate: string; id: string; recurrence: string; timezone: string }
  // Only the rules: most schedules are not live, and the lists are read only for those that are.
  const assigned = db.stmt<object, Rule>(
    `SELECT s.id, s.recurrence, s.timezone, s.anchor_date AS anchorDate FROM schedules s WHERE s.enabled = 1 AND s.room_id IS NOT NULL
       AND s.id IN (SELECT schedule_id FROM schedule_users UNION SELECT schedule_id FROM schedule_groups)`,
  )
  // A schedule that runs once is disabled when it starts: its run shows that it is live.
  const onceRunning = db.stmt<{ now: string }, { id: string }>(
    `SELECT s.id FROM schedule_runs x JOIN schedules s ON s.id = x.schedule_id
      WHERE x.outcome = 'started' AND x.ends_at > @now AND s.enabled = 0 AND s.room_id IS NOT NULL
        AND json_extract(s.recurrence, '$.mode') = 'once'`,
  )
  const members = db.stmt<{ groups: string }, { groupId: string; userId: string }>(
    `SELECT group_id AS groupId, user_id AS userId FROM group_members WHERE group_id IN (SELECT value FROM json_each(@groups))`,
  )
  return {
    /** Enabled schedules of a room that wait for something, the next first; at most 500. */
    ofRoom: (roomId: string): Stored[] => whole(ofRoom.all({ roomId })),
    /**
     * Who is live in which room: assigned users and members of assigned groups of every schedule whose slot covers
     * `now` (docs/contract/switchers.md: Routing). Manual and disabled schedules never are.
     */
    liveAssignments(now: string): Live[] {
      const once = onceRunning.all({ now })
      const rules = assigned.all({}).map((row) => ({ ...row, recurrence: JSON.parse(row.recurrence) as Recurrence }))
      const live = whole([...liveNow(rules, zones, Date.parse(now)), ...once])
      const groups = JSON.stringify([...new Set(live.flatMap((s) => s.assignedGroupIds))])
      const byGroup = Map.groupBy(members.all({ groups }), (row) => row.groupId)
      const people = new Map<string, Set<string>>()
      for (const { assignedGroupIds, assignedUserIds, roomId = '' } of live) {
        const users = people.get(roomId) ?? new Set()
        for (const id of assignedUserIds) users.add(id)
        for (const { userId } of assignedGroupIds.flatMap((id) => byGroup.get(id) ?? [])) users.add(userId)
        people.set(roomId, users)
      }
      return [...people].map(([roomId, users]) => ({ roomId, userIds: [...users].sort() }))
    },
  }
}
