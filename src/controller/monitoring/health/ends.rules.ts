import type { HealthEvent } from '../../../wire/health.ts'

/** Recoveries that are not named after what they end. */
const ENDS: Record<string, string[]> = {
  'agent.audio_backend.recovered': ['agent.audio_backend.unavailable'],
  'agent.encoder.recovered': ['agent.encoder.missing'],
  'agent.listen_monitor.enhancement_recovered': ['agent.listen_monitor.enhancement_failed'],
  'agent.meter.analysis_recovered': ['agent.meter.analysis_failed'],
  'agent.meter.capture_recovered': ['agent.meter.capture_failed', 'agent.meter.device_unavailable', 'agent.meter.xrun'],
  'agent.recording_job.claim_next_recovered': ['agent.recording_job.claim_next_failed'],
  'agent.recording_job.control_plane_recovered': ['agent.recording_job.control_plane_failed'],
  'agent.system.cpu_recovered': ['agent.system.cpu_pressure'],
  'agent.system.disk_recovered': ['agent.system.disk_pressure'],
}

/** The types that a report of this type brings to their end; none for what is no recovery, or belongs to a take and stays told of it. */
export function endedBy(type: string): string[] {
  const named = ENDS[type]
  if (named) return named
  if (type.startsWith('agent.recording_job.')) return []
  if (type.endsWith('.sync_recovered')) return [type.replace(/recovered$/, 'failed')]
  return type.endsWith('_recovered') ? [type.replace(/_recovered$/, '')] : []
}

type Report = Pick<HealthEvent, 'details' | 'openedAt' | 'recordingId'>

/** Whether a recovery speaks of this event: not of a later one, nor of another device or take. */
export function ends(recovery: Report, event: Report): boolean {
  if (event.recordingId !== recovery.recordingId || event.openedAt > recovery.openedAt) return false
  return ['device', 'interfaceId'].every((field) => {
    const [one, other] = [recovery.details[field], event.details[field]]
    return one === undefined || other === undefined || one === other
  })
}
