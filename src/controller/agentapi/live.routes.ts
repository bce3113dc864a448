import { Fail } from '../../kernel/fail.ts'
import { HEADERS } from '../../wire/headers.ts'
import { CHUNK_BYTES, ChunkHeaders, ChunkQuery, type ChunkReceipt } from '../../wire/listen.ts'
import { MeterFrame, MeterFrames } from '../../wire/meters.ts'
import { parsed } from '../http/body.ts'
import { type AnyRoute, flow, type Incoming, route } from '../http/route.ts'
import type { LiveApi } from '../monitoring/listen/api.ts'
import { type Notifier, topics } from '../scheduler/notifier.ts'

interface Parts {
  notifier: Notifier
  chunks: LiveApi['chunks']
}

/** Live audio from agents (docs/contract/listening.md: Chunks): telemetry, of which the last seconds are kept in memory. */
export const listenAgentRoutes = ({ chunks, notifier }: Parts): AnyRoute[] => [
  flow({
    method: 'POST',
    path: '/nodes/:id/listen/chunk',
    auth: 'node',
    permission: 'node:control',
    target: (p) => ({ type: 'node', id: p.id }),
    action: 'nodes.listen_monitor.chunk.ingest',
    audit: 'telemetry',
    query: ChunkQuery,
    status: 202,
    run: async ({ params: { id: nodeId }, query: { rendition }, request, now }) => {
      const { capturedAt = now, durationMs } = headersOf(request)
      const audio = await received(request)
      const sent = request.header(HEADERS.sequence)?.slice(0, 32)
      const chunk = chunks.put({ audio, capturedAt, durationMs, nodeId, receivedAt: now, rendition, sent })
      notifier.notify(topics.audio(nodeId))
      const data: ChunkReceipt = {
        capturedAt,
        durationMs,
        nodeId,
        receivedAt: chunk.receivedAt,
        source: 'agent_audio_chunk',
      }
      return { data, changed: false }
    },
  }),
]

// Keys are the headers' purposes: issues name those instead of the header names.
function headersOf(request: Incoming): ChunkHeaders {
  const contentType = request.header('content-type')?.split(';')[0]?.trim().toLowerCase()
  const capturedAt = request.header(HEADERS.capturedAt)
  const durationMs = request.header(HEADERS.durationMs)
  return parsed(ChunkHeaders, { capturedAt, contentType, durationMs }, 'invalid_headers')
}

const tooLarge = (e: unknown): never => {
  if (!(e instanceof Fail) || e.status !== 413) throw e
  throw new Fail(413, 'chunk_too_large', `Monitor chunk exceeds the maximum size of ${CHUNK_BYTES.most} bytes`)
}

/** The whole body. @throws Fail 413 above the limit, 400 below the least or when the agent broke off. */
async function received(request: Incoming): Promise<Uint8Array> {
  const audio = Buffer.concat(await request.whole(CHUNK_BYTES.most).catch(tooLarge))
  if (audio.length < CHUNK_BYTES.least)
    throw new Fail(400, 'chunk_too_small', 'Invalid monitor chunk size', {
      issues: [{ code: 'too_small', minimum: CHUNK_BYTES.least, path: [], message: 'shorter than a WAV header' }],
    })
  return audio
}

/** Levels measured by agents (docs/contract/agent.md: Meters): telemetry, kept in memory. */
export function meterAgentRoutes(meters: LiveApi['meters'], layouts: LiveApi['layouts']): AnyRoute[] {
  const put = (id: string, sent: readonly MeterFrame[], now: string): MeterFrame[] => {
    // A device that is not in the inventory yet keeps its sent name; only callers with the whole node in scope see it.
    const names = new Set(sent.map(({ interfaceId }) => interfaceId))
    const ids = new Map([...names].map((name) => [name, layouts.interfaceId(id, name) ?? name]))
    const frames = sent.map((frame) => ({ ...frame, interfaceId: ids.get(frame.interfaceId) as string }))
    for (const frame of frames) meters.put(id, frame, now)
    return frames
  }
  return [
    route({
      method: 'POST',
      path: '/nodes/:id/meter-frame',
      ...ingest,
      action: 'nodes.meter_frame.ingest',
      body: MeterFrame,
      run: ({ params: { id }, body, now }) => {
        requireOwn([body], id)
        const [frame] = put(id, [body], now)
        return { data: { frame, receivedAt: now }, changed: false }
      },
    }),
    route({
      method: 'POST',
      path: '/nodes/:id/meter-frames',
      ...ingest,
      action: 'nodes.meter_frames.ingest',
      body: MeterFrames,
      run: ({ params: { id }, body: { frames }, now }) => {
        requireOwn(frames, id)
        put(id, frames, now)
        return { data: { receivedAt: now }, changed: false }
      },
    }),
  ]
}

const ingest = {
  audit: 'telemetry',
  auth: 'node',
  bodyLimit: 256 * 1024,
  permission: 'node:control',
  status: 202,
  target: (p: { id: string }) => ({ type: 'node', id: p.id }),
} as const

/** @throws Fail 403 */
function requireOwn(frames: readonly MeterFrame[], id: string): void {
  if (frames.every(({ nodeId }) => nodeId === id)) return
  throw new Fail(403, 'node_scope_denied', 'Meter frame node mismatch', { outcome: 'denied' })
}
