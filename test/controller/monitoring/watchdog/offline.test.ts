import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kit } from '../../../kit/kit.ts'
import { events, stand, told, watched } from './world.ts'

test('a node that went silent is one critical alarm, and its heartbeat ends it', async () => {
  const { beat, hear, id, k } = await watched()
  await k.tick('watchdog')
  await hear(60, undefined)
  k.forget()
  for (let passes = 0; passes < 3; passes++) {
    k.advance('30s')
    await k.tick('watchdog')
  }
  assert.deepEqual(stand(k), [], 'not yet: the last beat is 115 s old at most')
  k.advance('30s')
  await k.tick('watchdog')
  assert.deepEqual(stand(k), ['node_offline open'])
  const [alarm] = events(k)
  assert.equal(alarm?.severity, 'critical')
  k.advance('60s')
  await k.tick('watchdog')
  const { firstObservedAt, lastObservedAt, lastSeenAt, ...details }: Record<string, unknown> =
    events(k)[0]?.details ?? {}
  assert.ok(String(firstObservedAt) < String(lastObservedAt) && String(lastSeenAt) < String(firstObservedAt))
  assert.deepEqual(details, {
    alias: 'Hall recorder',
    evaluationCount: 2,
    hostname: 'hall',
    ipAddresses: [],
    location: { room: 'Hall', site: 'North' },
    message: 'Hall recorder does not report.',
    nodeId: id,
    offlineAfterSeconds: 120,
    offlineForSeconds: details.offlineForSeconds,
    remedy:
      'Check its power and its network. A recording under way goes on as long as it has power, and arrives later.',
    reportedStatus: 'online',
    repeatCount: 0,
    tags: [],
  })
  assert.ok(Number(details.offlineForSeconds) >= 180)
  await beat()
  k.advance('30s')
  await k.tick('watchdog')
  assert.deepEqual(stand(k), ['node_offline resolved'])
  assert.equal(events(k)[0]?.details.autoResolvedReason, 'node_heartbeat_recovered')
  assert.deepEqual(told(k), [
    'health.watchdog.node_offline.created succeeded',
    'health.watchdog.node_offline.resolved succeeded',
  ])
  await k.close()
})

test('a silent node says what it is needed for', async () => {
  const { hear, id, k, record } = await watched()
  await hear(60, undefined)
  await record({ name: 'Debate' })
  const made = await k.as('admin').post('/schedules', {
    folderTemplate: 'Lectures',
    name: 'Lecture',
    nodeId: id,
    recordingProfileId: 'voice-mp3-vbr',
    recurrence: { endTime: '11:00', interval: 1, mode: 'daily', startTime: '10:00' },
    room: 'Hall',
    timezone: 'UTC',
    titleTemplate: '{{schedule.name}}',
    watchdogPolicyId: 'scheduled-voice-watchdog',
  })
  assert.equal(made.status, 201, made.text)
  for (let passes = 0; passes < 5; passes++) {
    k.advance('30s')
    await k.tick('watchdog')
  }
  const details = events(k, 'node_offline')[0]?.details
  assert.equal(
    details?.message,
    'Hall recorder does not report. It is to record now: Debate. The next recording there is Lecture.',
  )
  assert.equal(typeof details?.nextStart, 'string')
  await k.close()
})

test('a node that nobody heard of yet never alarms', async () => {
  const k = kit()
  await k.enroll()
  await k.tick('watchdog')
  for (let passes = 0; passes < 40; passes++) {
    k.advance('30s')
    await k.tick('watchdog')
  }
  assert.deepEqual(stand(k), [])
  await k.close()
})

test('0 seconds switch the rule off', async () => {
  const { beat, k } = await watched({}, {}, { SVC_NODE_OFFLINE_AFTER_SECONDS: '0' })
  await beat()
  await k.tick('watchdog')
  for (let passes = 0; passes < 20; passes++) {
    k.advance('30s')
    await k.tick('watchdog')
  }
  assert.deepEqual(stand(k), [])
  await k.close()
})

test('after a start nodes get the whole time before anybody is called', async () => {
  const { beat, k } = await watched()
  await beat()
  // The controller was down for an hour: its first pass finds every node silent.
  k.advance('1h')
  await k.tick('watchdog')
  assert.deepEqual(stand(k), [])
  k.advance('1m')
  await k.tick('watchdog')
  k.advance('1m')
  await k.tick('watchdog')
  assert.deepEqual(stand(k), [], 'exactly the time is not longer than it')
  k.advance('30s')
  await k.tick('watchdog')
  assert.deepEqual(stand(k), ['node_offline open'])
  await k.close()
})

test('a controller that was away itself accuses nobody', async () => {
  const { hear, k } = await watched()
  await k.tick('watchdog')
  await hear(180, undefined)
  k.advance('1h')
  await k.tick('watchdog')
  assert.deepEqual(stand(k), [])
  await hear(180, undefined)
  assert.deepEqual(stand(k), [])
  await k.close()
})
