// The machinery between stores and edge: what rings, starts, ends and reaches.
import { Bell } from './background/bell.ts'
import type { Config } from './config.ts'
import type { Edge } from './edge/edge.ts'
import { reaches } from './edge/reach.ts'
import { Turnstile } from './link/intake.ts'
import { endings } from './recordings/endings.ts'
import { starter } from './recordings/start.ts'
import type { Stores, Surroundings } from './stores.ts'

/** What routes and runners share beside the stores; `stop` in compose.ts ends what has a life. */
export function worksOf(surroundings: Surroundings, edge: Edge, stores: Stores) {
  const { clock, config, db, ids } = surroundings
  const bell = new Bell(clock)
  return {
    ...surroundings,
    audit: edge.audit,
    bell,
    ending: endings(stores.recordings, stores.health),
    reach: reaches(db),
    start: starter({ ...stores, bell, ids, ...captureDefaults(config) }),
    stores,
    takes: config.SVC_RECORDING_CACHE_DIR,
    turnstile: new Turnstile(),
  }
}
export type Works = ReturnType<typeof worksOf>

const captureDefaults = (config: Config) => ({
  defaultInterfaceId: config.SVC_AGENT_CAPTURE_INTERFACE_ID,
  defaults: {
    channels: config.SVC_AGENT_CAPTURE_CHANNELS,
    device: config.SVC_AGENT_CAPTURE_DEVICE,
    format: config.SVC_AGENT_CAPTURE_FORMAT,
    sampleRate: config.SVC_AGENT_CAPTURE_SAMPLE_RATE,
    seconds: config.SVC_AGENT_CAPTURE_SECONDS,
  },
})
