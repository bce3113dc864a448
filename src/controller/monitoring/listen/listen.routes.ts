import { type Clock, iso } from '../../../kernel/clock.ts'
import { conflict, Fail, found, invalid } from '../../../kernel/fail.ts'
import { API_PREFIX, HEADERS } from '../../../wire/headers.ts'
import { ListenQuery, type ListenSession, ListenStart } from '../../../wire/listen.ts'
import type { FleetApi } from '../../fleet/api.ts'
import type { UserPrincipal } from '../../http/principal.ts'
import { type AnyRoute, type Incoming, route, type Streamed, stream } from '../../http/route.ts'
import type { Scope } from '../../http/scope.ts'
import type { Streams } from '../../http/streams.ts'
import { type Notifier, topics } from '../../scheduler/notifier.ts'
import { canHear, channelVisibility } from '../meters/channelvisibility.rules.ts'
import { type Chunk, following, newestFor, polledFor } from './listen.rules.ts'
import { type LiveParts, liveAudio, mayHear } from './live.ts'
import type { Listener } from './sessions.store.ts'

interface Parts extends LiveParts {
  notifier: Notifier
  clock: Clock
  streams: Streams
  nodes: FleetApi['nodes']
  scope: Scope
}

const monitor = { auth: 'user', permission: 'listen:monitor' } as const
const node = (p: { id: string }) => ({ type: 'node', id: p.id })
// How often a console polls until the first chunk is there (docs/contract/listening.md: Streams).
const PREVIEW_MS = 1500
// How long the first poll of a session waits: the recorder has to start sending first.
const FIRST_SECONDS = 10

/** Live listen for people (docs/contract/listening.md: Sessions). */
export const listenRoutes = (parts: Parts): AnyRoute[] => [startRoute(parts), audioRoute(parts), stopRoute(parts)]

const startRoute = (air: Parts): AnyRoute =>
  route({
    method: 'POST',
    path: '/nodes/:id/listen',
    ...monitor,
    action: 'listen.monitor.start',
    target: node,
    body: ListenStart,
    status: 202,
    run: ({ params: { id }, body, principal, now }) => {
      mustHear(air, principal, id)
      air.nodes.mustServe(id)
      const listener = air.sessions.start(principal, id, body.enhance, now)
      const data = sessionView(listener, air.chunks.fresh(id, 'raw', now))
      return { data, after: data, correlation: { listenSessionId: listener.id } }
    },
  })

const audioRoute = (air: Parts): AnyRoute =>
  stream({
    method: 'GET',
    path: '/nodes/:id/listen/stream',
    ...monitor,
    action: 'listen.monitor.stream',
    otherwise: { 204: 'Nothing new was heard in time' },
    target: node,
    query: ListenQuery,
    run: async ({ params: { id }, query, request, principal, now }) => {
      mustHear(air, principal, id)
      const { sessionId } = query
      if (!sessionId) throw invalid('Listen session not found', ['sessionId'], 'required', 'session_required')
      const listener = ownSession(air, id, sessionId, principal, now)
      air.sessions.touch(sessionId, now)
      const streamed = query.continuous
        ? await streamAudio(air, listener, principal, query, request)
        : await oneChunk(air, listener, principal, query, request)
      return { ...streamed, correlation: { listenSessionId: sessionId } }
    },
  })

const stopRoute = ({ scope, sessions }: Parts): AnyRoute =>
  route({
    method: 'DELETE',
    path: '/nodes/:id/listen/:sid',
    ...monitor,
    action: 'listen.monitor.stop',
    target: node,
    status: 204,
    run: ({ params: { id, sid }, principal, now }) => {
      const listener = sessions.find(id, sid, now)
      const theirs = listener?.userId === principal.id || scope.decide(principal, 'node:manage', node({ id })).allowed
      if (!listener || !theirs || !sessions.stop(sid)) throw gone()
      const { lastSeenAt, startedAt, userId } = listener
      return {
        data: null,
        correlation: { listenSessionId: sid },
        details: { enhance: listener.enhance, endedAt: now, lastSeenAt, startedAt, userId },
      }
    },
  })

const gone = (): Fail => new Fail(404, 'session_not_found', 'Listen session not found')

// The gate checked only the node; the mix also contains channels of its other rooms.
function mustHear({ layouts }: LiveParts, principal: UserPrincipal, nodeId: string): void {
  const layout = found(layouts.of(nodeId), 'Node')
  if (canHear(channelVisibility(principal, 'listen:monitor', layout), layout)) return
  throw new Fail(403, 'missing_resource_scope', 'Forbidden', { outcome: 'denied' })
}

