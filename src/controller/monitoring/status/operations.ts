import { diskRoom } from '../../../kernel/disk.ts'
import { version } from '../../../kernel/version.ts'
import type { Base } from '../../module.ts'
import type { MetricsStore } from './metrics.store.ts'
import { type Operations, RUN_OUTCOMES, type RunTally, type Volume } from './operations.rules.ts'

const RUN = 'schedules.due_run.'

/** Reads what is told of the controller as a whole; how runs of schedules end is counted from now on. */
export function operations({ config, events }: Base, metrics: MetricsStore): () => Promise<Operations> {
  const runs = Object.fromEntries(RUN_OUTCOMES.map((outcome) => [outcome, 0])) as RunTally
  events.on('resource.changed', 'after', ({ action }) => {
    const outcome = RUN_OUTCOMES.find((one) => action === RUN + one)
    if (outcome) runs[outcome]++
  })
  return async () => ({
    backlogs: metrics.backlogs(),
    runs: { ...runs },
    version,
    volumes: [
      ...(await volume('database', config.SVC_DATA_DIR)),
      ...(await volume('takes', config.SVC_RECORDING_CACHE_DIR)),
    ],
  })
}

/** Nothing where the directory is not there, or its file system does not tell its size: some in the network do not. */
async function volume(name: Volume['name'], dir: string): Promise<Volume[]> {
  const room = await diskRoom(dir).catch(() => undefined)
  return room ? [{ availableBytes: room.freeBytes, name, sizeBytes: room.sizeBytes }] : []
}
