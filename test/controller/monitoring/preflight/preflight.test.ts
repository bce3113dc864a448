import assert from 'node:assert/strict'
import { test } from 'node:test'
import { house } from '../../schedules/world.ts'
import { print, WHITE } from './prints.ts'

/** The house at 09:00, with a daily take of the hall from 10:00 to 11:00, and a recorder that tells what it hears. */
async function listening(options: Parameters<typeof house>[0] = {}) {
  const h = await house(options)
  const { agent, k, nodeId } = h
  const { id: scheduleId } = await h.add()
  const tell = (reading: object) =>
    agent.post(`/nodes/${nodeId}/sound-readings`, { heardAt: k.now(), seconds: 4, ...reading })
  const prints = (...more: Parameters<typeof print>) =>
    [1, 2].map((channelIndex) => print({ channelIndex, ...more[0] }))
  const startsAt = () => k.rows<{ at: string }>('SELECT next_run_at AS at FROM schedules')[0]!.at
  return {
    ...h,
    config: async () => (await agent.get(`/nodes/${nodeId}/config`)).json.data.preflights,
    events: () =>
      k
        .rows<{ details: string; severity: string; status: string }>(
          `SELECT severity, status, details FROM health_events WHERE type = 'foresight.preflight' ORDER BY seq`,
        )
        .map(({ details, severity, status }) => ({ ...JSON.parse(details), severity, status })),
    /** A preflight of the next take. */
    preflight: (heard = prints()) => tell({ kind: 'preflight', prints: heard, scheduleId, startsAt: startsAt() }),
    prints,
    scheduleId,
    startsAt,
    /** The next take begins, sounds like this, and is delivered; returns its id. */
    take: async (heard = prints(), spoil: (id: string) => void = () => {}) => {
      k.advance(`${(Date.parse(startsAt()) - Date.parse(k.now())) / 1000 + 1}s`)
      await k.tick('schedule')
      const [{ id }] = k.rows<{ id: string }>('SELECT id FROM recordings ORDER BY recorded_at DESC LIMIT 1') as [
        { id: string },
      ]
      k.advance('1h')
      k.sql("UPDATE recording_jobs SET status = 'completed' WHERE recording_id = ?", id)
      k.sql("UPDATE recordings SET status = 'cached' WHERE id = ?", id)
      spoil(id)
      const answer = await tell({ kind: 'take', prints: heard, recordingId: id, seconds: 3600 })
      assert.equal(answer.status, 202, answer.text)
      return { answer: answer.json.data, id }
    },
    known: () => k.rows<{ n: number }>('SELECT count(*) AS n FROM sound_prints')[0]!.n,
    tell,
  }
}

test('the recorder is told ahead what to open, and no more once it has listened or the take has begun', async () => {
  const h = await listening()
  assert.equal(await h.config(), undefined)
  h.k.advance('46m')
  assert.deepEqual(await h.config(), [
    {
      command: {
        captureBackend: 'alsa',
        captureDevice: 'hw:Desk',
        captureFormat: 'S16_LE',
        captureSampleRate: 48_000,
        captureSystemRef: 'hw:Desk',
        channels: [1, 2],
      },
      listenAt: '2026-03-02T09:55:00.000Z',
      scheduleId: h.scheduleId,
      startsAt: '2026-03-02T10:00:00.000Z',
    },
  ])
  h.k.advance('9m')
  assert.equal((await h.preflight()).status, 202)
  assert.equal(await h.config(), undefined)
  await h.k.close()
})

test('nobody listens where it is turned off', async () => {
  const h = await listening({ env: { SVC_FORESIGHT_PREFLIGHT_MINUTES: '0' } })
  h.k.advance('57m')
  assert.equal(await h.config(), undefined)
  await h.k.close()
})

