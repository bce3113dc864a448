import { type Clock, iso } from '../../../kernel/clock.ts'
import { conflict } from '../../../kernel/fail.ts'
import type { Ids } from '../../../kernel/ids.ts'
import { API_PREFIX } from '../../../wire/headers.ts'
import type { Permission } from '../../../wire/permissions.ts'
import { type Rendition, RenditionQuery } from '../../../wire/recordings.ts'
import { ConcurrencyLimit, tooManyStreams } from '../../http/concurrency.ts'
import type { UserPrincipal } from '../../http/principal.ts'
import type { Principals } from '../../http/principals.ts'
import { type AnyRoute, flow, type Incoming, type Streamed, stream } from '../../http/route.ts'
import type { Scope } from '../../http/scope.ts'
import { type Notifier, topics } from '../../scheduler/notifier.ts'
import { isComing } from '../chunks/chunks.rules.ts'
import type { ChunkStore } from '../chunks/chunks.store.ts'
import { type Beyond, MEDIA_ANSWERS, sendTake } from './beyond.ts'
import type { OpenPlaybacks } from './openplaybacks.ts'
import { byRendition, chosenFile, contentTypeOf, downloadName } from './recordings.rules.ts'
import type { RecordingFile, RecordingStore } from './recordings.store.ts'
import type { TicketStore } from './tickets.store.ts'

/** `takes` is the directory of the stored files. */
interface Playback {
  notifier: Notifier
  clock: Clock
  ids: Ids
  chunks: ChunkStore
  library: Beyond['library']
  openPlaybacks: OpenPlaybacks
  principals: Principals
  recordings: RecordingStore
  /** Whether whoever asks is sent to the destination for what is only there. */
  redirects: boolean
  scope: Scope
  takes: string
  tickets: TicketStore
}

// A download begins within ten minutes (docs/contract/api.md: Files); a player may request more until an hour after the end.
const DOWNLOAD_SECONDS = 600
const PLAYER_SPARE_SECONDS = 3600
const LONGEST_SECONDS = 86_400
// A take that arrived in chunks is joined in the background: requests wait for it about as long as players do.
const JOIN_SECONDS = 50
// A player that has read ahead requests more within this time.
const PAUSE_SECONDS = 120
// Simultaneous responses per user, including those that wait for a join.
const MAX_PER_USER = 16
// How often rights are checked while a file is sent.
const CHECK_MS = 5000

const one = (p: { id: string }) => ({ type: 'recording', id: p.id })
const listen = { auth: 'user', permission: 'recording:playback', target: one } as const
const download = { auth: 'user', permission: 'recording:download', target: one } as const

/** Listening and downloading: tickets for players, and the bytes with HEAD, Range and conditional requests. */
export const playbackRoutes = (playback: Playback): AnyRoute[] => [...ticketRoutes(playback), ...mediaRoutes(playback)]

/** The file to play, after waiting for a join under way: an earlier joined file is incomplete. Undefined when there is none. */
async function stored(
  { chunks, clock, notifier, recordings }: Playback,
  id: string,
  rendition: Rendition | undefined,
  gone: AbortSignal,
): Promise<RecordingFile | undefined> {
  const raw = rendition === 'raw'
  const isJoining = (): boolean => {
    const set = chunks.find(id)
    return set !== undefined && isComing(set, raw && set.raws > 0 ? 'raw' : 'primary', iso(clock.now()))
  }
  await notifier.until(topics.joined(id), JOIN_SECONDS, gone, () => (isJoining() ? undefined : true))
  const { primary, ...others } = byRendition(recordings.files(id))
  // A take whose chunks are partly enhanced is not a raw master.
  const isEnhanced = raw && chunks.files(id).some((file) => file.rendition === 'enhanced')
  return chosenFile(primary && !isEnhanced ? { ...others, primary } : others, rendition)
}

/** @throws Fail 409 when nothing is stored yet. */
async function ready(playback: Playback, id: string, gone: AbortSignal, what: string) {
  const recording = playback.recordings.get(id)
  const file = await stored(playback, id, undefined, gone)
  if (!file) throw conflict('recording_not_cached', `Recording is not ready for ${what}`)
  return { recording, file }
}

const ticketRoutes = (playback: Playback): AnyRoute[] => [playbackRoute(playback), downloadRoute(playback)]

const playbackRoute = (playback: Playback): AnyRoute =>
  flow({
    method: 'POST',
    path: '/recordings/:id/playback',
    ...listen,
    action: 'recordings.playback.start',
    success: ['recordings.playback.started', 'recordings.playback.failed'],
    status: 202,
    run: async ({ params: { id }, request, principal }, commit) => {
      const { ids, openPlaybacks, tickets } = playback
      const { recording } = await ready(playback, id, request.gone(), 'playback')
      return commit((now) => {
        const seconds = Math.min(recording.durationSeconds + PLAYER_SPARE_SECONDS, LONGEST_SECONDS)
        const { permission } = listen
        const { expiresAt, ticket } = tickets.mint(
          { permission, recordingId: id, seconds, sessionId: principal.sessionId },
          now,
        )
        openPlaybacks.expect(id, PAUSE_SECONDS)
        const sessionId = ids.make('playback')
        const streamUrl = `${API_PREFIX}/recordings/${encodeURIComponent(id)}/stream`
        const mediaUrl = `${streamUrl}?ticket=${ticket}`
        return {
          data: {
            expiresAt,
            mediaUrl,
            mode: 'controller_cache',
            recordingId: id,
            sessionId,
            startedAt: now,
            streamUrl,
          },
          correlation: { recordingId: id, playbackSessionId: sessionId },
          details: { expiresAt },
        }
      })
    },
  })

