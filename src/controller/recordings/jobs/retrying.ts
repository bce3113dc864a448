import { conflict } from '../../../kernel/fail.ts'
import type { Ids } from '../../../kernel/ids.ts'
import type { Job } from '../../../wire/recordings.ts'
import type { FleetApi } from '../../fleet/api.ts'
import { isInItsRoom } from '../library/start.rules.ts'
import type { ClaimStore } from './claims.store.ts'
import type { JobService } from './jobs.service.ts'

interface Parts {
  claims: ClaimStore
  ids: Ids
  jobService: Pick<JobService, 'changed'>
  nodes: FleetApi['nodes']
  recordings: {
    /** Restarts the take. @returns the files of the old one, to be deleted after the commit */
    restart(id: string, now: string): string[]
    find(id: string): { roomId?: string } | undefined
  }
}

/**
 * Makes the new job of a take that is begun again, within the caller's transaction: the command stays, its length may be another
 * (docs/contract/recordings.md: Retry). @throws Fail 409 while its node is retired or its channels are in another room
 */
export function jobRetrying({ claims, ids, jobService, nodes, recordings }: Parts) {
  return (
    source: Job,
    now: string,
    durationSeconds = source.command.durationSeconds,
  ): { files: string[]; job: Job } => {
    nodes.mustServe(source.nodeId)
    if (!isInItsRoom(nodes.get(source.nodeId, now), source, recordings.find(source.recordingId)?.roomId))
      throw conflict('channels_moved', 'The channels of this take are in another room now: start a new recording')
    const files = recordings.restart(source.recordingId, now)
    const command = { ...source.command, durationSeconds }
    const job = claims.create(ids.make('job'), source.recordingId, source.nodeId, command, now)
    jobService.changed(job)
    return { files, job }
  }
}
export type JobRetrying = ReturnType<typeof jobRetrying>
