import { Offer } from '../../wire/custody.ts'
import { type AnyRoute, route } from '../http/route.ts'
import type { RecordingsApi } from '../recordings/api.ts'

/** How a recorder offers a take whose recording got lost with the controller that ordered it. */
export const custodyAgentRoutes = (
  custody: RecordingsApi['custody'],
  changed: RecordingsApi['jobService']['changed'],
): AnyRoute[] => [
  route({
    method: 'POST',
    path: '/nodes/:id/recording-jobs/offer',
    auth: 'node',
    permission: 'recording:control',
    target: (p) => ({ type: 'node', id: p.id }),
    action: 'recording_jobs.offer',
    body: Offer,
    perMinute: 60,
    status: 200,
    run: ({ params, body, now }) => {
      const { changed: done, fresh, job } = custody.adopt(params.id, body.note, now)
      if (fresh) changed(job)
      const correlation = { recordingId: job.recordingId, recordingJobId: job.id }
      return { data: job, changed: done, correlation, ...(fresh ? { after: job } : {}) }
    },
  }),
]