test('dead lines open one event in words; a later preflight that is fine ends it', async () => {
  const h = await listening()
  h.k.advance('55m')
  h.k.forget()
  const first = await h.preflight(h.prints({ flat: true, floorDbfs: -160 }))
  assert.equal(first.status, 202, first.text)
  assert.deepEqual(h.k.trail(), ['nodes.sound_readings.report.succeeded succeeded'])
  const [event] = h.events()
  assert.deepEqual([event.severity, event.status, event.scheduleName], ['critical', 'open', 'Service'])
  assert.match(event.message, /^Channel 1.*no microphone is heard \(digital silence\)\. Check its cable/)
  assert.deepEqual((await h.preflight()).json.data, { ignored: 'known' }, 'the same take is listened for once')
  h.k.advance('1d')
  await h.k.tick('schedule')
  await h.preflight(h.prints())
  assert.deepEqual(
    h.events().map(({ autoResolvedReason, status }) => [status, autoResolvedReason]),
    [['resolved', 'heard_well']],
  )
  await h.k.close()
})

test('a device that cannot be opened is critical, and over when the take is', async () => {
  const h = await listening()
  h.k.advance('55m')
  const reading = { heardAt: h.k.now(), kind: 'unopened', scheduleId: h.scheduleId, startsAt: h.startsAt() }
  const told = await h.agent.post(`/nodes/${h.nodeId}/sound-readings`, { ...reading, fault: 'Device or resource busy' })
  assert.equal(told.status, 202, told.text)
  const last = (await h.admin.get(`/schedules/${h.scheduleId}/preflight`)).json.data
  assert.deepEqual([last.fault, last.startsAt], ['Device or resource busy', '2026-03-02T10:00:00.000Z'])
  assert.match(last.messages[0], /could not be opened: Device or resource busy\. Check that it is connected/)
  h.k.advance('6m')
  await h.k.tick('schedule')
  await h.k.tick('preflight')
  assert.deepEqual(
    h.events().map(({ severity, status }) => [severity, status]),
    [['critical', 'open']],
    'its take runs',
  )
  h.k.advance('1h')
  h.k.sql("UPDATE recording_jobs SET status = 'completed'")
  h.k.sql("UPDATE recordings SET status = 'cached'")
  h.k.forget()
  await h.k.tick('preflight')
  assert.deepEqual(
    h.events().map(({ autoResolvedReason, status }) => [status, autoResolvedReason]),
    [['resolved', 'take_over']],
  )
  assert.deepEqual(h.k.trail(), ['health.foresight.preflight.resolved succeeded'])
  await h.k.close()
})

test('what stands open ends with its schedule', async () => {
  const h = await listening()
  h.k.advance('55m')
  await h.preflight(h.prints({ flat: true, floorDbfs: -160 }))
  assert.equal((await h.admin.delete(`/schedules/${h.scheduleId}`)).status, 204)
  await h.k.tick('preflight')
  assert.deepEqual(
    h.events().map(({ status }) => status),
    ['resolved'],
  )
  assert.deepEqual(h.k.rows('SELECT * FROM preflights'), [])
  await h.k.close()
})

test('the first minute of the take takes back what was told before it', async () => {
  const h = await listening()
  h.k.advance('55m')
  await h.preflight(h.prints({ floorDbfs: -40, humDbfs: -41 }))
  h.k.advance('6m')
  await h.k.tick('schedule')
  const [{ id: recordingId }] = h.k.rows<{ id: string }>('SELECT id FROM recordings') as [{ id: string }]
  await h.tell({ kind: 'begun', prints: h.prints({ floorDbfs: -40, humDbfs: -41 }), recordingId, seconds: 60 })
  assert.equal(h.events()[0].status, 'open')
  await h.tell({ kind: 'begun', prints: h.prints(), recordingId, seconds: 60 })
  assert.deepEqual([h.events()[0].status, h.events()[0].autoResolvedReason], ['resolved', 'take_sounds_right'])
  await h.k.close()
})

test('three good takes teach what a room sounds like: then a line that only hisses is dead', async () => {
  const h = await listening()
  const hiss = h.prints({ bandsDbfs: WHITE(-110), floorDbfs: -96 })
  for (let day = 0; day < 2; day++) await h.take()
  await h.preflight(hiss)
  assert.deepEqual(h.events(), [], 'two are not enough')
  await h.take()
  assert.equal(h.known(), 6)
  await h.preflight([hiss[0]!, h.prints()[1]!])
  const [event] = h.events()
  assert.equal(event.severity, 'warning')
  assert.match(event.message, /^Channel 1[^:]*: no microphone is heard \(only -96 dBFS of noise; usual is -60 dBFS\)/)
  await h.k.close()
})

