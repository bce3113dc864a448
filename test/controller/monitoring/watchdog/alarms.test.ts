import assert from 'node:assert/strict'
import { test } from 'node:test'
import { events, level, ONLY, stand, told, watched } from './world.ts'

const QUIET = [level({ rms: -70 }), level({ channelIndex: 2, rms: -70 })]
const LOUD = [level(), level({ channelIndex: 2 })]
const LIKE = (score: number, peer = 2) => [level({ correlation: { peer, score } }), level({ channelIndex: 2 })]

interface Case {
  bad: object[]
  details: Record<string, unknown>
  good: object[]
  policy: object
  reason: string
  stem: string
  type: string
}

// The rules of docs/contract/health.md: Watchdog rules beside the low signal: what makes them true, and their own details.
const CASES: Case[] = [
  {
    stem: 'channel_correlation',
    type: 'channel_correlation',
    reason: 'channel_correlation_below_threshold',
    policy: { ...ONLY.signal, channelCorrelationMode: 'alert_on_high' },
    bad: LIKE(-0.99),
    good: LIKE(0.2),
    details: {
      channelCorrelationAboveThreshold: true,
      channelCorrelationMode: 'alert_on_high',
      channelCorrelationThreshold: 0.98,
      cumulativeCorrelatedSeconds: 65,
      latestChannelCorrelationPairs: [{ leftChannelIndex: 1, phase: 'same', rightChannelIndex: 2, score: -0.99 }],
      maxChannelCorrelationScore: 0.99,
      minCumulativeChannelCorrelationSeconds: 10,
    },
  },
  {
    stem: 'clipping',
    type: 'clipping',
    reason: 'clipping_recovered',
    policy: { ...ONLY.signal, clippingMode: 'alert_on_clipping' },
    bad: [level({ clipping: true }), level({ channelIndex: 2 })],
    good: LOUD,
    details: {
      clippingAboveThreshold: true,
      clippingMode: 'alert_on_clipping',
      cumulativeClippingSeconds: 65,
      latestClippingChannelIndexes: [1],
      maxClippingChannelCount: 1,
      minCumulativeClippingSeconds: 1,
    },
  },
  {
    stem: 'flatline',
    type: 'flatline',
    reason: 'flatline_recovered',
    policy: { ...ONLY.signal, flatlineMode: 'alert_on_flatline', thresholdDbfs: -160 },
    bad: [level({ rms: -120, peak: -118 }), level({ channelIndex: 2, rms: -130 })],
    good: LOUD,
    details: {
      cumulativeFlatlineSeconds: 65,
      flatlineAboveThreshold: true,
      flatlineMode: 'alert_on_flatline',
      flatlineThresholdDbfs: -100,
      latestFlatline: true,
      latestPeakDbfs: -118,
      latestRmsDbfs: -120,
      minCumulativeFlatlineSeconds: 10,
    },
  },
  {
    stem: 'quality_anomaly',
    type: 'quality_anomaly',
    reason: 'quality_anomaly_recovered',
    policy: { ...ONLY.signal, qualityAlertMode: 'alert_on_noise_hum_static' },
    bad: [level({ quality: { humScore: 0.85, noiseScore: 0.5 } })],
    good: LOUD,
    details: {
      broadbandNoiseScoreThreshold: 0.85,
      cumulativeHighBroadbandNoiseSeconds: 0,
      cumulativeHighHumSeconds: 65,
      cumulativeHighNoiseSeconds: 0,
      cumulativeHighStaticSeconds: 0,
      humScoreThreshold: 0.8,
      latestBroadbandNoiseScore: 0,
      latestHumScore: 0.85,
      latestNoiseScore: 0.5,
      latestStaticScore: 0,
      maxBroadbandNoiseScore: 0,
      maxHumScore: 0.85,
      maxNoiseScore: 0.5,
      maxStaticScore: 0,
      minCumulativeQualitySeconds: 10,
      noiseScoreThreshold: 0.9,
      qualityAlertMode: 'alert_on_noise_hum_static',
      qualityAnomalyAboveThreshold: true,
      staticScoreThreshold: 0.8,
    },
  },
]

