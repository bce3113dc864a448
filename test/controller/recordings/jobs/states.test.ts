import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { chunkStore } from '../../../../src/controller/recordings/chunks/chunks.store.ts'
import { JOB_STATUSES, type JobStatus, type RecordingStatus } from '../../../../src/wire/recordings.ts'
import { type Answer, kit } from '../../../kit/kit.ts'
import { sound } from '../../../kit/sound.ts'
import { ENHANCEMENT, takes } from '../library/takes.ts'

// docs/contract/recordings.md: States of a job, and of a recording: every trigger in every state. What a table does not name
// is forbidden: 409, nothing changes.

const k = kit()
const t = takes(k)
const { agent, id: nodeId } = await k.enroll()
after(() => k.close())

interface World {
  job: string
  recording: string
  recordingState(): RecordingStatus
  state(): JobStatus
}
let made = 0

/** A job of the node in any state, with its recording. */
function world(status: JobStatus, recordingStatus: RecordingStatus = 'recording'): World {
  const [job, recording] = [`j${++made}`, `r${made}`]
  t.recording(recording, { nodeId })
  t.job(job, recording, { nodeId, status, command: { enhancement: ENHANCEMENT } })
  k.sql('UPDATE recordings SET status = ? WHERE id = ?', status === 'failed' ? 'failed' : recordingStatus, recording)
  const reason = status === 'failed' || status === 'cancelled' ? 'earlier' : null
  k.sql('UPDATE recording_jobs SET failure_reason = ? WHERE id = ?', reason, job)
  if (status !== 'queued')
    k.sql(
      'UPDATE recording_jobs SET claimed_by = ?, started_at = ?, lease_expires_at = ? WHERE id = ?',
      ...[nodeId, k.now(), k.now(), job],
    )
  const statusOf = <S>(table: string, id: string) =>
    k.rows<{ s: S }>(`SELECT status AS s FROM ${table} WHERE id = ?`, id)[0]?.s as S
  return {
    job,
    recording,
    recordingState: () => statusOf('recordings', recording),
    state: () => statusOf('recording_jobs', job),
  }
}

const upload =
  (query: string) =>
  ({ job, recording }: World) =>
    agent.put(`/recordings/${recording}/cache-file${query}`, sound('take', 'mp3'), {
      'x-svc-recording-job-id': job,
      'x-svc-file-name': 'a.wav',
    })
/** The same for a job that enhances nothing. */
const plain =
  (query: string) =>
  (w: World): Promise<Answer> => {
    k.sql(`UPDATE recording_jobs SET command = json_remove(command, '$.enhancement') WHERE id = ?`, w.job)
    return upload(query)(w)
  }
const ended = { cancelled: 409, completed: 409, failed: 409 }
const active = { queued: 200, running: 200, stop_requested: 200 }
const TRIGGERS: Record<
  string,
  {
    act: (w: World) => Promise<Answer>
    answers: Partial<Record<JobStatus, number>>
    to: Partial<Record<JobStatus, JobStatus>>
  }
