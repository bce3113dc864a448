import type { FleetApi } from '../../fleet/api.ts'
import type { Base, Module } from '../../module.ts'
import type { RecordingsApi } from '../../recordings/api.ts'
import type { SchedulesApi } from '../../schedules/api.ts'
import { overviewRoutes } from './overview.routes.ts'
import { overviewStore } from './overview.store.ts'

interface Deps {
  fleet: FleetApi
  recordings: RecordingsApi
  schedules: SchedulesApi
}

/** The overview of a room: its nodes, recent recordings and next schedules. */
export const createOverview = (base: Base, { fleet, recordings, schedules }: Deps): Module => ({
  api: undefined,
  routes: overviewRoutes({
    nodes: fleet.nodes,
    overviews: overviewStore(base.db),
    recordings: recordings.recordings,
    rooms: fleet.rooms,
    schedules: schedules.schedules,
    scope: base.authorization.scope,
  }),
})
