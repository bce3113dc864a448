import { found, invalid } from '../../kernel/fail.ts'
import { ALERTS } from '../../wire/alerts.en.ts'
import type { NotificationRule, RuleInput, RulePatch } from '../../wire/notifications.ts'
import type { Visibility } from '../http/visibility.ts'
import type { Db, Params } from '../store/db.ts'
import { Lister } from '../store/filter.ts'
import { patternFault, ruleFault, siteFault } from './rules.rules.ts'

interface Row {
  channelId: string
  choice: string
  createdAt: string
  enabled: number
  escalateChannelId: string | null
  id: string
  name: string
  reportedUntil: string
}

/** A rule as the runner needs it. */
export interface StandingRule extends NotificationRule {
  createdAt: string
  reportedUntil: string
}

const COLUMNS = `x.id, x.name, x.enabled, x.channel_id AS channelId, x.escalate_channel_id AS escalateChannelId, x.choice,
  x.reported_until AS reportedUntil, x.created_at AS createdAt`

const DEFAULTS = { includeResolved: true, throttleSeconds: 300, types: ['*'] }

/** Who is told of what, and when. */
export function ruleStore(db: Db) {
  const list = new Lister<Row>(db, { columns: COLUMNS, from: 'notification_rules x' })
  const byId = db.stmt<{ id: string }, Row>(`SELECT ${COLUMNS} FROM notification_rules x WHERE x.id = @id`)
  const active = db.stmt<object, Row>(
    `SELECT ${COLUMNS} FROM notification_rules x JOIN notification_channels c ON c.id = x.channel_id
      WHERE x.enabled = 1 AND c.enabled = 1`,
  )
  const channel = db.stmt<{ id: string }, { reaches: number }>(
    `SELECT kind <> 'email' OR json_array_length(options, '$.to') > 0 AS reaches FROM notification_channels WHERE id = @id`,
  )
  const requireChannel = (field: string, id: string | undefined): void => {
    const found = id === undefined ? { reaches: 1 } : channel.get({ id })
    const why = found ? 'this channel has no recipients of its own' : 'there is no such notification channel'
    if (!found?.reaches) throw invalid('Invalid notification rule', [field], why)
  }
  const insert = db.stmt<Params>(
    `INSERT INTO notification_rules
       (id, name, enabled, channel_id, escalate_channel_id, choice, reported_until, created_at, updated_at)
     VALUES (@id, @name, @enabled, @channelId, @escalateChannelId, @choice, @now, @now, @now)`,
  )
  const update = db.stmt<Params>(
    `UPDATE notification_rules SET name = @name, enabled = @enabled, channel_id = @channelId,
       escalate_channel_id = @escalateChannelId, choice = @choice, updated_at = @now,
       reported_until = CASE WHEN @reportsAnew = 1 THEN @now ELSE reported_until END WHERE id = @id`,
  )
  const reported = db.stmt<{ id: string; now: string; until: string }>(
    `UPDATE notification_rules SET reported_until = @until
      WHERE id = @id AND (reported_until < @until OR reported_until > @now)`,
  )
  const drop = db.stmt<{ id: string }>(`DELETE FROM notification_rules WHERE id = @id`)
  const get = (id: string): NotificationRule => shownRule(found(byId.get({ id }), 'Notification rule'))
  const known = {
    nodeIds: db.stmt<{ id: string }>(`SELECT 1 FROM nodes WHERE id = @id`),
    roomIds: db.stmt<{ id: string }>(`SELECT 1 FROM rooms WHERE id = @id`),
  }
  /** A rule for a place that is not there would never tell anything, and nobody would notice. */
  const requirePlaces = (rule: NotificationRule): void => {
    for (const field of ['nodeIds', 'roomIds'] as const) {
      const unknown = rule[field]?.find((id) => !known[field].get({ id }))
      if (unknown !== undefined) throw invalid('Invalid notification rule', [field], `there is no ${unknown}`)
    }
  }
  const sites = db.stmt<object, { site: string }>(`SELECT site FROM rooms UNION SELECT site FROM nodes`)
  const occurred = db.stmt<object, { type: string }>(`SELECT type FROM health_types WHERE id > 0`)
  /** A site that a rule named before may stay, also when nothing is there any more. */
  const requireSites = ({ siteNames = [] }: NotificationRule, before: readonly string[] = []): void => {
    if (siteNames.length === 0) return
    const known = [...before, ...sites.all({}).map(({ site }) => site)]
    const unknown = siteNames.findIndex((site) => !known.includes(site))
    if (unknown < 0) return
    throw invalid('Invalid notification rule', ['siteNames', unknown], siteFault(siteNames[unknown] ?? '', known))
  }
  const everOpened = db.stmt<{ type: string }>(`SELECT 1 FROM health_events WHERE type = @type LIMIT 1`)
  /** Those of the product, and what was reported here. What a rule named before may stay, also when its events are forgotten. */
  const requireTypes = ({ types }: NotificationRule, before: readonly string[] = []): void => {
    const known = [...new Set([...Object.keys(ALERTS), ...occurred.all({}).map(({ type }) => type)])]
    for (const [i, pattern] of types.entries()) {
      const isGood = before.includes(pattern) || everOpened.get({ type: pattern }) !== undefined
      const fault = isGood ? undefined : patternFault(pattern, known)
      if (fault !== undefined) throw invalid('Invalid notification rule', ['types', i], fault)
    }
  }
  const columns = (rule: NotificationRule, now: string, before?: NotificationRule): Params => {
    requirePlaces(rule)
    requireSites(rule, before?.siteNames)
    requireTypes(rule, before?.types)
    for (const field of ['channelId', 'escalateChannelId'] as const) requireChannel(field, rule[field])
    const fault = ruleFault(rule)
    if (fault) throw invalid('Invalid notification rule', [fault.field], fault.why)
    const { channelId, enabled, escalateChannelId = null, id, name, ...choice } = rule
    return { channelId, choice: JSON.stringify(choice), enabled: Number(enabled), escalateChannelId, id, name, now }
  }
  return {
    /** @throws Fail 404 `notification_rule_not_found`. */
    get,
    /** By name. */
    list: (visibility: Visibility): NotificationRule[] =>
      list.all(visibility.own('notification_rule'), 'x.name COLLATE NOCASE, x.id').map(shownRule),
    /** Enabled, with an enabled channel. */
    active: (): StandingRule[] => active.all({}).map(standing),
    /** @throws Fail 400. */
    create(id: string, input: RuleInput, now: string): NotificationRule {
      insert.run(columns(merged({ ...DEFAULTS, channelId: '', enabled: true, id }, input), now))
      return get(id)
    },
    /** @throws Fail 404 or 400. */
    patch(id: string, patch: RulePatch, now: string): { before: NotificationRule; after: NotificationRule } {
      const before = get(id)
      const reportsAnew = Number(patch.dailyReport !== undefined || patch.enabled === true)
      update.run({ ...columns(merged(before, patch), now, before), reportsAnew })
      return { before, after: get(id) }
    },
    /** @throws Fail 404. */
    remove(id: string): NotificationRule {
      const before = get(id)
      drop.run({ id })
      return before
    },
    /** Whether the report that was due at `until` is this caller's to make: it is made once. */
    claimReport: (id: string, until: string, now: string): boolean => reported.run({ id, now, until }) === 1,
  }
}
export type RuleStore = ReturnType<typeof ruleStore>

/** Null takes a field away. */
const merged = (before: object, fields: object): NotificationRule =>
  Object.fromEntries(
    Object.entries({ ...before, ...fields }).filter(([, value]) => value !== null && value !== undefined),
  ) as unknown as NotificationRule

const shownRule = ({ channelId, choice, enabled, escalateChannelId, id, name }: Row): NotificationRule =>
  merged({ channelId, enabled: enabled === 1, escalateChannelId, id, name }, JSON.parse(choice))

const standing = (row: Row): StandingRule => ({
  ...shownRule(row),
  createdAt: row.createdAt,
  reportedUntil: row.reportedUntil,
})
