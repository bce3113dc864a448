import type { Clock } from '../../kernel/clock.ts'
import { Fail } from '../../kernel/fail.ts'
import type { HealthEvent } from '../../wire/health.ts'
import { type Actor, actorOf } from '../http/principal.ts'
import type { Principals } from '../http/principals.ts'
import { type AnyRoute, route, stream } from '../http/route.ts'
import type { Scope } from '../http/scope.ts'
import { type SmallPage, smallPage } from '../http/smallpage.ts'
import type { HealthApi } from '../monitoring/health/api.ts'
import type { AcknowledgeLinks, Link } from './acknowledge.store.ts'
import { factsOf, type Sender } from './compose.rules.ts'
import type { Phrases } from './phrases.ts'

interface Parts {
  clock: Clock
  health: HealthApi['health']
  links: AcknowledgeLinks
  principals: Pick<Principals, 'person'>
  scope: Scope
  /** The language and the zone of messages. */
  sender: () => Sender
}

/** Whoever presses the button of a message that a rule sent: known by the channel that reached them. */
const byLink = (channel: string): Actor => ({ id: 'notification_rule', name: channel, roles: [], type: 'system' })
const DONE = 'done'

const GONE = 410
const HANDLED = 'already_handled'
const gone = (): Fail =>
  new Fail(GONE, 'acknowledge_link_gone', 'This link was used, or has expired', { outcome: 'denied' })

/**
 * `/a/<token>`: a page with one button. Opening it changes nothing, for mail scanners open every link
 * (docs/contract/notifications.md: Acknowledging).
 */
export const acknowledgeRoutes = (parts: Parts): AnyRoute[] => [
  stream({
    method: 'GET',
    path: '/a/:token',
    otherwise: { 410: 'A page that says that the link is no longer good' },
    auth: 'none',
    permission: null,
    secretPath: true,
    action: 'notifications.acknowledge_page.read',
    audit: 'none',
    target: () => ({ type: 'health_event_collection' }),
    run: async ({ params: { token } }) => {
      const { clock, health, links } = parts
      const { phrases } = parts.sender()
      if (token === DONE) return { response: smallPage(200, phrases.acknowledged) }
      const link = links.find(token, clock.now())
      const event = link && health.find(link.eventId)
      if (!link || !event) return { response: smallPage(GONE, phrases.linkGone) }
      if (event.status !== 'open') return { response: smallPage(GONE, phrases.alreadyHandled) }
      if (!actorFor(parts, link, event)) return { response: smallPage(GONE, phrases.linkGone) }
      return { response: smallPage(200, question(parts.sender(), link)) }
    },
  }),
  route({
    method: 'POST',
    path: '/a/:token',
    otherwise: { 410: 'A page that says that the link is no longer good' },
    auth: 'none',
    permission: null,
    secretPath: true,
    perMinute: 30,
    action: 'notifications.acknowledge',
    success: ['health.events.acknowledge.succeeded', 'notifications.acknowledge.failed'],
    target: () => ({ type: 'health_event_collection' }),
    refusalPage: (refusal) => refusalPage(parts.sender().phrases, refusal),
    status: 302,
    run: ({ now, params: { token } }) => {
      const { health, links } = parts
      const link = links.find(token, Date.parse(now))
      const event = link && health.find(link.eventId)
      if (!link || !event) throw gone()
      if (event.status !== 'open')
        throw new Fail(GONE, HANDLED, 'Somebody is taking care of it, or it is over', { outcome: 'denied' })
      const actor = actorFor(parts, link, event)
      if (!actor) throw gone()
      links.spend(link.id)
      const { before, after } = health.move(event.id, 'acknowledge', { by: actor.id, byName: actor.name, now })
      return {
        actor,
        data: null,
        before,
        after,
        details: { notificationId: link.id, ...(link.ruleId ? { ruleId: link.ruleId } : {}) },
        headers: { location: `/a/${DONE}` },
        target: { type: 'health_event', id: event.id, name: event.type },
      }
    },
  }),
]

/** What the message told, and the button; nothing that it did not tell. */
function question(sender: Sender, { subject }: Link): SmallPage {
  const { phrases } = sender
  const page = phrases.acknowledgeQuestion(subject.event.type)
  return { ...page, button: phrases.acknowledge, facts: factsOf(sender, subject) }
}

const TOO_MANY = 429

function refusalPage(phrases: Phrases, { extra, reason, status }: Fail): Response | undefined {
  if (status === TOO_MANY) return smallPage(status, phrases.tooMany, extra.headers)
  if (status !== GONE) return undefined
  return smallPage(status, reason === HANDLED ? phrases.alreadyHandled : phrases.linkGone)
}

/** A person's own link works while they may acknowledge; undefined afterwards. */
function actorFor({ principals, scope }: Parts, { channel, userId }: Link, event: HealthEvent): Actor | undefined {
  if (userId === null) return byLink(channel)
  const person = principals.person(userId)
  const target = { type: 'health_event', id: event.id }
  return person && scope.decide(person, 'health:acknowledge', target).allowed ? actorOf(person) : undefined
}
