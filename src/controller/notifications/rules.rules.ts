import { DAY_MS, type Zone } from '../../kernel/zones.ts'
import { type HealthEvent, SEVERITIES, type Severity } from '../../wire/health.ts'
import type { DailyReport, NotificationRule, QuietHours } from '../../wire/notifications.ts'
import type { Pair } from '../http/principal.ts'
import { endedBy } from '../monitoring/health/ends.rules.ts'

export type Zones = (name: string) => Zone

/** The field of a rule that contradicts another one, and why; undefined when all is well. */
export function ruleFault(rule: NotificationRule): { field: string; why: string } | undefined {
  const { channelId, dailyReport, escalateAfterSeconds, escalateChannelId, types } = rule
  if (types.length === 0 && !dailyReport)
    return { field: 'types', why: 'name at least one type, or a time for the daily report' }
  if (escalateAfterSeconds !== undefined && escalateChannelId === undefined)
    return { field: 'escalateChannelId', why: 'name the channel that is told when nobody acknowledges' }
  if (escalateChannelId !== undefined && escalateAfterSeconds === undefined)
    return { field: 'escalateAfterSeconds', why: 'say after how many seconds the other channel is told' }
  if (escalateChannelId === channelId) return { field: 'escalateChannelId', why: 'name another channel' }
  return undefined
}

export const isAtLeast = (severity: Severity, least: Severity): boolean =>
  SEVERITIES.indexOf(severity) >= SEVERITIES.indexOf(least)

