import { ALERTS } from '../../wire/alerts.en.ts'
import type { Severity } from '../../wire/health.ts'
import type { NotificationRule } from '../../wire/notifications.ts'

/** Kinds of alerts that are told of together, by the beginning of their names. */
export const FAMILIES = ['watchdog', 'agent', 'schedule', 'foresight', 'controller', 'recording', 'switcher'] as const
export type Family = (typeof FAMILIES)[number]

/** Where the API has them. */
export const RULES = '/settings/notification-rules'

const EVERYTHING = '*'
const patternOf = (family: Family): string => `${family}.*`
/** The family that a pattern stands for; undefined for any other pattern. */
export const familyOf = (pattern: string): Family | undefined => FAMILIES.find((one) => patternOf(one) === pattern)

/** What a form of a rule holds. Spans are minutes, and what is not chosen may be absent. */
export interface Draft {
  all?: boolean
  channelId?: string
  daily?: boolean
  dailyReport?: { time?: string; timezone?: string }
  enabled?: boolean
  escalateAfterSeconds?: number
  escalateChannelId?: string
  family?: Partial<Record<Family, boolean>>
  includeResolved?: boolean
  minSeverity?: Severity
  name?: string
  quiet?: boolean
  quietHours?: { exceptSeverity?: Severity; from?: string; timezone?: string; to?: string }
  throttleSeconds?: number
  /** Beside the families. */
  types?: string[]
}

/** Where a rule looks, by ids (sites: by names); an empty list is everywhere. */
export interface Places {
  nodeIds: readonly string[]
  roomIds: readonly string[]
  siteNames: readonly string[]
}

const minutes = (seconds: number): number => Math.round((seconds / 60) * 100) / 100
const seconds = (minutes: number): number => Math.round(minutes * 60)

/** What a form shows of a rule; without one what is usual, in the zone of the site. */
export function draftOf(rule: NotificationRule | undefined, timezone: string): Draft {
  const quietHours = { exceptSeverity: 'critical', from: '22:00', timezone, to: '07:00' } as const
  const dailyReport = { time: '07:00', timezone }
  if (!rule)
    return {
      ...{ all: true, dailyReport, enabled: true, escalateAfterSeconds: 15, includeResolved: true },
      ...{ minSeverity: 'warning', quietHours, throttleSeconds: 5, types: [] },
    }
  const { escalateAfterSeconds, throttleSeconds, types, ...kept } = rule
  return {
    dailyReport,
    quietHours,
    ...kept,
    all: types.includes(EVERYTHING),
    daily: rule.dailyReport !== undefined,
    escalateAfterSeconds: minutes(escalateAfterSeconds ?? seconds(15)),
    family: Object.fromEntries(FAMILIES.map((one) => [one, types.includes(patternOf(one))])),
    quiet: rule.quietHours !== undefined,
    throttleSeconds: minutes(throttleSeconds),
    types: types.filter((type) => type !== EVERYTHING && !familyOf(type)),
  }
}

const typesOf = ({ all, family = {}, types = [] }: Draft): string[] =>
  all ? [EVERYTHING] : [...FAMILIES.filter((one) => family[one]).map(patternOf), ...types]

const given = (ids: readonly string[]): readonly string[] | null => (ids.length === 0 ? null : ids)
const placesOf = ({ nodeIds, roomIds, siteNames }: Places) => ({
  nodeIds: given(nodeIds),
  roomIds: given(roomIds),
  siteNames: given(siteNames),
})

/** The rule that a form stands for, as the API takes a new one and a change: null takes away what is not chosen. */
export function ruleOf(draft: Draft, places: Places): Record<string, unknown> {
  const { all, daily, dailyReport, family, quiet, quietHours, ...rest } = draft
  const { escalateAfterSeconds, escalateChannelId = null, throttleSeconds, ...plain } = rest
  const escalates = escalateChannelId !== null && escalateAfterSeconds !== undefined
  return {
    ...plain,
    ...placesOf(places),
    dailyReport: daily ? { ...dailyReport } : null,
    escalateAfterSeconds: escalates ? seconds(escalateAfterSeconds) : null,
    escalateChannelId,
    quietHours: quiet ? { ...quietHours } : null,
    ...(throttleSeconds === undefined ? {} : { throttleSeconds: seconds(throttleSeconds) }),
    types: typesOf(draft),
  }
}

/** What of a rule decides how much it tells of; undefined while it tells of nothing. */
export function previewOf(draft: Draft, places: Places): Record<string, unknown> | undefined {
  const { minSeverity, throttleSeconds = 0 } = draft
  const types = typesOf(draft)
  if (types.length === 0 || minSeverity === undefined) return undefined
  return { ...placesOf(places), minSeverity, throttleSeconds: seconds(throttleSeconds), types }
}

const isKnown = (type: string): boolean => Object.hasOwn(ALERTS, type)

/** What a list of types may become with one more: the field knows its text as a whole. */
export function suggested(typed: readonly string[]): { text: string; type: string }[] {
  const whole = typed.filter((type, i) => i < typed.length - 1 || isKnown(type))
  return Object.keys(ALERTS)
    .filter((type) => !whole.includes(type))
    .map((type) => ({ text: [...whole, type].join(', '), type }))
}
