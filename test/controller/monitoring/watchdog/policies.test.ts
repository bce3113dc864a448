import assert from 'node:assert/strict'
import { test } from 'node:test'
import { calibrated } from '../../../../src/controller/monitoring/watchdog/calibration.rules.ts'
import { kit } from '../../../kit/kit.ts'
import { level, watched } from './world.ts'

const PATH = '/settings/watchdog-policies'
const BUILT_IN = {
  id: 'scheduled-voice-watchdog',
  name: 'Scheduled Voice Watchdog',
  activeDuring: 'scheduled_recording',
  metric: 'rms',
  thresholdDbfs: -45,
  windowSeconds: 900,
  graceSeconds: 300,
  repeatEverySeconds: 900,
  minCumulativeSecondsAboveThreshold: 10,
  severity: 'critical',
  channelCorrelationMode: 'alert_on_high',
  channelCorrelationThreshold: 0.98,
  minCumulativeChannelCorrelationSeconds: 10,
  clippingMode: 'alert_on_clipping',
  minCumulativeClippingSeconds: 1,
  flatlineMode: 'alert_on_flatline',
  flatlineThresholdDbfs: -100,
  minCumulativeFlatlineSeconds: 10,
  qualityAlertMode: 'alert_on_noise_hum_static',
  noiseScoreThreshold: 0.9,
  broadbandNoiseScoreThreshold: 0.85,
  humScoreThreshold: 0.8,
  staticScoreThreshold: 0.8,
  minCumulativeQualitySeconds: 10,
}

test('the built-in policy is the one of the contract', async () => {
  const k = kit()
  assert.deepEqual((await k.as('admin').get(`${PATH}/scheduled-voice-watchdog`)).json.data, BUILT_IN)
  await k.close()
})

test('a new policy has the values of the built-in one where it says nothing; newest first', async () => {
  const k = kit()
  k.forget()
  const made = await k.as('admin').post(PATH, { name: 'Quiet room', thresholdDbfs: -60, channelCorrelationMode: null })
  assert.equal(made.status, 201, made.text)
  const { id, ...policy } = made.json.data
  const { channelCorrelationMode: _, id: __, ...rest } = BUILT_IN
  assert.deepEqual(policy, { ...rest, name: 'Quiet room', thresholdDbfs: -60 })
  assert.match(id, /^watchdog_policy_/)
  const list = (await k.as('admin').get(PATH)).json
  assert.deepEqual(
    list.data.map((p: { id: string }) => p.id),
    [id, BUILT_IN.id],
  )
  assert.equal(list.meta, undefined)
  assert.deepEqual(k.trail().slice(0, 2), [
    'settings.watchdog_policies.create allowed',
    'settings.watchdog_policies.create.succeeded succeeded',
  ])
  await k.close()
})

test('a patch changes what it names; null unsets; before and after are audited', async () => {
  const k = kit()
  const made = (await k.as('admin').post(PATH, { name: 'A', qualityMode: 'speech_required', minSpeechScore: 0.6 })).json
    .data
  k.forget()
  const patched = await k.as('admin').patch(`${PATH}/${made.id}`, { graceSeconds: 0, minSpeechScore: null })
  assert.equal(patched.status, 200, patched.text)
  const { minSpeechScore: _, ...kept } = made
  assert.deepEqual(patched.json.data, { ...kept, graceSeconds: 0 })
  const [row] = k.rows<{ after: string; before: string }>(
    `SELECT before, after FROM audit_events WHERE action LIKE '%update.succeeded'`,
  )
  assert.deepEqual([JSON.parse(row?.before ?? '').graceSeconds, JSON.parse(row?.after ?? '').graceSeconds], [300, 0])
  await k.close()
})

test('what is no policy is refused', async () => {
  const k = kit()
  const bad = [
    {},
    { name: '' },
    { name: 'x', thresholdDbfs: 25 },
    { name: 'x', windowSeconds: 0 },
    { name: 'x', severity: 'loud' },
    { name: 'x', more: 1 },
  ]
  for (const body of bad) assert.equal((await k.as('admin').post(PATH, body)).status, 400, JSON.stringify(body))
  for (const body of [{}, { windowSeconds: null }, { metric: 'max' }])
    assert.equal((await k.as('admin').patch(`${PATH}/${BUILT_IN.id}`, body)).status, 400, JSON.stringify(body))
  assert.equal((await k.as('admin').patch(`${PATH}/nowhere`, { graceSeconds: 1 })).status, 404)
  assert.equal((await k.as('operator').post(PATH, { name: 'x' })).status, 403)
  await k.close()
})

