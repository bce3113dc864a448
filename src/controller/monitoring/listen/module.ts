import type { FleetApi } from '../../fleet/api.ts'
import { Streams } from '../../http/streams.ts'
import type { Base, Module } from '../../module.ts'
import type { SettingsApi } from '../../settings/api.ts'
import { displayNodes } from '../meters/display.store.ts'
import { layoutStore } from '../meters/layout.store.ts'
import { meterRoutes } from '../meters/meters.routes.ts'
import { meterStore } from '../meters/meters.store.ts'
import { meterWatchers } from '../meters/watchers.ts'
import type { LiveApi } from './api.ts'
import { chunkStore } from './chunks.store.ts'
import { listenRoutes } from './listen.routes.ts'
import { type Monitored, nodeActionRoutes } from './nodeactions.routes.ts'
import { listenSessions } from './sessions.store.ts'

interface Deps {
  fleet: FleetApi
  settings: SettingsApi
}

/** Meters and live listening. */
export function createLive(base: Base, { fleet: { nodes }, settings }: Deps): Module<LiveApi> {
  const { authorization, clock, config, db, events, ids, notifier } = base
  const { principals, scope } = authorization
  const configChanged = (nodeId: string) => events.emit('config.changed', { nodeId })
  const api = {
    chunks: chunkStore(),
    layouts: layoutStore(db),
    listeners: listenSessions(ids, config.SVC_LISTEN_SESSION_TTL_SECONDS, configChanged),
    meters: meterStore(config.SVC_METER_HISTORY_LIMIT),
    streams: new Streams(clock),
    watchers: meterWatchers(clock, configChanged),
  }
  const { chunks, layouts, listeners, meters, streams, watchers } = api
  return {
    api,
    clockJumped: (by) => {
      for (const memory of [chunks, listeners, meters]) memory.clockJumped(by)
    },
    release: () => streams.close(),
    routes: [
      ...nodeActionRoutes(nodes, monitored(api), scope),
      ...meterRoutes({
        ...{ layouts, meters, principals, streams, watchers },
        nodes: displayNodes(db, config.SVC_NODE_OFFLINE_AFTER_SECONDS),
        site: settings.site,
        visibility: authorization.visibility,
      }),
      ...listenRoutes({ chunks, clock, streams, layouts, nodes, notifier, principals, scope, sessions: listeners }),
    ],
  }
}

// What can be heard or seen of a node now.
const monitored = ({ chunks, meters }: LiveApi): Monitored => ({
  metered: (nodeId) => meters.latest(nodeId) !== undefined,
  monitor(nodeId, now) {
    const chunk = chunks.fresh(nodeId, 'raw', now)
    if (chunk) {
      const { capturedAt, durationMs } = chunk
      return { available: true, capturedAt, contentType: 'audio/wav', durationMs, source: 'agent_audio_chunk' }
    }
    const frame = meters.latest(nodeId)?.frame
    return frame ? { available: true, capturedAt: frame.capturedAt, source: 'meter_frame' } : { available: false }
  },
})
