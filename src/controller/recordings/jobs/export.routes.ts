import { JobIds } from '../../../wire/jobs.ts'
import { type Job, JobFilters } from '../../../wire/recordings.ts'
import { type Column, csvExport, EXPORT_SLICE } from '../../http/csv.ts'
import { type AnyRoute, stream } from '../../http/route.ts'
import type { visibilities } from '../../http/visibility.ts'
import { visible } from './control.routes.ts'
import type { JobStore } from './jobs.store.ts'

const shared = {
  path: '/recording-jobs/export',
  auth: 'user',
  permission: 'recording:read',
  target: () => ({ type: 'recording_job_collection' }),
} as const

/** Jobs as a table for people (docs/contract/api.md: Exports). */
export const jobExportRoutes = (jobs: JobStore, visibility: ReturnType<typeof visibilities>): AnyRoute[] => [
  stream({
    method: 'GET',
    ...shared,
    action: 'recording_jobs.export',
    query: JobFilters,
    run: async ({ principal, query, now }) => ({
      response: csv(jobs.slices(visibility(principal, 'recording:read'), query, EXPORT_SLICE), now),
    }),
  }),
  stream({
    method: 'POST',
    ...shared,
    action: 'recording_jobs.export_selected',
    body: JobIds,
    run: async ({ principal, body, now }) => {
      const chosen = visible(jobs, visibility(principal, 'recording:read'), body)
      return { response: csv([chosen], now), details: { jobCount: chosen.length } }
    },
  }),
]

const csv = (slices: Iterable<Job[]>, now: string): Response =>
  csvExport({ columns: COLUMNS, kind: 'recording-jobs', now, quoting: 'needed', slices })

const COLUMNS: readonly Column<Job>[] = [
  ['id', (j) => j.id],
  ['recordingId', (j) => j.recordingId],
  ['nodeId', (j) => j.nodeId],
  ['status', (j) => j.status],
  ['claimedBy', (j) => j.claimedBy],
  ['createdAt', (j) => j.createdAt],
  ['startedAt', (j) => j.startedAt],
  ['lastHeartbeatAt', (j) => j.lastHeartbeatAt],
  ['leaseExpiresAt', (j) => j.leaseExpiresAt],
  ['stopRequestedAt', (j) => j.stopRequestedAt],
  ['completedAt', (j) => j.completedAt],
  ['failureReason', (j) => j.failureReason],
  ['captureBackend', (j) => j.command.captureBackend],
  ['captureDevice', (j) => j.command.captureDevice],
  ['captureInterfaceId', (j) => j.command.captureInterfaceId],
  ['captureFormat', (j) => j.command.captureFormat],
  ['captureSampleRate', (j) => j.command.captureSampleRate],
  ['captureChannels', (j) => j.command.captureChannels],
  ['durationSeconds', (j) => j.command.durationSeconds],
  ['outputCodec', (j) => j.command.outputCodec],
  ['outputBitrateKbps', (j) => j.command.outputBitrateKbps],
  ['outputVbr', (j) => j.command.outputVbr],
  ['outputFileName', (j) => j.command.outputFileName],
]