test('a reader in scope sees the policies of the scope, and what could be done', async () => {
  const k = kit()
  await k.as('admin').post(PATH, { name: 'Other' })
  const ann = k.person('ann', ['operator'], [['watchdog_policy', BUILT_IN.id]])
  assert.deepEqual((await ann.get(PATH)).json.data, [BUILT_IN])
  const { actions, links, policy } = (await ann.get(`${PATH}/${BUILT_IN.id}/actions`)).json.data
  assert.deepEqual(
    [actions.detail.enabled, actions.update.reason, actions.calibrate.reason],
    [true, 'missing_permission', 'missing_permission'],
  )
  assert.equal(links.calibrate, `/api/v1${PATH}/${BUILT_IN.id}/calibrations`)
  assert.deepEqual(policy, BUILT_IN)
  await k.close()
})

test('a calibration recommends from what the node sent, and applies when asked to', async () => {
  const { id, k, policyId, send } = await watched()
  const calibrate = (body: object) => k.as('admin').post(`${PATH}/${policyId}/calibrations`, { nodeId: id, ...body })
  const early = await calibrate({})
  assert.deepEqual([early.status, early.json.error], [422, 'Not enough meter history for calibration'])
  assert.match(early.json.message, /^\d+ of \d+ frames .*minFrames$/)
  for (const rms of [-30, -20, -25, -40]) {
    k.advance('5s')
    await send([level({ rms })])
  }
  k.advance('5s')
  await send([level({ rms: 0 })], 'Desk', { synthetic: true })
  const madeUp = await calibrate({})
  assert.deepEqual([madeUp.status, madeUp.json.reason], [422, 'meter_levels_made_up'], 'made-up frames do not count')
  assert.match(madeUp.json.error, /test source: made-up levels do not count/)
  k.forget()
  const tried = await calibrate({ minFrames: 4 })
  assert.equal(tried.status, 200, tried.text)
  assert.deepEqual(tried.json.data, {
    calibration: {
      analysis: {
        frameCount: 4,
        maxNoiseScore: 0.1,
        medianMetricDbfs: -30,
        medianSpeechScore: 0.8,
        observedMaxMetricDbfs: -20,
        observedP95MetricDbfs: -20,
        speechLikeFrameCount: 4,
      },
      applied: false,
      recommendation: { marginDb: 8, update: { thresholdDbfs: -28 } },
      warnings: [],
    },
  })
  const done = (await calibrate({ apply: true, frameLimit: 3, minFrames: 3, signalMarginDb: 10 })).json.data
  assert.deepEqual([done.calibration.applied, done.policy.thresholdDbfs], [true, -30])
  assert.equal((await k.as('admin').get(`${PATH}/${policyId}`)).json.data.thresholdDbfs, -30)
  await k.close()
})

test('a calibration asks for a node that is there and in scope', async () => {
  const { id, k, policyId } = await watched()
  const path = `${PATH}/${policyId}/calibrations`
  assert.equal((await k.as('admin').post(path, { nodeId: 'nowhere' })).status, 404)
  assert.equal((await k.as('admin').post(path, { nodeId: id, frameLimit: 2 })).status, 400)
  k.sql(`INSERT INTO access_policies VALUES ('p', 0, 'deny', 'user', 'barred', 'node', ?, NULL)`, id)
  const refused = await k.person('barred', ['admin']).post(path, { nodeId: id })
  assert.deepEqual([refused.status, refused.json], [403, { error: 'Forbidden', permission: 'settings:manage' }])
  await k.close()
})

const frames = (speech: number[]) => speech.map((speechScore) => [level({ quality: { speechScore } })]) as never

test('where speech is required, the speech score follows a quarter of the speech there was', () => {
  const asked = { apply: false, signalMarginDb: 8 }
  const rules = { metric: 'rms', qualityMode: 'speech_required' } as const
  const { recommendation, warnings } = calibrated(frames([0.1, 0.5, 0.6, 0.7, 0.8]), rules, asked)
  assert.deepEqual(recommendation.update, { thresholdDbfs: -28, minSpeechScore: 0.4 })
  assert.deepEqual(warnings, [])
  assert.deepEqual(calibrated(frames([0.1, 0.2]), rules, asked).warnings, ['no_speech_like_frames'])
  assert.deepEqual(calibrated(frames([0, 0]), rules, asked).warnings, [
    'no_speech_like_frames',
    'quality_scores_missing',
  ])
  assert.deepEqual(calibrated(frames([0]), { metric: 'rms' }, asked).warnings, ['quality_scores_missing'])
})

test('a recommended threshold stays within the scale', () => {
  const silent = [[level({ rms: -158, peak: -158 })]] as never
  const { recommendation } = calibrated(silent, { metric: 'peak' }, { apply: false, signalMarginDb: 40 })
  assert.equal(recommendation.update.thresholdDbfs, -160)
})