for (const { bad, details, good, policy, reason, stem, type } of CASES)
  test(`${stem}: opens, repeats, and ends when the window is free of it`, async () => {
    const { hear, k, record } = await watched(policy)
    await record()
    k.forget()
    await k.tick('watchdog')
    await hear(90, bad)
    assert.deepEqual(stand(k), [`${type} open`])
    const shown = events(k)[0]?.details ?? {}
    assert.deepEqual(Object.fromEntries(Object.keys(details).map((key) => [key, (shown as never)[key]])), details)
    await hear(120, bad)
    await hear(30, good)
    assert.deepEqual(stand(k), [`${type} open`], 'still within the window')
    await hear(60, good)
    assert.deepEqual(stand(k), [`${type} resolved`])
    assert.equal(events(k)[0]?.details.autoResolvedReason, reason)
    assert.deepEqual(
      told(k),
      ['created', 'repeated', 'resolved'].map((what) => `health.watchdog.${stem}.${what} succeeded`),
    )
    await k.close()
  })

for (const { bad, stem } of CASES)
  test(`${stem}: off means never`, async () => {
    const { hear, k, record } = await watched({ ...ONLY.signal, thresholdDbfs: -160 })
    await record()
    await k.tick('watchdog')
    await hear(120, bad)
    assert.deepEqual(stand(k), [])
    await k.close()
  })

test('likeness to a channel of somebody else is no finding', async () => {
  const { hear, k, record } = await watched({ ...ONLY.signal, channelCorrelationMode: 'alert_on_high' })
  await record()
  await k.tick('watchdog')
  await hear(120, [
    level({ correlation: { peer: 3, score: 1 } }),
    level({ channelIndex: 2, correlation: { peer: 4, score: 1 } }),
    level({ channelIndex: 3, correlation: { peer: 1, score: 1 } }),
    level({ channelIndex: 4, correlation: { peer: 3, score: 1 } }),
  ])
  assert.deepEqual(stand(k), [])
  await k.close()
})

test('with no seconds required, any clipping is an alarm and none is not', async () => {
  const policy = { ...ONLY.signal, clippingMode: 'alert_on_clipping', minCumulativeClippingSeconds: 0 }
  const { hear, k, record } = await watched(policy)
  await record()
  await k.tick('watchdog')
  await hear(120, LOUD)
  assert.deepEqual(stand(k), [])
  await hear(30, [level({ clipping: true })])
  assert.deepEqual(stand(k), ['clipping open'])
  await k.close()
})

test('with no seconds required, a room that is alive has no flat line', async () => {
  const { hear, k, record } = await watched({
    ...ONLY.signal,
    flatlineMode: 'alert_on_flatline',
    minCumulativeFlatlineSeconds: 0,
  })
  await record()
  await k.tick('watchdog')
  await hear(120, LOUD)
  assert.deepEqual(stand(k), [])
  await k.close()
})

test('suppressed without an end it is never told again, but still ends by itself', async () => {
  const { hear, k, record } = await watched({ ...ONLY.signal, clippingMode: 'alert_on_clipping' })
  await record()
  await k.tick('watchdog')
  await hear(90, [level({ clipping: true, rms: -70 })])
  for (const { id } of events(k)) await k.as('owner').post(`/health-events/${id}/suppress`, { note: 'known' })
  k.forget()
  await hear(300, [level({ clipping: true, rms: -70 })])
  assert.deepEqual(told(k), [])
  assert.deepEqual(stand(k), ['scheduled_low_signal suppressed', 'clipping suppressed'])
  assert.deepEqual(
    events(k).map((e) => e.details.suppressNote),
    ['known', 'known'],
    'readings do not wipe notes',
  )
  await hear(90, LOUD)
  assert.deepEqual(stand(k), ['scheduled_low_signal resolved', 'clipping resolved'])
  await k.close()
})

test('suppressed with an end it is told again after it, and then by the interval', async () => {
  const { hear, k, record } = await watched(ONLY.signal)
  await record()
  await k.tick('watchdog')
  await hear(90, QUIET)
  const suppressedUntil = new Date(Date.parse(k.now()) + 200_000).toISOString()
  await k.as('owner').post(`/health-events/${events(k)[0]?.id}/suppress`, { suppressedUntil })
  k.forget()
  await hear(180, QUIET)
  assert.deepEqual(told(k), [])
  await hear(30, QUIET)
  assert.equal(told(k).length, 1, 'its time has passed')
  await hear(90, QUIET)
  assert.equal(told(k).length, 1, 'the interval is not over')
  await hear(30, QUIET)
  assert.equal(told(k).length, 2)
  assert.deepEqual(stand(k), ['scheduled_low_signal suppressed'], 'the status is nobody else’s to change')
  await k.close()
})

