// A house with two rooms: a node with a four-channel desk, two channels in each room, and a schedule body to begin with.
import { type Kit, kit } from '../../kit/kit.ts'

export const times = { startTime: '10:00', endTime: '11:00' }
/** Every day from 10:00 to 11:00 UTC. The clock of the kit begins on Monday, 2026-03-02, 09:00 UTC. */
export const daily = { mode: 'daily', interval: 1, ...times }

export async function house(options: Parameters<typeof kit>[0] = {}) {
  const k = kit(options)
  const admin = k.as('admin')
  const { id: nodeId, agent } = await k.enroll('Desk', {
    interfaces: [
      {
        alias: 'Desk',
        systemName: 'Desk',
        systemRef: 'hw:Desk',
        backend: 'alsa',
        channelCount: 4,
        sampleRates: [48000],
      },
    ],
  })
  const [{ id: interfaceId }] = k.rows<{ id: string }>('SELECT id FROM interfaces') as [{ id: string }]
  for (const id of ['hall', 'booth']) await admin.post('/rooms', { id, site: 'North', name: id })
  k.sql("UPDATE channels SET room_id = 'hall' WHERE idx <= 2")
  k.sql("UPDATE channels SET room_id = 'booth' WHERE idx > 2")
  k.forget()
  const body = (more: object = {}) => ({
    name: 'Service',
    nodeId,
    captureInterfaceId: interfaceId,
    captureChannelSelection: [1, 2],
    room: 'Hall',
    recordingProfileId: 'voice-mp3-vbr',
    watchdogPolicyId: 'scheduled-voice-watchdog',
    timezone: 'UTC',
    titleTemplate: '{{schedule.name}} {{date}} {{time}}',
    folderTemplate: 'Scheduled/{{room}}',
    recurrence: daily,
    ...more,
  })
  const add = async (more: object = {}) => {
    const answer = await admin.post('/schedules', body(more))
    if (answer.status !== 201) throw new Error(answer.text)
    k.forget()
    return answer.json.data as { id: string; nextRunAt?: string }
  }
  const get = async (id: string) => (await admin.get(`/schedules/${id}`)).json.data
  return { add, admin, agent, body, get, interfaceId, k, nodeId }
}
export type House = Awaited<ReturnType<typeof house>>

/** One pass of the runner, and what it did. */
export async function pass(k: Kit, span?: string): Promise<unknown> {
  if (span) k.advance(span)
  await k.tick('schedule')
  return k.ticker.status().find((runner) => runner.name === 'schedule')?.lastResult
}

/** Recordings of schedules as `start name seconds`. */
export const takes = (k: Kit): string[] =>
  k
    .rows<{ at: string; name: string; seconds: number }>(
      `SELECT r.recorded_at AS at, r.name, json_extract(j.command, '$.durationSeconds') AS seconds
         FROM recordings r JOIN recording_jobs j ON j.recording_id = r.id ORDER BY r.recorded_at, r.id`,
    )
    .map(({ at, name, seconds }) => `${at.slice(5, 19)} ${name} ${seconds}`)

/** Ends every take there is. */
export const finishAll = (k: Kit): void => {
  k.sql("UPDATE recording_jobs SET status = 'completed'")
  k.sql("UPDATE recordings SET status = 'cached'")
}