test('a take teaches only when it is whole, without alarm, gap or test tone, and sounds right; and once', async () => {
  const h = await listening()
  const file = (id: string, details: object) =>
    h.k.sql(
      `INSERT INTO recording_files VALUES (?, 'primary', ?, 'sha256:00', 1000, 'audio/wav', 7, NULL, 0, ?, ?, 1)`,
      id,
      `${id}.wav`,
      h.k.now(),
      JSON.stringify(details),
    )
  const spoiled: [string, (id: string) => void][] = [
    ['failed', (id) => void h.k.sql("UPDATE recordings SET status = 'failed' WHERE id = ?", id)],
    ['gap', (id) => void file(id, { gapCount: 1 })],
    ['tone', (id) => void file(id, { source: 'test' })],
    [
      'alarm',
      (id) =>
        void h.k.sql(
          "INSERT INTO health_events (seq, id, type, severity, recording_id, opened_at) VALUES (1, 'e', 'watchdog.scheduled_low_signal', 'critical', ?, ?)",
          id,
          h.k.now(),
        ),
    ],
  ]
  for (const [what, spoil] of spoiled) {
    assert.deepEqual((await h.take(h.prints(), spoil)).answer, { ignored: 'no_good_take' }, what)
    assert.equal(h.known(), 0, what)
  }
  await h.take(h.prints({ flat: true, floorDbfs: -160 }))
  assert.equal(h.known(), 0, 'a dead line is no room')
  const { id } = await h.take()
  await h.tell({ kind: 'take', prints: h.prints(), recordingId: id, seconds: 3600 })
  assert.equal(h.known(), 2)
  await h.k.close()
})

test('ten takes are remembered; another level begins anew, another room or device is another sound', async () => {
  const h = await listening()
  for (let day = 0; day < 12; day++) await h.take()
  assert.equal(h.known(), 20)
  await h.take(h.prints({ by: 20 }))
  assert.equal(h.known(), 2)
  for (let day = 0; day < 2; day++) await h.take(h.prints({ by: 20 }))
  const hiss = h.prints({ bandsDbfs: WHITE(-110), floorDbfs: -96 })
  const found = async () => {
    await h.preflight(hiss)
    h.k.sql('DELETE FROM preflights')
    const { length } = h.events().filter(({ status }) => status === 'open')
    h.k.sql("UPDATE health_events SET status = 'resolved', resolved_at = opened_at WHERE status <> 'resolved'")
    return length === 1
  }
  assert.equal(await found(), true)
  h.k.sql("UPDATE channels SET room_id = 'booth'")
  assert.equal(await found(), false)
  h.k.sql("UPDATE channels SET room_id = 'hall'")
  h.k.sql("UPDATE interfaces SET serial_number = 'another'")
  assert.equal(await found(), false)
  h.k.sql('UPDATE interfaces SET serial_number = NULL')
  assert.equal(await found(), true)
  await h.k.close()
})

test('a node tells of its own schedules and recordings only, and of nothing that has begun', async () => {
  const h = await listening()
  const { agent: other, id } = await h.k.enroll('Other')
  h.k.advance('55m')
  const reading = { heardAt: h.k.now(), kind: 'preflight', prints: h.prints(), scheduleId: h.scheduleId, seconds: 4 }
  const body = { ...reading, startsAt: h.startsAt() }
  assert.equal((await other.post(`/nodes/${id}/sound-readings`, body)).json.reason, 'node_scope_denied')
  assert.equal((await h.tell({ ...body, scheduleId: 'none' })).status, 404)
  assert.equal((await h.tell({ kind: 'take', prints: h.prints(), recordingId: 'none' })).status, 404)
  assert.equal((await h.tell({ ...body, prints: [] })).status, 400)
  assert.equal((await h.tell({ ...body, more: 1 })).status, 400)
  assert.deepEqual((await h.tell({ ...body, startsAt: '2026-03-02T09:00:00.000Z' })).json.data, { ignored: 'stale' })
  assert.equal((await h.admin.get(`/schedules/${h.scheduleId}/preflight`)).json.data, null)
  await h.k.close()
})
