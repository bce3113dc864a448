import assert from 'node:assert/strict'
import { test } from 'node:test'
import { events, level, ONLY, stand, told, watched } from './world.ts'

const QUIET = [level({ rms: -70 }), level({ channelIndex: 2, rms: -70 })]
const LOUD = [level(), level({ channelIndex: 2 })]

test('a silent take opens one alarm, repeats it on time, and resolves it on the first pass that hears something', async () => {
  const { hear, k, record } = await watched(ONLY.signal)
  const recording = await record()
  k.forget()
  await k.tick('watchdog')
  await hear(60, QUIET)
  assert.deepEqual(stand(k), [], 'not before grace and window are over')
  await hear(30, QUIET)
  assert.deepEqual(stand(k), ['scheduled_low_signal open'])
  assert.deepEqual(k.rows('SELECT health_status AS h FROM recordings'), [{ h: 'critical' }])
  await hear(90, QUIET)
  assert.deepEqual(told(k), ['health.watchdog.low_signal.created succeeded'], 'the interval is not over')
  await hear(30, QUIET)
  const [alarm] = events(k)
  assert.equal(alarm?.details.repeatCount, 1)
  assert.equal(alarm?.details.evaluationCount, 5)
  assert.equal(alarm?.details.lastRepeatedAt, k.now())
  await hear(30, LOUD)
  assert.deepEqual(stand(k), ['scheduled_low_signal resolved'])
  assert.deepEqual(told(k), [
    'health.watchdog.low_signal.created succeeded',
    'health.watchdog.low_signal.repeated succeeded',
    'health.watchdog.low_signal.resolved succeeded',
  ])
  const [ended] = events(k)
  assert.equal(ended?.details.autoResolvedReason, 'signal_above_threshold')
  assert.equal(ended?.details.autoResolvedAt, k.now())
  const recovery = ended?.details.recoveryEvaluation as { cumulativeSecondsAboveThreshold: number } | undefined
  assert.ok((recovery?.cumulativeSecondsAboveThreshold ?? 0) >= 10)
  assert.deepEqual(k.rows('SELECT health_status AS h FROM recordings WHERE id = ?', recording), [{ h: 'healthy' }])
  await k.close()
})

test('the details of a low signal say what was heard, where and by which policy', async () => {
  const { hear, id, interfaceId, k, policyId, record } = await watched({ ...ONLY.signal, metric: 'peak' })
  const recording = await record()
  await k.tick('watchdog')
  await hear(90, [level({ rms: -70, peak: -61 }), level({ channelIndex: 2, rms: -66, peak: -60 })])
  const [alarm] = events(k)
  const { firstObservedAt, lastObservedAt, windowStartedAt, ...facts }: Record<string, unknown> = alarm?.details ?? {}
  assert.deepEqual([firstObservedAt, lastObservedAt], [k.now(), k.now()])
  assert.ok(typeof windowStartedAt === 'string')
  assert.deepEqual(facts, {
    coverageSeconds: 65,
    cumulativeSecondsAboveThreshold: 0,
    cumulativeSpeechLikeSeconds: 65,
    evaluationCount: 1,
    latestChannelIndex: 2,
    latestInterfaceId: interfaceId('Desk'),
    latestMetricDbfs: -60,
    latestNoiseScore: 0.1,
    latestPeakDbfs: -60,
    latestRmsDbfs: -66,
    latestSpeechScore: 0.8,
    maxMetricDbfs: -60,
    maxNoiseScore: 0.1,
    maxSpeechScore: 0.8,
    metric: 'peak',
    minCumulativeSecondsAboveThreshold: 10,
    minCumulativeSpeechSeconds: 10,
    minSpeechScore: 0.55,
    nodeId: id,
    qualityMode: 'signal_only',
    recordingId: recording,
    repeatCount: 0,
    sampleCount: 13,
    signalBelowThreshold: true,
    speechBelowThreshold: false,
    thresholdDbfs: -45,
    watchdogPolicyId: policyId,
    watchdogPolicyName: 'Short',
    windowSeconds: 60,
  })
  const [row] = k.rows<{ actor: string; correlation: string; permission: string; type: string }>(
    `SELECT actor_id AS actor, permission, target_type AS type, correlation FROM audit_events WHERE action LIKE 'health.watchdog%'`,
  )
  assert.deepEqual([row?.actor, row?.permission, row?.type], ['system:watchdog', 'health:acknowledge', 'health_event'])
  assert.deepEqual(JSON.parse(row?.correlation ?? ''), { healthEventId: alarm?.id, nodeId: id, recordingId: recording })
  await k.close()
})

