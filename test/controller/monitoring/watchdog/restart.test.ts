import assert from 'node:assert/strict'
import { test } from 'node:test'
import { level, ONLY, stand, watched } from './world.ts'

const QUIET = [level({ rms: -70 }), level({ channelIndex: 2, rms: -70 })]
const LOUD = [level(), level({ channelIndex: 2 })]

test('watched from its midst, a take gets a whole window before silence counts', async () => {
  const { hear, k, record } = await watched(ONLY.signal)
  await record()
  // The first pass of this controller finds a take ten minutes old, of which no meter tells.
  k.advance('10m')
  await k.tick('watchdog')
  await hear(30, QUIET)
  assert.deepEqual(stand(k), [])
  await hear(60, QUIET)
  assert.deepEqual(stand(k), ['scheduled_low_signal open'])
  await k.close()
})

test('watched from its midst, an alarm of before goes on or ends by what is heard, not by what is missing', async () => {
  const { hear, k, record } = await watched({ ...ONLY.signal, clippingMode: 'alert_on_clipping' })
  await record()
  await k.tick('watchdog')
  await hear(90, [level({ clipping: true, rms: -70 })])
  assert.deepEqual(stand(k), ['scheduled_low_signal open', 'clipping open'])
  // The controller was away for ten minutes: what it remembers is worth nothing.
  k.advance('10m')
  await k.tick('watchdog')
  assert.deepEqual(stand(k), ['scheduled_low_signal open', 'clipping open'])
  await hear(30, LOUD)
  assert.deepEqual(
    stand(k),
    ['scheduled_low_signal resolved', 'clipping open'],
    'heard enough; the clipping may have gone on',
  )
  await hear(60, LOUD)
  assert.deepEqual(stand(k), ['scheduled_low_signal resolved', 'clipping resolved'])
  await k.close()
})

test('watched from its midst, what is heard long enough is an alarm at once', async () => {
  const { hear, k, record } = await watched({ ...ONLY.signal, clippingMode: 'alert_on_clipping' })
  await record()
  k.advance('10m')
  await k.tick('watchdog')
  await hear(30, [level({ clipping: true })])
  assert.deepEqual(stand(k), ['clipping open'])
  await k.close()
})

test('after a start a missing meter is no silence until meters had the time to come', async () => {
  const { hear, k, record } = await watched({ graceSeconds: 0, windowSeconds: 5 })
  await record()
  k.advance('10m')
  await k.tick('watchdog')
  await hear(120, undefined)
  assert.deepEqual(stand(k), [])
  await hear(60, undefined)
  assert.deepEqual(stand(k), ['scheduled_low_signal open', 'flatline open'])
  await k.close()
})
