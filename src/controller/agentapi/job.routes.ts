import { type Clock, iso } from '../../kernel/clock.ts'
import { Fail } from '../../kernel/fail.ts'
import { HEADERS } from '../../wire/headers.ts'
import { Claim, type Job, JobHeartbeat, WaitQuery } from '../../wire/recordings.ts'
import type { Events } from '../events.ts'
import { type AnyRoute, type Done, flow, type Incoming, route, UNSYNCED } from '../http/route.ts'
import type { RecordingsApi } from '../recordings/api.ts'
import { isLeaseReason } from '../recordings/jobs/jobs.rules.ts'
import { type Notifier, topics } from '../scheduler/notifier.ts'

const node = (p: { id: string }) => ({ type: 'node', id: p.id })
const one = (p: { id: string }) => ({ type: 'recording_job', id: p.id })
const agent = { auth: 'node', permission: 'recording:control' } as const

interface Parts {
  claims: RecordingsApi['claims']
  clock: Clock
  custody: RecordingsApi['custody']
  events: Events
  jobs: RecordingsApi['jobs']
  leases: RecordingsApi['leases']
  notifier: Notifier
  service: RecordingsApi['jobService']
}

/** What a recorder can capture with, as it reports. */
type ClaimRequest = Parameters<RecordingsApi['claims']['peek']>[1]

type Claimed = Done<Job | Job[] | null>
const NO_JOB = { 204: 'There is no job' } as const
const nothing: Claimed = { data: null, status: 204, changed: false }

/** How an agent finds, claims, renews and ends its jobs (docs/contract/agent.md: Jobs and claims). */
export const jobAgentRoutes = (parts: Parts): AnyRoute[] => [
  peekRoute(parts),
  claimRoute(parts, 'claim-next', 'recording_jobs.claim_next', false),
  claimRoute(parts, 'claim-next-group', 'recording_jobs.claim_next_group', true),
  ...ownJobRoutes(parts),
  heartbeatRoute(parts),
  terminalRoute(parts, 'cancelled'),
  terminalRoute(parts, 'failed'),
]

/** Waits for a job: until there may be one, or until the device that a waiting job needs is free. */
const waitForJob = (
  { claims, clock, notifier }: Parts,
  nodeId: string,
  asking: ClaimRequest,
  seconds: number,
  gone: AbortSignal,
) => {
  const now = () => iso(clock.now())
  const most = seconds > 0 ? Math.min(seconds, claims.freeIn(nodeId, now()) ?? seconds) : 0
  return notifier.until(topics.jobs(nodeId), most, gone, () => claims.peek(nodeId, asking, now()))
}

const peekRoute = (parts: Parts): AnyRoute =>
  flow({
    method: 'GET',
    path: '/nodes/:id/recording-jobs/next',
    ...agent,
    target: node,
    action: 'recording_jobs.next',
    otherwise: NO_JOB,
    audit: 'telemetry',
    query: WaitQuery,
    run: async ({ params, query, request }) => {
      const job = await waitForJob(parts, params.id, {}, query.waitSeconds ?? 0, request.gone())
      return job ? { data: job, changed: false } : (nothing as Done<Job | null>)
    },
  })

const claimRoute = (parts: Parts, name: 'claim-next' | 'claim-next-group', action: string, group: boolean): AnyRoute =>
  flow({
    method: 'POST',
    path: `/nodes/:id/recording-jobs/${name}` as const,
    otherwise: NO_JOB,
    ...agent,
    target: node,
    action,
    audit: 'telemetry',
    query: WaitQuery,
    // Other agents send anything or nothing here: an unknown body is ignored.
    body: Claim.catch({}),
    run: async ({ params: { id }, query, body, request }, commit): Promise<Claimed> => {
      const { claims, custody, notifier, service } = parts
      const signal = request.gone()
      const seen = await waitForJob(parts, id, body, query.waitSeconds ?? 0, signal)
      if (!seen) return nothing
      return commit((now) => {
        const claimed = signal.aborted ? [] : claims.claimNext(id, body, group, now)
        const [first] = claimed
        if (!first) return nothing
        for (const job of claimed) service.changed(job)
        return {
          data: group ? claimed.map(custody.handedOut) : custody.handedOut(first),
          changed: true,
          correlation: { recordingId: first.recordingId, recordingJobId: first.id },
          details: { jobIds: claimed.map((job) => job.id) },
          undelivered: () => {
            for (const job of claimed) if (claims.release(job)) notifier.notify(topics.jobs(id))
          },
        }
      })
    },
  })

