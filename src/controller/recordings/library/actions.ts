import { API_PREFIX } from '../../../wire/headers.ts'
import type { Job, Recording } from '../../../wire/recordings.ts'
import { actionStates } from '../../http/actions.ts'
import type { UserPrincipal } from '../../http/principal.ts'
import { mayGoOn } from '../jobs/jobs.rules.ts'
import { isActive } from './recordings.rules.ts'

interface RecordingJobs {
  active?: Job
  latest?: Job
  /** The job that a retry would repeat. */
  retryable?: Job
}

/** What the jobs of a recording (newest first) allow. */
export function jobsOf(jobs: readonly Job[]): RecordingJobs {
  const active = jobs.find(({ status }) => ['queued', 'running', 'stop_requested'].includes(status))
  const [latest] = jobs
  const retryable = active ? undefined : jobs.find(({ status }) => status === 'failed' || status === 'cancelled')
  return { ...(active ? { active } : {}), ...(latest ? { latest } : {}), ...(retryable ? { retryable } : {}) }
}

/** Paths of the actions on a recording (docs/contract/api.md: Action states). */
export function recordingLinks(id: string, { retryable }: RecordingJobs) {
  const self = `${API_PREFIX}/recordings/${encodeURIComponent(id)}`
  const retryJob = retryable && `${API_PREFIX}/recording-jobs/${encodeURIComponent(retryable.id)}/retry`
  return {
    delete: self,
    download: `${self}/download`,
    file: `${self}/file`,
    metadata: `${self}/metadata`,
    playback: `${self}/playback`,
    ...(retryJob ? { retryJob } : {}),
    stop: `${self}/stop`,
    stream: `${self}/stream`,
    uploadQueue: `${self}/upload-queue`,
  }
}

/** Action states of a recording (docs/contract/api.md: Action states). */
export function recordingActions(principal: UserPrincipal, recording: Recording, jobs: RecordingJobs) {
  const links = recordingLinks(recording.id, jobs)
  const active = isActive(recording.status) || jobs.active !== undefined
  const uncached = !recording.cached && 'recording_not_cached'
  const stoppable = active || (jobs.latest !== undefined && mayGoOn(jobs.latest))
  const stuck = jobs.active ? 'active_job_exists' : !jobs.retryable && 'recording_job_not_retryable'
  return actionStates(principal, {
    delete: {
      method: 'DELETE',
      href: links.delete,
      permission: 'recording:delete',
      blocked: active && 'recording_active',
    },
    download: { method: 'POST', href: links.download, permission: 'recording:download', blocked: uncached },
    editMetadata: { method: 'PATCH', href: links.metadata, permission: 'recording:edit' },
    playback: { method: 'POST', href: links.playback, permission: 'recording:playback', blocked: uncached },
    queueUpload: { method: 'POST', href: links.uploadQueue, permission: 'recording:control', blocked: uncached },
    retryJob: { method: 'POST', href: links.retryJob ?? '', permission: 'recording:control', blocked: stuck },
    stop: {
      method: 'POST',
      href: links.stop,
      permission: 'recording:control',
      blocked: !stoppable && 'recording_not_active',
    },
  })
}