> = {
  claim: {
    act: ({ job }) => agent.post(`/recording-jobs/${job}/claim`),
    answers: { ...ended, queued: 200, running: 409, stop_requested: 409 },
    to: { queued: 'running' },
  },
  heartbeat: {
    act: ({ job }) => agent.post(`/recording-jobs/${job}/heartbeat`),
    answers: { ...ended, queued: 409, running: 200, stop_requested: 200 },
    to: {},
  },
  'report of a failure': {
    act: ({ job }) => agent.post(`/recording-jobs/${job}/failed`),
    answers: { ...active, ...ended, failed: 200 },
    to: { queued: 'failed', running: 'failed', stop_requested: 'failed' },
  },
  'report of a cancellation': {
    act: ({ job }) => agent.post(`/recording-jobs/${job}/cancelled`),
    answers: { ...active, ...ended, cancelled: 200 },
    to: { queued: 'cancelled', running: 'cancelled', stop_requested: 'cancelled' },
  },
  'stop of its recording': {
    act: ({ recording }) => k.as('admin').post(`/recordings/${recording}/stop`),
    answers: { ...active, cancelled: 200, completed: 200, failed: 200 },
    to: { queued: 'cancelled', running: 'stop_requested' },
  },
  'bulk stop': {
    act: ({ job }) => k.as('admin').post('/recording-jobs/bulk-stop', { jobIds: [job] }),
    answers: { ...ended, queued: 200, running: 200, stop_requested: 409 },
    to: { queued: 'cancelled', running: 'stop_requested' },
  },
  'upload of the take': {
    act: upload(''),
    answers: { queued: 201, running: 201, stop_requested: 201, completed: 201, cancelled: 409, failed: 409 },
    to: { queued: 'completed', running: 'completed', stop_requested: 'completed' },
  },
  'upload of the enhanced take': {
    act: upload('?rendition=enhanced'),
    answers: { queued: 201, running: 201, stop_requested: 201, completed: 201, cancelled: 409, failed: 409 },
    to: { queued: 'completed', running: 'completed', stop_requested: 'completed' },
  },
  'upload of the raw master': {
    act: upload('?rendition=raw'),
    answers: { queued: 201, running: 201, stop_requested: 201, completed: 201, cancelled: 409, failed: 409 },
    to: {},
  },
  'upload of the raw master where nothing is enhanced': {
    act: plain('?rendition=raw'),
    answers: { queued: 201, running: 201, stop_requested: 201, completed: 201, cancelled: 409, failed: 409 },
    to: { queued: 'completed', running: 'completed', stop_requested: 'completed' },
  },
  'upload of the last raw chunk where nothing is enhanced': {
    act: plain('?rendition=raw&chunk=0&chunkTotal=1'),
    answers: { queued: 201, running: 201, stop_requested: 201, completed: 201, cancelled: 409, failed: 409 },
    to: { queued: 'completed', running: 'completed', stop_requested: 'completed' },
  },
  'upload of a chunk': {
    act: upload('?chunk=0'),
    answers: { queued: 201, running: 201, stop_requested: 201, completed: 201, cancelled: 409, failed: 409 },
    to: {},
  },
  'upload of the last chunk': {
    act: upload('?chunk=0&chunkTotal=1'),
    answers: { queued: 201, running: 201, stop_requested: 201, completed: 201, cancelled: 409, failed: 409 },
    to: { queued: 'completed', running: 'completed', stop_requested: 'completed' },
  },
  retry: {
    act: ({ job }) => k.as('admin').post(`/recording-jobs/${job}/retry`),
    answers: { queued: 409, running: 409, stop_requested: 409, completed: 409, cancelled: 201, failed: 201 },
    to: {},
  },
  'bulk retry': {
    act: ({ job }) => k.as('admin').post('/recording-jobs/bulk-retry', { jobIds: [job] }),
    answers: { queued: 409, running: 409, stop_requested: 409, completed: 409, cancelled: 201, failed: 201 },
    to: {},
  },
  'end of the lease': {
    act: async () => {
      k.advance('1s')
      await k.tick('job-lease')
      return { status: 200 } as Answer
    },
    answers: { ...active, cancelled: 200, completed: 200, failed: 200 },
    to: { running: 'failed', stop_requested: 'cancelled' },
  },
}

for (const [name, { act, answers, to }] of Object.entries(TRIGGERS))
  for (const from of JOB_STATUSES)
    test(`${name}: a job that is ${from} ${to[from] ? `becomes ${to[from]}` : 'stays so'}`, async () => {
      const w = world(from)
      const answer = await act(w)
      assert.deepEqual([answer.status, w.state()], [answers[from], to[from] ?? from], answer.text)
    })