// Only for the job's own node: other nodes must not learn anything about it.
function ownJob(jobs: RecordingsApi['jobs'], id: string, nodeId: string): Job {
  const job = jobs.get(id)
  if (job.nodeId !== nodeId)
    throw new Fail(403, 'node_scope_denied', 'Node credential cannot access this job', { outcome: 'denied' })
  return job
}

const correlationOf = (job: Job) => ({ correlation: { recordingId: job.recordingId, recordingJobId: job.id } })

const ownJobRoutes = ({ claims, custody, jobs, service }: Parts): AnyRoute[] => [
  route({
    method: 'POST',
    path: '/recording-jobs/:id/claim',
    ...agent,
    target: one,
    action: 'recording_jobs.claim',
    run: ({ params, principal, now }) => {
      ownJob(jobs, params.id, principal.nodeId)
      const job = claims.claim(params.id, principal.nodeId, now)
      service.changed(job)
      return { data: custody.handedOut(job), changed: true, ...correlationOf(job) }
    },
  }),
  // The twin of the user's route on this path: a node token finds this one.
  route({
    method: 'GET',
    path: '/recording-jobs/:id',
    ...agent,
    target: one,
    action: 'recording_jobs.read_one',
    audit: 'telemetry',
    run: ({ params, principal }) => ({ data: ownJob(jobs, params.id, principal.nodeId), changed: false }),
  }),
]

/**
 * Renews the lease at once. With `waitSeconds` only the answer waits until the job is to be stopped, so that an agent learns
 * of a stop immediately.
 */
const heartbeatRoute = ({ events, jobs, leases, notifier }: Parts): AnyRoute =>
  flow({
    method: 'POST',
    path: '/recording-jobs/:id/heartbeat',
    ...agent,
    target: one,
    action: 'recording_jobs.heartbeat',
    audit: 'telemetry',
    query: WaitQuery,
    // An unreadable body must not cost the lease.
    body: JobHeartbeat.catch({}),
    run: async ({ params: { id }, query, body, principal, request }, commit) => {
      const renewed = await commit((now) => {
        ownJob(jobs, id, principal.nodeId)
        const data = leases.heartbeat(id, principal.nodeId, body.progress, now)
        if (body.progress) events.emit('job.progressed', { id })
        return { data, changed: false }
      }, UNSYNCED)
      const seconds = Math.min(query.waitSeconds ?? 0, leases.longestWait)
      if (seconds === 0) return renewed
      const news = (): Job | undefined => {
        const job = jobs.get(id)
        return job.status === 'running' ? undefined : job
      }
      const data = (await notifier.until(topics.jobs(principal.nodeId), seconds, request.gone(), news)) ?? renewed.data
      return { ...renewed, data }
    },
  })

/** The reason an agent gives, cleaned for storage. Only the controller may say that a lease expired. */
function reasonOf(request: Incoming, fallback: string): string {
  const given = (request.header(HEADERS.reason) ?? '')
    .replace(/\p{Cc}/gu, ' ')
    .trim()
    .slice(0, 240)
  return given === '' || isLeaseReason(given) ? fallback : given
}

const terminalRoute = ({ jobs, service }: Parts, to: 'cancelled' | 'failed'): AnyRoute =>
  route({
    method: 'POST',
    path: `/recording-jobs/:id/${to}` as const,
    ...agent,
    target: one,
    action: `recording_jobs.${to}`,
    run: ({ params, principal, request, now }) => {
      const before = ownJob(jobs, params.id, principal.nodeId)
      const reason = reasonOf(request, `agent_${to}`)
      const ended = service.end(before, to, reason, now)
      if (!ended) {
        if (before.status !== to)
          throw new Fail(409, 'recording_job_terminal', `Recording job is already ${before.status}`)
        return { data: before, changed: false, ...correlationOf(before) }
      }
      const details = { ...ended, reason }
      return { data: jobs.get(before.id), changed: true, details, ...correlationOf(before) }
    },
  })