/** Whether a type meets a pattern, in which `*` stands for any text. */
export function meets(type: string, pattern: string): boolean {
  const [first = '', ...rest] = pattern.split('*')
  if (rest.length === 0) return type === pattern
  const last = rest.pop() as string
  if (!type.startsWith(first) || !type.endsWith(last) || type.length < first.length + last.length) return false
  let at = first.length
  for (const part of rest) {
    const found = type.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return at <= type.length - last.length
}

const pairsOf = (text: string): Set<string> => new Set(Array.from(text.slice(1), (next, i) => text[i] + next))

/** How many neighbouring letters two words share, 0 to 1. */
function likeness(a: Set<string>, b: Set<string>): number {
  return (2 * a.intersection(b).size) / Math.max(1, a.size + b.size)
}

const MOST_NEAR = 3
/** Least likeness, and of that of the most likely. */
const NEAR = 0.5
const AS_NEAR = 0.9

/** What somebody may have meant by a word, the most likely first. */
function nearest(word: string, known: Iterable<string>): string[] {
  const pairs = pairsOf(word.toLowerCase())
  const others = [...known].map((one) => ({ likeness: likeness(pairs, pairsOf(one.toLowerCase())), one }))
  const least = Math.max(NEAR, AS_NEAR * Math.max(...others.map((other) => other.likeness)))
  return others
    .filter((other) => other.likeness >= least)
    .sort((a, b) => b.likeness - a.likeness)
    .slice(0, MOST_NEAR)
    .map(({ one }) => one)
}

const meant = (word: string, known: Iterable<string>): string => {
  const near = nearest(word, known)
  return near.length > 0 ? `: did you mean ${near.join(', ')}?` : ''
}

const FAMILY = /^[^.]+/

/** Why no alert will ever meet a pattern, and what may have been meant; undefined when one may. */
export function patternFault(pattern: string, types: readonly string[]): string | undefined {
  if (types.some((type) => meets(type, pattern))) return undefined
  if (!pattern.includes('*')) return `no alert has the type ${pattern}${meant(pattern, types)}`
  const families = new Set(types.map((type) => `${FAMILY.exec(type)?.[0]}.*`))
  return `no alert has a type like ${pattern}${meant(pattern, families)}`
}

/** Why nothing lies at a site, and what may have been meant. */
export const siteFault = (site: string, sites: readonly string[]): string =>
  `no room and no recorder is at the site ${site}${meant(site, sites)}`

/** Whether a rule speaks of events of a type, at these places: node, rooms and sites. Every list that is given narrows. */
export function concerns(
  rule: Pick<NotificationRule, 'nodeIds' | 'roomIds' | 'siteNames' | 'types'>,
  type: string,
  places: readonly Pair[],
): boolean {
  const isAt = (kind: string, ids: string[] | undefined) =>
    ids === undefined || places.some((place) => place.type === kind && ids.includes(place.id))
  return (
    rule.types.some((pattern) => meets(type, pattern)) &&
    isAt('node', rule.nodeIds) &&
    isAt('room', rule.roomIds) &&
    isAt('site', rule.siteNames)
  )
}

/** Trouble between a recorder and the controller: a restart of the controller is felt by every recorder, and soon over. */
const PASSING = [
  'agent.*.sync_failed',
  'agent.recording_job.*_upload_failed',
  'agent.recording_job.claim_next_failed',
  'agent.recording_job.control_plane_failed',
]
/** What may pass by itself is told when it has lasted so long, ms. */
const PASSES_MS = 120_000

/** The end of other events: it is told with them, and never by itself. */
export const isRecovery = (type: string): boolean => endedBy(type).length > 0

/** How long an event of a type has to last before anybody is told, ms. */
export const patienceFor = (type: string): number => (PASSING.some((pattern) => meets(type, pattern)) ? PASSES_MS : 0)

const [OFFLINE, FORESEEN_OFFLINE] = ['watchdog.node_offline', 'foresight.recorder_offline']
/** That a recorder is silent is one trouble, whoever notices it: each of these is covered by those. */
const COVERED_BY: Readonly<Record<string, readonly string[]>> = {
  [FORESEEN_OFFLINE]: [OFFLINE, FORESEEN_OFFLINE],
  [OFFLINE]: [FORESEEN_OFFLINE, 'watchdog.take_not_begun'],
}

/** The types of events that may cover one of this type, of the same recorder. */
export const coveredBy = (type: string): readonly string[] => COVERED_BY[type] ?? []
/** The types that an event of this type may have covered. */
export const coverableBy = (type: string): string[] =>
  Object.keys(COVERED_BY).filter((said) => coveredBy(said).includes(type))

/** What somebody was told of another event that stands. */
export interface Covering {
  type: string
  /** The start of the recording it names; null: none. */
  nextStart: string | null
  severity: Severity
}

/**
 * Whether what was told covers this event: as severe, and of the same recording where this one foresees for one. A recorder that is
 * silent before several recordings is told with the first.
 */
export const isCovered = (
  { details, severity, type }: Pick<HealthEvent, 'details' | 'severity' | 'type'>,
  told: readonly Covering[],
): boolean =>
  told.some(
    (one) =>
      isAtLeast(one.severity, severity) &&
      (type !== FORESEEN_OFFLINE || one.type === type || one.nextStart === details.nextStart),
  )

/** What is foreseen of a recording ends when it is due, whether or not the trouble does: then other alerts go on with it. */
const DUE_ANYWAY: readonly unknown[] = ['slot_ended', 'start_refused', 'take_never_began']
const OVER_ONCE_BEGUN: readonly string[] = [FORESEEN_OFFLINE, 'foresight.clash']

/** Whether the end of an event is not the end of its trouble: its message does not call it over. */
export function goesOn({ details, type }: Pick<HealthEvent, 'details' | 'type'>): boolean {
  const { autoResolvedReason } = details
  if (!type.startsWith('foresight.')) return false
  return (
    DUE_ANYWAY.includes(autoResolvedReason) || (autoResolvedReason === 'take_began' && !OVER_ONCE_BEGUN.includes(type))
  )
}

/** What a rule tells at most once within its throttle. */
export const topicOf = ({ nodeId, recordingId, scheduleId, type }: Placed): string =>
  JSON.stringify([type, nodeId ?? null, scheduleId ?? null, recordingId ?? null])

interface Placed {
  nodeId?: string | null | undefined
  recordingId?: string | null | undefined
  scheduleId?: string | null | undefined
  type: string
}

const MINUTE_MS = 60_000
const minutesOf = (time: string): number => Number(time.slice(0, 2)) * 60 + Number(time.slice(3))

/** The end (Unix ms) of the quiet hours around an instant; undefined outside of them. */
function quietUntil({ from, timezone, to }: QuietHours, at: number, zones: Zones): number | undefined {
  const zone = zones(timezone)
  const today = zone.dayOf(at)
  const [begin, end] = [minutesOf(from), minutesOf(to)]
  // Those that began yesterday may last until today.
  for (const day of [today - 1, today]) {
    const ends = zone.at(end > begin ? day : day + 1, end)
    if (at >= zone.at(day, begin) && at < ends) return ends
  }
  return undefined
}

/** When a message that is due at `at` may go: quiet hours hold it back. Unix ms. */
export function releasedAt(
  rule: Pick<NotificationRule, 'quietHours'>,
  severity: Severity,
  at: number,
  zones: Zones,
): number {
  const { quietHours } = rule
  if (!quietHours || isAtLeast(severity, quietHours.exceptSeverity)) return at
  return quietUntil(quietHours, at, zones) ?? at
}

/** When the newest daily report was due, Unix ms. */
export function reportDueAt({ time, timezone }: DailyReport, now: number, zones: Zones): number {
  const zone = zones(timezone)
  const today = zone.dayOf(now)
  const at = zone.at(today, minutesOf(time))
  return at <= now ? at : zone.at(today - 1, minutesOf(time))
}

/** When the next daily report is due, Unix ms. */
export function nextReportAt({ time, timezone }: DailyReport, now: number, zones: Zones): number {
  const zone = zones(timezone)
  const today = zone.dayOf(now)
  const at = zone.at(today, minutesOf(time))
  return at > now ? at : zone.at(today + 1, minutesOf(time))
}

const BACK_OFF_MS = [10_000, 30_000, 120_000, 600_000, 3_600_000]
/** A message is tried for so long. */
const TRIED_FOR_MS = DAY_MS

/** When a message is tried again after its nth attempt failed; undefined when it is given up. Unix ms. */
export function retryAt(attempts: number, queuedAt: number, now: number): number | undefined {
  const pause = BACK_OFF_MS[Math.min(attempts, BACK_OFF_MS.length) - 1] ?? (BACK_OFF_MS[0] as number)
  return now + pause > queuedAt + TRIED_FOR_MS + MINUTE_MS ? undefined : now + pause
}