// What the end of a job makes of its recording.
const ENDINGS: [how: 'failed' | 'cancelled', from: RecordingStatus, chunk: boolean, to: RecordingStatus][] = [
  ['failed', 'recording', false, 'failed'],
  ['failed', 'queued', false, 'failed'],
  ['failed', 'completed', false, 'failed'],
  ['failed', 'recording', true, 'partial'],
  ['failed', 'cached', false, 'cached'],
  ['failed', 'uploaded', false, 'uploaded'],
  ['failed', 'partial', false, 'partial'],
  ['cancelled', 'recording', false, 'completed'],
  ['cancelled', 'queued', false, 'completed'],
  ['cancelled', 'recording', true, 'completed'],
  ['cancelled', 'cached', false, 'cached'],
  ['cancelled', 'uploaded', false, 'uploaded'],
  ['cancelled', 'partial', false, 'partial'],
]
for (const [how, from, chunk, to] of ENDINGS)
  test(`a job that is ${how} leaves its ${from} recording${chunk ? ' with a chunk' : ''} ${to}`, async () => {
    const w = world('running', from)
    if (chunk) {
      const file = {
        checksum: 'sha256:00',
        index: 1,
        path: `${w.recording}.wav`,
        rendition: 'primary',
        sizeBytes: 1,
      } as const
      const more = {
        durationSeconds: 1,
        jobId: w.job,
        mimeType: 'audio/wav',
        recordingId: w.recording,
        total: undefined,
      }
      chunkStore(k.db).put({ ...file, ...more }, k.now())
    }
    await agent.post(`/recording-jobs/${w.job}/${how}`)
    assert.equal(w.recordingState(), to)
  })

// The event an end opens: none for what the operator asked for (4.3).
test('that a lease ran out is not for a recorder to say', async () => {
  for (const reason of ['lease_expired', 'stop_request_lease_expired']) {
    const w = world('running')
    await agent.post(`/recording-jobs/${w.job}/failed`, undefined, { 'x-svc-reason': reason })
    assert.deepEqual(k.rows('SELECT failure_reason AS why FROM recording_jobs WHERE id = ?', w.job), [
      { why: 'agent_failed' },
    ])
  }
})

const EVENTS: [how: 'failed' | 'cancelled', reason: string, event: string | undefined][] = [
  ['failed', 'capture_failed', 'controller.recording.job_failed critical'],
  ['cancelled', 'device_gone', 'controller.recording.job_cancelled warning'],
  ['cancelled', 'controller_stop_requested', undefined],
]
for (const [how, reason, event] of EVENTS)
  test(`a job ${how} for ${reason} opens ${event ?? 'no event'}, once`, async () => {
    const w = world('running')
    for (let i = 0; i < 2; i++)
      await agent.post(`/recording-jobs/${w.job}/${how}`, undefined, { 'x-svc-reason': reason })
    const opened = k.rows<{ e: string; details: string }>(
      `SELECT type || ' ' || severity AS e, details FROM health_events WHERE recording_id = ?`,
      w.recording,
    )
    assert.deepEqual(
      opened.map((row) => row.e),
      event ? [event] : [],
    )
    for (const { details } of opened)
      assert.deepEqual(JSON.parse(details), {
        jobId: w.job,
        reason,
        source: 'recording_job_terminal',
        terminalState: how,
      })
  })

// 4.4: what an upload makes of the recording.
const UPLOADS: [query: string, from: RecordingStatus, to: RecordingStatus][] = [
  ...(['recording', 'completed', 'cached', 'partial', 'uploaded'] as const).map(
    (from) => ['', from, 'cached'] as [string, RecordingStatus, RecordingStatus],
  ),
  ...(['recording', 'completed', 'cached', 'partial', 'uploaded'] as const).map(
    (from) => ['?rendition=raw', from, from] as [string, RecordingStatus, RecordingStatus],
  ),
  ['?chunk=0', 'recording', 'recording'],
  ['?chunk=0&chunkTotal=1', 'recording', 'cached'],
  ['?chunk=0&chunkTotal=2', 'recording', 'partial'],
]
for (const [query, from, to] of UPLOADS)
  test(`an upload${query && ` with ${query}`} leaves a ${from} recording ${to}`, async () => {
    const w = world('running', from)
    assert.equal((await upload(query)(w)).status, 201)
    assert.equal(w.recordingState(), to)
  })
