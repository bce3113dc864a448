import { API_PREFIX } from '../../../wire/headers.ts'
import type { Job } from '../../../wire/recordings.ts'
import { actionStates } from '../../http/actions.ts'
import type { UserPrincipal } from '../../http/principal.ts'
import { isRetryable, isStoppable } from './jobs.rules.ts'

/** Paths of everything that can be done with a job (docs/contract/api.md: Action states). */
export function jobLinks(id: string) {
  const jobs = `${API_PREFIX}/recording-jobs`
  const self = `${jobs}/${encodeURIComponent(id)}`
  return {
    bulkRetry: `${jobs}/bulk-retry`,
    bulkStop: `${jobs}/bulk-stop`,
    detail: self,
    exportSelected: `${jobs}/export`,
    retry: `${self}/retry`,
  }
}

/** What the caller could do next with a job; `rival` is the job that makes its recording now, `superseded` that another has. */
export function jobActions(principal: UserPrincipal, job: Job, rival: Job | undefined, superseded: boolean) {
  const links = jobLinks(job.id)
  const payload = { jobIds: [job.id] }
  const taken = rival !== undefined ? 'active_job_exists' : superseded && 'superseded_by_retry'
  const stuck = isRetryable(job) ? taken : 'recording_job_not_retryable'
  return actionStates(principal, {
    detail: { method: 'GET', href: links.detail, permission: 'recording:read' },
    exportSelected: { method: 'POST', href: links.exportSelected, payload, permission: 'recording:read' },
    retry: { method: 'POST', href: links.retry, permission: 'recording:control', blocked: stuck },
    // There is no path that stops a single job.
    stop: {
      method: 'POST',
      href: links.bulkStop,
      payload,
      permission: 'recording:control',
      blocked: !isStoppable(job) && 'recording_job_not_stoppable',
    },
  })
}
