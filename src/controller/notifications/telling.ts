// What becomes of a health event: who is told, and when. Runs within the transaction that opens, changes or ends the event.

import { iso } from '../../kernel/clock.ts'
import type { Ids } from '../../kernel/ids.ts'
import type { HealthEvent, Severity } from '../../wire/health.ts'
import type { Principals } from '../http/principals.ts'
import type { Scope } from '../http/scope.ts'
import type { HealthApi } from '../monitoring/health/api.ts'
import type { AcknowledgeLinks } from './acknowledge.store.ts'
import type { PeopleStore } from './people.store.ts'
import type { QueueStore, Recipient } from './queue.store.ts'
import {
  concerns,
  coverableBy,
  coveredBy,
  isAtLeast,
  isCovered,
  isRecovery,
  patienceFor,
  releasedAt,
  topicOf,
  type Zones,
} from './rules.rules.ts'
import type { RuleStore, StandingRule } from './rules.store.ts'
import type { Subject, SubjectStore } from './subjects.store.ts'

interface Parts {
  /** The channel of people's own mail, if there is one in use. */
  forPeople: () => string | undefined
  health: HealthApi['health']
  ids: Ids
  links: AcknowledgeLinks
  people: PeopleStore
  principals: Pick<Principals, 'person'>
  queue: QueueStore
  rules: RuleStore
  scope: Scope
  subjectOf: SubjectStore
  zones: Zones
}

/** How one recipient wants to hear of an event: a rule, or a person. */
interface Terms extends Recipient {
  acknowledges: boolean
  channelId: string
  escalation?: { afterSeconds: number; channelId: string } | undefined
  quietHours?: StandingRule['quietHours'] | undefined
  throttleSeconds: number
}

/** What makes an event worth a message: it began, it began again, or it became more severe. */
type News = 'opened' | 'raised'

/** What another event had covered is told once that one is over, unless it ends as well within this time, ms. */
const UNCOVERED_MS = 150_000
// Of people's own mail.
const PEOPLE_THROTTLE_SECONDS = 300
/** Opened when messages cannot be delivered; never told through the channel that fails. */
export const DELIVERY_FAILED = 'controller.notification_failed'

export function telling(parts: Parts) {
  const { health, people, queue } = parts
  return {
    /** What a recorder reports counts from when it was heard of: its clock may be anywhere. */
    opened: (id: string, now: string): void => announce(parts, health.get(id), { news: 'opened', since: now }, now),
    changed({ id, was }: { id: string; was: { severity: string; status: string } }, now: string): void {
      const event = health.get(id)
      if (event.status === 'resolved') {
        if (was.status !== 'resolved') ended(parts, event, now)
        return
      }
      const isHandled = event.status !== 'open'
      if (isHandled && was.status === 'open') queue.dropHeld(id)
      if (was.status === 'resolved') queue.dropHeldEnd(id)
      const isRaised = event.severity !== was.severity && isAtLeast(event.severity, was.severity as Severity)
      if (isRaised && event.status !== 'suppressed') announce(parts, event, { news: 'raised' }, now)
      else if (!isHandled && was.status !== 'open') announce(parts, event, { news: 'opened' }, now)
    },
    /** Tells the next people of the oldest announcement; false when there is none. */
    tellPeople(now: string): boolean {
      const next = people.next()
      if (!next) return false
      for (const person of next.people) tellPerson(parts, person, next.fanout, now)
      people.advance(next.fanout, next.people)
      return true
    },
    /** Gives up the oldest announcement. */
    skipPeople: (): void => people.skip(),
  }
}
export type Telling = ReturnType<typeof telling>

/** `since`: when it began, as far as the clock that noted it can be trusted. */
function announce(
  parts: Parts,
  event: HealthEvent,
  { afterMs = patienceFor(event.type), news, since = event.openedAt }: Partial<Announcement> & { news: News },
  now: string,
): void {
  const { forPeople, people, rules, scope, subjectOf } = parts
  if (isRecovery(event.type)) return
  const standing = rules.active()
  const toPeople = forPeople() !== undefined && people.isAnyone()
  if (standing.length === 0 && !toPeople) return
  const subject = subjectOf(event)
  const places = scope.expand({ type: 'health_event', id: event.id })
  for (const rule of standing) {
    const isMeant = isAtLeast(event.severity, rule.minSeverity) && concerns(rule, event.type, places)
    if (isMeant && isSince(since, rule.createdAt, now)) tell(parts, termsOf(rule), subject, { afterMs, news }, now)
  }
  if (toPeople) people.announce(subject, 'event', { afterMs, news, since, subject }, now)
}