test('a loud foreign channel does not hide the silence of the take', async () => {
  const { hear, k, record } = await watched(ONLY.signal)
  await record()
  await k.tick('watchdog')
  await hear(90, [...QUIET, level({ channelIndex: 3, rms: -6 }), level({ channelIndex: 4, rms: -6 })])
  assert.deepEqual(stand(k), ['scheduled_low_signal open'])
  await k.close()
})

test('a loud foreign interface does not hide the silence of the take', async () => {
  const { hear, k, record, send } = await watched(ONLY.signal)
  await record()
  await k.tick('watchdog')
  await hear(90, async () => {
    await send(QUIET)
    await send(LOUD, 'Stage')
  })
  assert.deepEqual(stand(k), ['scheduled_low_signal open'])
  await k.close()
})

test('of two takes on one node only the silent one alarms', async () => {
  const { hear, interfaceId, k, record, send } = await watched(ONLY.signal)
  const silent = await record()
  await record({ captureInterfaceId: interfaceId('Stage') })
  await k.tick('watchdog')
  await hear(120, async () => {
    await send(QUIET)
    await send(LOUD, 'Stage')
  })
  assert.deepEqual(stand(k), ['scheduled_low_signal open'])
  assert.equal(events(k)[0]?.details.recordingId, silent)
  await k.close()
})

test('short sounds between the passes are heard: seconds add up over all frames', async () => {
  const { hear, k, record, send } = await watched(ONLY.signal)
  await record()
  await k.tick('watchdog')
  let n = 0
  // One frame of six is loud, and never the last before a pass: five seconds of thirty.
  await hear(180, () => send(n++ % 6 === 2 ? LOUD : QUIET))
  assert.deepEqual(stand(k), [])
  await k.close()
})

test('a sound too short for the policy is still an alarm', async () => {
  const { hear, k, record, send } = await watched({ ...ONLY.signal, minCumulativeSecondsAboveThreshold: 15 })
  await record()
  await k.tick('watchdog')
  let n = 0
  await hear(90, () => send(n++ % 6 === 2 ? LOUD : QUIET))
  assert.deepEqual(stand(k), ['scheduled_low_signal open'])
  await k.close()
})

test('where speech is required, a loud machine is no speech', async () => {
  const { hear, k, record } = await watched({ ...ONLY.signal, qualityMode: 'speech_required' })
  await record()
  await k.tick('watchdog')
  await hear(90, [level({ quality: { speechScore: 0.2 } })])
  assert.deepEqual(stand(k), ['scheduled_low_signal open'])
  assert.deepEqual(
    [events(k)[0]?.details.signalBelowThreshold, events(k)[0]?.details.speechBelowThreshold],
    [false, true],
  )
  await hear(30, [level({ quality: { speechScore: 0.55 } })])
  assert.deepEqual(stand(k), ['scheduled_low_signal resolved'])
  await k.close()
})

test('no meter at all is silence and a flat line, once meters had the time to come', async () => {
  const { hear, k, record } = await watched({}, {}, { SVC_WATCHDOG_METER_MAX_AGE_SECONDS: '60' })
  await record()
  await k.tick('watchdog')
  await hear(60, undefined)
  assert.deepEqual(stand(k), [])
  await hear(60, undefined)
  assert.deepEqual(stand(k), ['scheduled_low_signal open', 'flatline open'])
  await k.close()
})

test('the last frame stands for what follows, until it is too old', async () => {
  const { hear, k, record } = await watched(ONLY.signal, {}, { SVC_WATCHDOG_METER_MAX_AGE_SECONDS: '90' })
  await record()
  await k.tick('watchdog')
  await hear(90, LOUD)
  await hear(90, undefined)
  assert.deepEqual(stand(k), [])
  await hear(90, undefined)
  assert.deepEqual(stand(k), ['scheduled_low_signal open'])
  await k.close()
})

test('made-up levels are never judged', async () => {
  const { hear, k, record, send } = await watched()
  await record()
  await k.tick('watchdog')
  await hear(300, () => send([level({ rms: -120, clipping: true })], 'Desk', { synthetic: true }))
  assert.deepEqual(stand(k), [])
  await k.close()
})

test('a policy of scheduled recordings leaves the others alone', async () => {
  const { hear, k, record } = await watched({ activeDuring: 'scheduled_recording' })
  const recording = await record()
  await k.tick('watchdog')
  await hear(120, QUIET)
  assert.deepEqual(stand(k), [])
  k.sql(
    `INSERT INTO schedules (id, name, created_at, updated_at) SELECT 's', 's', recorded_at, recorded_at FROM recordings`,
  )
  k.sql(`UPDATE recordings SET source = 'schedule', schedule_id = 's' WHERE id = ?`, recording)
  await hear(30, QUIET)
  assert.deepEqual(stand(k), ['scheduled_low_signal open'])
  assert.equal(events(k)[0]?.details.scheduleId, 's')
  await k.close()
})