test('acknowledged it goes on being told, and ends by itself', async () => {
  const { hear, k, record } = await watched(ONLY.signal)
  await record()
  await k.tick('watchdog')
  await hear(90, QUIET)
  await k.as('owner').post(`/health-events/${events(k)[0]?.id}/acknowledge`, {})
  k.forget()
  await hear(120, QUIET)
  assert.deepEqual(told(k), ['health.watchdog.low_signal.repeated succeeded'])
  assert.deepEqual(stand(k), ['scheduled_low_signal acknowledged'])
  await hear(30, LOUD)
  assert.deepEqual(stand(k), ['scheduled_low_signal resolved'])
  await k.close()
})

test('after an end the same trouble is a new alarm', async () => {
  const { hear, k, record } = await watched(ONLY.signal)
  await record()
  await k.tick('watchdog')
  await hear(90, QUIET)
  await hear(30, LOUD)
  await hear(90, QUIET)
  assert.deepEqual(stand(k), ['scheduled_low_signal resolved', 'scheduled_low_signal open'])
  await k.close()
})

test('an alarm follows the severity of its policy', async () => {
  const { hear, k, policyId, record } = await watched(ONLY.signal)
  await record()
  await k.tick('watchdog')
  await hear(90, QUIET)
  await k.as('admin').patch(`/settings/watchdog-policies/${policyId}`, { severity: 'warning' })
  await hear(30, QUIET)
  assert.equal(events(k)[0]?.severity, 'warning')
  assert.deepEqual(k.rows('SELECT health_status AS h FROM recordings'), [{ h: 'warning' }])
  await k.close()
})

test('a threshold that is changed judges what was heard before', async () => {
  const { hear, k, policyId, record } = await watched(ONLY.signal)
  await record()
  await k.tick('watchdog')
  await hear(120, [level({ rms: -40 })])
  assert.deepEqual(stand(k), [])
  await k.as('admin').patch(`/settings/watchdog-policies/${policyId}`, { thresholdDbfs: -30 })
  await hear(30, [level({ rms: -40 })])
  assert.deepEqual(stand(k), ['scheduled_low_signal open'])
  await k.close()
})

test('a take that ends silent keeps its alarm, with a word about the end', async () => {
  const { hear, k, record } = await watched(ONLY.signal)
  const recording = await record()
  await k.tick('watchdog')
  await hear(90, QUIET)
  k.sql(`UPDATE recordings SET status = 'cached' WHERE id = ?`, recording)
  await hear(30, QUIET)
  const ended = events(k)[0]?.details.recordingEndedAt
  assert.equal(ended, k.now())
  k.forget()
  await hear(180, QUIET)
  assert.deepEqual(stand(k), ['scheduled_low_signal open'])
  assert.deepEqual([events(k)[0]?.details.recordingEndedAt, events(k)[0]?.details.recordingStatus], [ended, 'cached'])
  assert.deepEqual(told(k), [])
  assert.deepEqual(k.rows('SELECT health_status AS h FROM recordings'), [{ h: 'critical' }])
  await k.close()
})

test('the alarm of a take that is gone, or that is no longer watched, is resolved', async () => {
  const { hear, k, policyId, record } = await watched(ONLY.signal)
  const recording = await record()
  await k.tick('watchdog')
  await hear(90, QUIET)
  await k.as('admin').patch(`/settings/watchdog-policies/${policyId}`, { activeDuring: 'scheduled_recording' })
  await hear(30, QUIET)
  assert.equal(events(k)[0]?.details.autoResolvedReason, 'watchdog_inactive')
  await k.as('admin').patch(`/settings/watchdog-policies/${policyId}`, { activeDuring: 'always' })
  await hear(90, QUIET)
  k.sql('DELETE FROM recordings WHERE id = ?', recording)
  await hear(30, QUIET)
  assert.deepEqual(
    events(k).map((e) => `${e.status} ${e.details.autoResolvedReason}`),
    ['resolved watchdog_inactive', 'resolved recording_deleted'],
  )
  await k.close()
})

test('reopened by somebody, it is followed again', async () => {
  const { hear, k, record } = await watched(ONLY.signal)
  await record()
  await k.tick('watchdog')
  await hear(90, QUIET)
  await hear(30, LOUD)
  await k.as('owner').post(`/health-events/${events(k)[0]?.id}/reopen`, {})
  await hear(30, LOUD)
  assert.deepEqual(stand(k), ['scheduled_low_signal resolved'])
  await k.close()
})