/** Whether it began after a rule was made, or somebody asked; a time ahead was noted by a clock that was wrong. */
const isSince = (at: string, since: string, now: string): boolean => since <= at || since > now

const termsOf = (rule: StandingRule): Terms => ({
  acknowledges: true,
  channelId: rule.channelId,
  escalation:
    rule.escalateAfterSeconds !== undefined && rule.escalateChannelId !== undefined
      ? { afterSeconds: rule.escalateAfterSeconds, channelId: rule.escalateChannelId }
      : undefined,
  quietHours: rule.quietHours,
  ruleId: rule.id,
  throttleSeconds: rule.throttleSeconds,
  userId: null,
})

/** Whether a channel is the one whose failure the event tells of. */
const isOwnFailure = ({ details, type }: HealthEvent, channelId: string): boolean =>
  type === DELIVERY_FAILED && details.channelId === channelId

interface Announcement {
  /** How long it is kept back, ms: it may be over by then. */
  afterMs: number
  news: News
  /** When it began, ISO. */
  since: string
}

function tell(
  parts: Parts,
  terms: Terms,
  subject: Subject,
  { afterMs, news }: Pick<Announcement, 'afterMs' | 'news'>,
  now: string,
): void {
  const { queue } = parts
  const { event } = subject
  if (news === 'raised') queue.dropHeldOf(event.id, terms)
  const known = queue.ofEvent(event.id, terms)
  const standing = known.slice(known.findLastIndex(({ kind }) => kind === 'resolved') + 1)
  const told = standing.filter(({ kind }) => kind === 'event')
  if (told.length === 0 && isKnown(parts, terms, event)) return
  const isNews = told.length === 0 || (news === 'raised' && told.every(({ severity }) => severity !== event.severity))
  const fresh = () => Math.max(throttledUntil(parts, terms, event, now), Date.parse(now) + afterMs)
  const at = told.length === 0 ? fresh() : Date.parse(now)
  const due = dueOf(parts, terms, event.severity, at)
  const openedBy = known.find(({ channelId }) => channelId === terms.channelId)?.conversation
  if (isNews && !isOwnFailure(event, terms.channelId))
    enqueue(parts, terms, subject, { ...due, kind: 'event', openedBy }, now)
  if (event.status === 'open' && !standing.some(({ kind }) => kind === 'escalation'))
    escalate(parts, terms, subject, due.dueAt, now)
}

/** Whether this recipient knows of the same trouble by another event. */
function isKnown({ queue }: Parts, terms: Terms, event: HealthEvent): boolean {
  const types = coveredBy(event.type)
  return event.nodeId !== undefined && types.length > 0 && isCovered(event, queue.covering(event.nodeId, types, terms))
}

/** What is more severe than the last of its topic is not throttled. Unix ms. */
function throttledUntil({ queue }: Parts, terms: Terms, event: HealthEvent, now: string): number {
  const last = terms.throttleSeconds > 0 ? queue.lastOn(topicOf(event), terms, now) : undefined
  if (last === undefined || !isAtLeast(last.severity, event.severity)) return Date.parse(now)
  if (last.at > now) return Date.parse(last.at)
  return Math.max(Date.parse(now), Date.parse(last.at) + terms.throttleSeconds * 1000)
}

function escalate(parts: Parts, terms: Terms, subject: Subject, toldAt: number, now: string): void {
  const { escalation } = terms
  if (!escalation || isOwnFailure(subject.event, escalation.channelId)) return
  const at = toldAt + escalation.afterSeconds * 1000
  const due = dueOf(parts, terms, subject.event.severity, at)
  enqueue(parts, { ...terms, channelId: escalation.channelId }, subject, { ...due, kind: 'escalation' }, now)
}

/** When a message may go. */
interface Due {
  /** Unix ms. */
  dueAt: number
  /** Quiet hours hold it back. */
  isQuiet?: boolean
}

function dueOf({ zones }: Parts, rule: Pick<Terms, 'quietHours'>, severity: Severity, at: number): Due {
  const dueAt = releasedAt(rule, severity, at, zones)
  return { dueAt, isQuiet: dueAt > at }
}

interface Slot extends Due {
  kind: 'event' | 'escalation' | 'resolved'
  /** The message that opened the conversation. */
  openedBy?: string | undefined
}