const downloadRoute = (playback: Playback): AnyRoute =>
  flow({
    method: 'POST',
    path: '/recordings/:id/download',
    ...download,
    action: 'recordings.download.prepare',
    success: ['recordings.download.prepared', 'recordings.download.failed'],
    status: 202,
    run: async ({ params: { id }, request, principal }, commit) => {
      const { ids, openPlaybacks, tickets } = playback
      const { file, recording } = await ready(playback, id, request.gone(), 'download')
      return commit((now) => {
        const { permission } = download
        const asked = { permission, recordingId: id, seconds: DOWNLOAD_SECONDS, sessionId: principal.sessionId }
        const { expiresAt, ticket } = tickets.mint(asked, now)
        openPlaybacks.expect(id, PAUSE_SECONDS)
        const downloadId = ids.make('download')
        const fileName = downloadName(recording, file.path).ascii
        const url = `${API_PREFIX}/recordings/${encodeURIComponent(id)}/file`
        const mediaUrl = `${url}?ticket=${ticket}`
        return {
          data: { downloadId, expiresAt, fileName, mediaUrl, mode: 'controller_cache', recordingId: id, url },
          correlation: { recordingId: id, downloadId },
          details: { expiresAt, fileName },
        }
      })
    },
  })

/** Whether the person may still have this take: session, permission and scope, looked up every few seconds. */
function rightsCheck({ clock, principals, scope }: Playback, { id, permission, principal }: Wanted): () => boolean {
  let checkedAt = clock.monotonic()
  let lasts = true
  const allowed = (): boolean => {
    const person = principals.reload(principal)
    return person !== undefined && scope.decide(person, permission, one({ id })).allowed
  }
  return () => {
    if (lasts && clock.monotonic() - checkedAt >= CHECK_MS) {
      checkedAt = clock.monotonic()
      lasts = allowed()
    }
    return lasts
  }
}

interface Wanted {
  disposition: 'attachment' | 'inline'
  id: string
  permission: Permission
  rendition: Rendition | undefined
  request: Incoming
  principal: UserPrincipal
}

/** Sends a stored file; `ended` is called when the body is over. @throws Fail 409 when there is none. */
async function sent(playback: Playback, wanted: Wanted, ended: () => void): Promise<Streamed> {
  const { disposition, id, rendition, request } = wanted
  const { openPlaybacks, recordings } = playback
  const recording = recordings.get(id)
  const file = await stored(playback, id, rendition, request.gone())
  if (!file)
    throw conflict('recording_not_cached', `${rendition === 'raw' ? 'The raw rendition' : 'Recording'} is not cached`)
  const name = downloadName(recording, file.path)
  openPlaybacks.expect(id, PAUSE_SECONDS)
  const { response, size } = await sendTake(playback, request, file, {
    contentType: contentTypeOf(file.path),
    disposition,
    ended,
    hold: () => openPlaybacks.hold(id),
    mayGoOn: rightsCheck(playback, wanted),
    name,
    path: file.path,
    size: file.sizeBytes,
    storedAt: file.storedAt,
    tag: file.checksum,
  })
  return {
    correlation: { recordingId: id },
    details: { disposition, fileName: name.ascii, rendition: rendition ?? 'default', size },
    response,
  }
}

const mediaRoutes = (playback: Playback): AnyRoute[] => {
  const places = new ConcurrencyLimit(MAX_PER_USER)
  const send = async (wanted: Wanted): Promise<Streamed> => {
    if (places.full(wanted.principal.id)) throw tooManyStreams()
    const leave = places.take(wanted.principal.id)
    try {
      return await sent(playback, wanted, leave)
    } catch (e) {
      leave()
      throw e
    }
  }
  return [
    stream({
      method: 'GET',
      path: '/recordings/:id/stream',
      otherwise: MEDIA_ANSWERS,
      ...listen,
      action: 'recordings.playback.stream',
      query: RenditionQuery,
      run: ({ params: { id }, query: { rendition }, request, principal }) =>
        send({ disposition: 'inline', id, permission: listen.permission, rendition, request, principal }),
    }),
    stream({
      method: 'GET',
      path: '/recordings/:id/file',
      otherwise: MEDIA_ANSWERS,
      ...download,
      action: 'recordings.download.file',
      query: RenditionQuery,
      run: ({ params: { id }, query: { rendition }, request, principal }) =>
        send({ disposition: 'attachment', id, permission: download.permission, rendition, request, principal }),
    }),
  ]
}
