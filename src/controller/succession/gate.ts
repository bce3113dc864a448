// What a box answers: as the controller while the lease allows it, and as one that is not the controller.
import type { OutgoingHttpHeaders } from 'node:http'
import { HEADERS } from '../../wire/headers.ts'
import { type StandbyStatus, termIn } from '../../wire/lease.ts'
import { smallPage } from '../http/smallpage.ts'
import type { LeaseClient } from './leaseclient.ts'

/** What a server serves; `env` is how it is reached by node. */
interface Served {
  fetch(request: Request, env?: Env): Response | Promise<Response>
}
interface Env {
  outgoing?: { setHeader?(name: string, value: string): unknown }
}

/**
 * The controller behind its lease. An answer that was made while the lease was lost is held back: what it acknowledges may
 * not be in the database of the next controller.
 */
export function behindLease(app: Served, leaseClient: LeaseClient, status: () => StandbyStatus): Served {
  return {
    async fetch(request, env) {
      // On the answer of node itself: a header of a Response would cost each answer its short way to the socket.
      env?.outgoing?.setHeader?.(HEADERS.term, String(leaseClient.term))
      if (!leaseClient.mayServe() || isReplaced(request, leaseClient)) return refusal(status())
      const response = await app.fetch(request, env)
      if (leaseClient.mayServe()) return response
      await response.body?.cancel()
      return refusal(status())
    },
  }
}

/**
 * Whether the recorder that asks has seen a later controller: it takes no answer of this one, so it must not be shown as if it
 * did. Who makes a term up refuses nothing but their own request.
 */
const isReplaced = ({ headers }: Request, { term }: LeaseClient): boolean =>
  (termIn(headers.get(HEADERS.term)) ?? 0) > term

/** Probes, status and one page; everything else is 503, with the address of who serves. */
export function standbyResponses(leaseClient: LeaseClient, status: () => StandbyStatus): Served {
  return {
    fetch(request, env) {
      env?.outgoing?.setHeader?.(HEADERS.term, String(leaseClient.term))
      const { pathname } = new URL(request.url)
      const told = status()
      if (request.method !== 'GET' && request.method !== 'HEAD') return refusal(told)
      if (pathname === '/healthz') return json(200, { ok: true, ...service(told) })
      if (pathname === '/readyz') return json(503, { ok: false, database: told.role, ...service(told) })
      if (/^(\/api\/v1)?\/status$/.test(pathname)) return json(200, { data: told })
      const isPage = !pathname.startsWith('/api/') && (request.headers.get('accept') ?? '').includes('text/html')
      if (pathname === '/' || isPage) return page(told)
      return refusal(told)
    },
  }
}

const service = ({ role, version }: StandbyStatus) => ({ role, service: 'roomtone', version })

const json = (status: number, body: object, headers: OutgoingHttpHeaders = {}): Response =>
  new Response(JSON.stringify(body), {
    headers: {
      'cache-control': 'no-store',
      'content-type': 'application/json',
      ...(headers as Record<string, string>),
    },
    status,
  })

function refusal({ message, role, serving }: StandbyStatus): Response {
  const where = serving ? `: ${serving.name} at ${serving.url} is` : ''
  const error = `This box is not the controller${where}`
  return json(
    503,
    { error, message, reason: role, ...(serving ? { url: serving.url } : {}) },
    { [HEADERS.reason]: role, 'retry-after': '5' },
  )
}

function page({ behindSeconds, message, name, ready, role, serving }: StandbyStatus): Response {
  const behind = behindSeconds === undefined ? 'no copy yet' : `${behindSeconds} seconds behind`
  const title = role === 'fenced' ? 'Fenced' : `Standby, ${behind}, ${ready ? 'ready' : 'not ready'}`
  return smallPage(role === 'fenced' ? 503 : 200, {
    facts: [['Box', name], ...(serving ? [['Controller', `${serving.name}, term ${serving.term}`] as const] : [])],
    language: 'en',
    link: serving && { href: serving.url, text: `Open the controller: ${serving.url}` },
    paragraph: message,
    title,
  })
}