function enqueue({ ids, links, queue }: Parts, to: Terms, subject: Subject, slot: Slot, now: string): void {
  const { event } = subject
  const id = ids.make('notification')
  queue.queue(
    {
      acknowledgeHash: to.acknowledges && slot.kind !== 'resolved' ? links.hashOf(id) : undefined,
      channelId: to.channelId,
      content: subject,
      conversation: slot.openedBy,
      dueAt: iso(slot.dueAt),
      eventId: event.id,
      id,
      kind: slot.kind,
      ruleId: to.ruleId ?? undefined,
      severity: event.severity,
      topic: slot.kind === 'event' ? topicOf(event) : undefined,
      untilTimeOfDay: slot.isQuiet,
      userId: to.userId ?? undefined,
    },
    now,
  )
}

/** It is over as it begins: there is nothing to do about it. */
const onlyInforms = ({ details, resolvedBy }: HealthEvent): boolean =>
  details.autoResolvedReason === 'nothing_to_do' && resolvedBy?.startsWith('system:') === true

/** Everybody who was told of an event hears of its end, once; what waited to be told is dropped. */
function ended(parts: Parts, event: HealthEvent, now: string): void {
  const { people, queue, rules, subjectOf } = parts
  queue.dropHeld(event.id)
  tellUncovered(parts, event, now)
  if (onlyInforms(event)) return
  const told = queue.told(event.id)
  const subject = subjectOf(event)
  const standing = new Map(rules.active().map((rule) => [rule.id, rule]))
  for (const { channelId, conversation, ruleId, userId } of told) {
    const rule = ruleId === null ? undefined : standing.get(ruleId)
    // People are told as they were told of its beginning: in slices, outside of this transaction.
    if (!rule?.includeResolved) continue
    const terms = { acknowledges: false, channelId, ruleId, throttleSeconds: 0, userId }
    const due = dueOf(parts, rule, event.severity, Date.parse(now))
    enqueue(parts, terms, subject, { ...due, kind: 'resolved', openedBy: conversation }, now)
  }
  const isToldToPeople = told.some(({ userId }) => userId !== null) || people.isAnnounced(event.id)
  if (isToldToPeople) people.announce(subject, 'resolved', { subject }, now)
}

/** What this event had covered and still stands has to speak for itself. */
function tellUncovered(parts: Parts, { nodeId, type }: HealthEvent, now: string): void {
  const types = coverableBy(type)
  if (nodeId === undefined || types.length === 0) return
  for (const id of parts.queue.unhandled(nodeId, types))
    announce(parts, parts.health.get(id), { afterMs: UNCOVERED_MS, news: 'opened' }, now)
}

function tellPerson(
  parts: Parts,
  person: { minSeverity: Severity; since: string; userId: string },
  fanout: { content: string; eventId: string; kind: 'event' | 'resolved' },
  now: string,
): void {
  const { forPeople, principals, queue, scope } = parts
  const channelId = forPeople()
  const who = principals.person(person.userId)
  const {
    afterMs = 0,
    news = 'opened',
    since,
    subject,
  } = JSON.parse(fanout.content) as Partial<Announcement> & { subject: Subject }
  const { event } = subject
  const target = { type: 'health_event', id: event.id }
  if (channelId === undefined || !who || !scope.decide(who, 'health:read', target).allowed) return
  const acknowledges = scope.decide(who, 'health:acknowledge', target).allowed
  const terms = { acknowledges, channelId, ruleId: null, throttleSeconds: PEOPLE_THROTTLE_SECONDS, userId: who.id }
  if (fanout.kind === 'event') {
    // By the time it is this person's turn it may be over, or somebody may have taken care of it.
    const status = parts.health.find(event.id)?.status
    if (status === undefined || status === 'resolved' || (news === 'opened' && status !== 'open')) return
    const isMeant = isAtLeast(event.severity, person.minSeverity) && isSince(since ?? event.openedAt, person.since, now)
    if (isMeant && !isOwnFailure(event, channelId)) tell(parts, terms, subject, { afterMs, news }, now)
    return
  }
  queue.dropHeldOf(event.id, terms)
  const conversation = queue.told(event.id).find(({ userId }) => userId === who.id)?.conversation
  if (conversation)
    enqueue(parts, terms, subject, { dueAt: Date.parse(now), kind: 'resolved', openedBy: conversation }, now)
}
