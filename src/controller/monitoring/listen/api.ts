import type { Streams } from '../../http/streams.ts'
import type { LayoutStore } from '../meters/layout.store.ts'
import type { Meters } from '../meters/meters.store.ts'
import type { MeterWatchers } from '../meters/watchers.ts'
import type { Chunks } from './chunks.store.ts'
import type { ListenSessions } from './sessions.store.ts'

/** Live telemetry and audio: in memory, never in the database. */
export interface LiveApi {
  chunks: Chunks
  layouts: LayoutStore
  listeners: ListenSessions
  meters: Meters
  streams: Streams
  watchers: MeterWatchers
}
