import { Fail, notFound } from '../../kernel/fail.ts'
import { SoundReading } from '../../wire/soundreadings.ts'
import { type AnyRoute, route } from '../http/route.ts'
import type { PreflightApi } from '../monitoring/preflight/api.ts'
import type { ProvenanceStore } from './provenance.store.ts'

/** Up to 512 channels, each some hundred characters. */
const READING_BYTES = 512 * 1024
const READINGS_PER_MINUTE = 60

/** What recorders hear of their rooms before takes, in their first minute, and in whole ones. */
export const soundAgentRoutes = (preflight: PreflightApi, provenance: ProvenanceStore): AnyRoute[] => [
  route({
    method: 'POST',
    path: '/nodes/:id/sound-readings',
    auth: 'node',
    permission: 'node:control',
    target: (p) => ({ type: 'node', id: p.id }),
    action: 'nodes.sound_readings.report',
    audit: 'telemetry',
    body: SoundReading,
    bodyLimit: READING_BYTES,
    perMinute: READINGS_PER_MINUTE,
    status: 202,
    run: ({ params: { id }, body, now }) => {
      mustOwn(provenance, id, body)
      const { changed, healthEventId, ignored } = preflight.accept(id, body, now)
      return {
        data: { ...(healthEventId ? { healthEventId } : {}), ...(ignored ? { ignored } : {}) },
        changed,
        details: { kind: body.kind },
        ...(healthEventId ? { correlation: { healthEventId } } : {}),
      }
    },
  }),
]

function mustOwn(provenance: ProvenanceStore, nodeId: string, reading: SoundReading): void {
  const [kind, id] =
    'scheduleId' in reading
      ? (['schedule', reading.scheduleId] as const)
      : (['recording', reading.recordingId] as const)
  const owner = provenance.ownerOf(kind, id)
  if (owner === undefined) throw notFound(kind === 'recording' ? 'Recording' : 'Schedule')
  if (owner !== nodeId)
    throw new Fail(403, 'node_scope_denied', `Node credential cannot access this ${kind}`, { outcome: 'denied' })
}