// A session of somebody else, or of another login, is not found.
function ownSession(
  { sessions }: LiveParts,
  nodeId: string,
  id: string,
  principal: UserPrincipal,
  now: string,
): Listener {
  const listener = sessions.find(nodeId, id, now)
  if (listener?.userId !== principal.id || listener.loginId !== principal.sessionId) throw gone()
  return listener
}

function sessionView({ enhance, id, nodeId, startedAt }: Listener, fresh: Chunk | undefined): ListenSession {
  const base = `${API_PREFIX}/nodes/${nodeId}/listen`
  return {
    enhance,
    mode: 'agent_audio_chunk',
    nodeId,
    sessionId: id,
    startedAt,
    stopUrl: `${base}/${id}`,
    streamUrl: `${base}/stream?sessionId=${id}`,
    targetLatencyMs: fresh?.durationMs ?? PREVIEW_MS,
  }
}

const AUDIO = { 'cache-control': 'no-store', 'content-type': 'audio/wav', 'x-content-type-options': 'nosniff' }

interface Poll {
  after?: number | undefined
  waitSeconds?: number | undefined
}

/**
 * Audio as long as the session lasts. Waits a moment for an agent that has to start sending.
 * @throws Fail 409 when no audio arrives, 429 when too many streams are open.
 */
async function streamAudio(
  air: Parts,
  listener: Listener,
  principal: UserPrincipal,
  { waitSeconds = FIRST_SECONDS }: Poll,
  request: Incoming,
): Promise<Streamed> {
  const { enhance, nodeId } = listener
  const first = () => newestFor(air.chunks.kept(nodeId), enhance, iso(air.clock.now()))
  if (!(await air.notifier.until(topics.audio(nodeId), waitSeconds, request.gone(), first))) throw noAudio()
  // Rights are checked again before the first byte.
  const body = air.streams.stream(principal.id, request, liveAudio(air, listener, principal, air.clock))
  const headers = { ...AUDIO, 'x-accel-buffering': 'no' }
  return { details: { continuous: true, enhance }, response: new Response(body, { headers }) }
}

// Audio is never synthesized from the meters (ADR-0019).
const noAudio = (): Fail => conflict('monitor_source_unavailable', 'Monitor data unavailable')

/** One chunk: the newest, for which a new session waits, or the one after the last heard; 204 when there is none yet. */
async function oneChunk(
  air: Parts,
  listener: Listener,
  principal: UserPrincipal,
  { after, waitSeconds = after === undefined && listener.given === undefined ? FIRST_SECONDS : 0 }: Poll,
  request: Incoming,
): Promise<Streamed> {
  const { enhance, nodeId } = listener
  const look = (): Chunk | undefined => {
    const now = iso(air.clock.now())
    const kept = air.chunks.kept(nodeId)
    if (after === undefined) return polledFor(kept, enhance, listener.given, now)
    const heard = [...kept.raw, ...kept.enhanced].find((chunk) => chunk.sequence === after) ?? { sequence: after }
    return following(kept, enhance, heard, now)
  }
  const chunk = await air.notifier.until(topics.audio(nodeId), waitSeconds, request.gone(), look)
  const now = iso(air.clock.now())
  if (waitSeconds > 0 && !stillThere(air, listener, principal, now)) throw gone()
  if (chunk) air.sessions.noteGiven(listener.id, chunk.sequence)
  if (chunk) return chunkResponse(chunk)
  if (newestFor(air.chunks.kept(nodeId), enhance, now)) return { response: new Response(null, { status: 204 }) }
  throw noAudio()
}

// Session and rights may have ended during the long poll.
const stillThere = (air: Parts, { id, nodeId }: Listener, principal: UserPrincipal, now: string): boolean =>
  air.sessions.touch(id, now) && mayHear(air, principal, nodeId)

function chunkResponse({ audio, capturedAt, durationMs, nodeId, rendition, sequence }: Chunk): Streamed {
  const headers = {
    ...AUDIO,
    'content-disposition': `inline; filename="${nodeId.replaceAll(/[^\w.-]/g, '_')}-monitor.wav"`,
    'content-length': String(audio.length),
    [HEADERS.capturedAt]: capturedAt,
    [HEADERS.durationMs]: String(durationMs),
    [HEADERS.rendition]: rendition,
    [HEADERS.sequence]: String(sequence),
  }
  return { details: { capturedAt, rendition, sequence }, response: new Response(audio as never, { headers }) }
}
