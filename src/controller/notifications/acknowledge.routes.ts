import { hash } from 'node:crypto'
import type { Clock } from '../../kernel/clock.ts'
import { Fail } from '../../kernel/fail.ts'
import { escapedHtml } from '../../kernel/html.ts'
import type { HealthEvent } from '../../wire/health.ts'
import { type Actor, actorOf } from '../http/principal.ts'
import type { Principals } from '../http/principals.ts'
import { type AnyRoute, route, stream } from '../http/route.ts'
import type { Scope } from '../http/scope.ts'
import type { HealthApi } from '../monitoring/health/api.ts'
import type { AcknowledgeLinks } from './acknowledge.ts'
import type { Page, Phrases } from './phrases.ts'

interface Parts {
  clock: Clock
  health: HealthApi['health']
  links: AcknowledgeLinks
  phrases: Phrases
  principals: Pick<Principals, 'person'>
  scope: Scope
}

/** Whoever presses the button of a message that a rule sent. */
const RULE: Actor = { id: 'notification_rule', name: 'notification_rule', roles: [], type: 'system' }
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
      const { clock, health, links, phrases } = parts
      if (token === DONE) return { response: page(200, phrases.acknowledged) }
      const link = links.find(token, clock.now())
      const event = link && health.find(link.eventId)
      if (!event) return { response: page(GONE, phrases.linkGone) }
      if (event.status !== 'open') return { response: page(GONE, phrases.alreadyHandled) }
      if (!actorFor(parts, link.userId, event)) return { response: page(GONE, phrases.linkGone) }
      return { response: page(200, phrases.acknowledgeQuestion(event.type), phrases.acknowledge) }
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
    refusalPage: ({ reason, status }) =>
      status === GONE
        ? page(GONE, reason === HANDLED ? parts.phrases.alreadyHandled : parts.phrases.linkGone)
        : undefined,
    status: 302,
    run: ({ now, params: { token } }) => {
      const { health, links } = parts
      const link = links.find(token, Date.parse(now))
      const event = link && health.find(link.eventId)
      if (!link || !event) throw gone()
      if (event.status !== 'open')
        throw new Fail(GONE, HANDLED, 'Somebody is taking care of it, or it is over', { outcome: 'denied' })
      const actor = actorFor(parts, link.userId, event)
      if (!actor) throw gone()
      links.spend(link.id)
      const { before, after } = health.move(event.id, 'acknowledge', { by: actor.id, now })
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

/** A person's own link works while they may acknowledge; undefined afterwards. */
function actorFor({ principals, scope }: Parts, userId: string | null, event: HealthEvent): Actor | undefined {
  if (userId === null) return RULE
  const person = principals.person(userId)
  const target = { type: 'health_event', id: event.id }
  return person && scope.decide(person, 'health:acknowledge', target).allowed ? actorOf(person) : undefined
}

const STYLE = `:root{color-scheme:light dark}body{font:1.125rem/1.5 system-ui,sans-serif;max-width:32rem;margin:15vh auto;padding:0 1.5rem;overflow-wrap:anywhere}button{font:inherit;font-weight:600;padding:.75rem 1.5rem;border:0;border-radius:.5rem;background:#1a5fb4;color:#fff;cursor:pointer}button:focus-visible{outline:3px solid currentColor;outline-offset:2px}`

const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${hash('sha256', STYLE, 'base64')}'`,
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** A page without script: a title, a paragraph and, with `button`, a form of one button that posts to its own address. */
function page(status: number, { language, paragraph, title }: Page, button?: string): Response {
  const form = button === undefined ? '' : `<form method="post"><button>${escapedHtml(button)}</button></form>`
  const html = `<!doctype html><html lang="${language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapedHtml(title)}</title><style>${STYLE}</style></head><body><main><h1>${escapedHtml(title)}</h1><p>${escapedHtml(paragraph)}</p>${form}</main></body></html>`
  return new Response(html, {
    headers: { 'content-security-policy': POLICY, 'content-type': 'text/html; charset=utf-8' },
    status,
  })
}
