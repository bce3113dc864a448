// A take that its recorder keeps: a node that has claimed the job, what it delivers and what it hears.
import type { Kit } from '../../../kit/kit.ts'
import { sound } from '../../../kit/sound.ts'

/** A profile with masters. */
export const ENHANCED = { codec: 'wav', enhancement: { loudnorm: { enabled: true } } }
export const REPLICATED = { env: { SVC_CUSTODY: 'replicated' } }

/** A node, and a job it has claimed, with the note of it; `more` is what else its command says. */
export async function claimed(k: Kit, profile?: object, more: object = {}) {
  const admin = k.as('admin')
  const made = profile && (await admin.post('/settings/recording-profiles', { name: 'Profile', ...profile })).json.data
  const node = await k.enroll()
  const asked = {
    durationSeconds: 10,
    name: 'Lecture 7',
    nodeId: node.id,
    recordingProfileId: made?.id,
    tags: ['physics'],
  }
  const { data, job } = (await admin.post('/recordings', asked)).json
  k.sql('UPDATE recording_jobs SET command = json_patch(command, ?) WHERE id = ?', JSON.stringify(more), job.id)
  const { json } = await node.agent.post(`/nodes/${node.id}/recording-jobs/claim-next-group`)
  return {
    ...node,
    jobId: job.id as string,
    note: json.data[0].command.custody as string,
    recordingId: data.id as string,
  }
}
export type Claimed = Awaited<ReturnType<typeof claimed>>

const headersOf = (jobId: string) => ({
  'content-type': 'audio/wav',
  'x-svc-duration-seconds': '10',
  'x-svc-recording-job-id': jobId,
})
export const deliver = (
  { agent, jobId, recordingId }: Pick<Claimed, 'agent' | 'jobId' | 'recordingId'>,
  bytes: Uint8Array = sound(50_000),
  query = '',
) => agent.put(`/recordings/${recordingId}/cache-file${query}`, bytes, headersOf(jobId))
/** What a heartbeat that keeps the take hears of it. */
export async function heard({ agent, id, recordingId }: Pick<Claimed, 'agent' | 'id' | 'recordingId'>) {
  const beat = { agentVersion: '1', hostname: 'hall', kept: [recordingId] }
  return (await agent.post(`/nodes/${id}/heartbeat`, beat)).json.data.kept[recordingId]
}
export const offered = ({ agent, id, note }: Pick<Claimed, 'agent' | 'id' | 'note'>) =>
  agent.post(`/nodes/${id}/recording-jobs/offer`, { note })
/** As if a destination that keeps the library had verified what is stored. */
export function uploaded(k: Kit, recordingId: string): void {
  k.sql(`INSERT OR IGNORE INTO upload_destinations (id, display_name, kind, enabled, keeps_library, created_at, updated_at)
    VALUES ('archive', 'Archive', 's3', 1, 1, '${k.now()}', '${k.now()}')`)
  k.sql(
    `INSERT OR IGNORE INTO remote_copies (recording_id, checksum, destination_id, object_key, verified_at)
       SELECT recording_id, checksum, 'archive', path, '${k.now()}' FROM recording_files WHERE recording_id = ?`,
    recordingId,
  )
}
