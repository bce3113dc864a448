import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  messagesOf,
  REMEMBERED,
  severityOf,
  tiltOf,
  usualAfter,
  verdictsOf,
} from '../../../../src/controller/monitoring/preflight/preflight.rules.ts'
import type { SoundPrint, SoundVerdict } from '../../../../src/wire/soundreadings.ts'
import { print, WHITE } from './prints.ts'

const room = print()
const usual = [room, print({ by: 2 }), print({ by: -3 })]

const judge = (heard: SoundPrint, known: readonly SoundPrint[] = usual, apart = false, seconds = 4): SoundVerdict =>
  verdictsOf({ prints: [heard], seconds }, [{ channelIndex: 1, label: 'Desk', usual: known }], apart)[0]!.verdict

test('each way a line may be wrong has its name', () => {
  const cases: [string, Partial<SoundPrint> & { by?: number }, SoundVerdict][] = [
    ['the room as it is', {}, 'ok'],
    ['quieter than ever, but a room', { by: -12 }, 'ok'],
    ['people who talk', { bandsDbfs: [-58, -55, -45, -40, -38, -42, -50, -60], floorDbfs: -35 }, 'ok'],
    ['digital silence', { flat: true, floorDbfs: -160 }, 'dead'],
    ['dither alone', { floorDbfs: -118 }, 'dead'],
    ['a constant offset', { flat: true, floorDbfs: -160, offset: 0.3 }, 'dead'],
    ['the hiss of a preamplifier', { bandsDbfs: WHITE(-110), floorDbfs: -96 }, 'dead'],
    ['hiss as loud as the room', { bandsDbfs: WHITE(-75), floorDbfs: -61 }, 'ok'],
    ['far below, whatever it sounds like', { by: -30 }, 'dead'],
    ['an open cable', { floorDbfs: -40, humDbfs: -41 }, 'hum'],
    ['hum that is usual', { humDbfs: -78 }, 'ok'],
    ['too loud', { clippedSeconds: 3, peakDbfs: 0 }, 'clipping'],
    ['a bang', { clippedSeconds: 0.5, peakDbfs: 0 }, 'ok'],
    ['a copy', { likeness: { peerChannelIndex: 2, score: -0.995 } }, 'identical'],
    ['a knob that was turned', { by: 20 }, 'unlike'],
  ]
  for (const [what, { by, ...more }, verdict] of cases)
    assert.equal(judge({ ...print({ by: by ?? 0 }), ...more }), verdict, what)
})

test('of a room that is not known only what is wrong anywhere is told', () => {
  const known = usual.slice(0, 2)
  assert.equal(judge({ ...room, bandsDbfs: WHITE(-110), floorDbfs: -96 }, known), 'ok')
  assert.equal(judge(print({ by: 20 }), known), 'ok')
  assert.equal(judge({ ...room, flat: true }, known), 'dead')
  assert.equal(judge({ ...room, floorDbfs: -40, humDbfs: -41 }, known), 'hum')
  assert.equal(judge({ ...room, floorDbfs: -50, humDbfs: -50 }, known), 'ok', 'hum that may be usual there')
})

test('two channels with one sound are wrong where they are separate microphones, or were in good takes', () => {
  const heard = ['a', 'b'].map((_, c) => ({
    ...room,
    channelIndex: c + 1,
    likeness: { peerChannelIndex: 2 - c, score: 0.999 },
  }))
  const of = (known: readonly SoundPrint[], apart: boolean, channels = [1, 2]) =>
    verdictsOf(
      { prints: heard, seconds: 4 },
      channels.map((channelIndex) => ({ channelIndex, label: 'Desk', usual: known })),
      apart,
    ).map(({ verdict }) => verdict)
  assert.deepEqual(of([], true), ['identical', 'identical'])
  assert.deepEqual(of([], false), ['ok', 'ok'])
  assert.deepEqual(of([], true, [1]), ['ok'], 'the other is no part of the take')
  assert.deepEqual(of(usual, false), ['identical', 'identical'])
  const stereo = usual.map((one) => ({ ...one, likeness: { peerChannelIndex: 2, score: 0.998 } }))
  assert.deepEqual(of(stereo, true), ['ok', 'ok'], 'they always were')
})

test('a channel that the device did not give is dead, and all of them make it critical', () => {
  const wanted = [1, 2].map((channelIndex) => ({ channelIndex, label: `Channel ${channelIndex}`, usual }))
  const one = verdictsOf({ prints: [room], seconds: 4 }, wanted, false)
  assert.deepEqual(
    one.map(({ verdict }) => verdict),
    ['ok', 'dead'],
  )
  assert.equal(severityOf({ channels: one }), 'warning')
  const none = verdictsOf({ prints: [{ ...room, flat: true, floorDbfs: -160 }], seconds: 4 }, wanted, false)
  assert.equal(severityOf({ channels: none }), 'critical')
  assert.equal(severityOf({ channels: [], fault: 'busy' }), 'critical')
})

test('words name the channel, what was heard, what is usual and what to do; the dead first', () => {
  const prints = [
    { ...room, channelIndex: 1, clippedSeconds: 4, peakDbfs: 0 },
    { ...room, bandsDbfs: WHITE(-110), channelIndex: 2, floorDbfs: -96 },
  ]
  const wanted = [
    { channelIndex: 1, label: 'Desk', usual },
    { channelIndex: 2, label: 'Channel 2', usual },
  ]
  assert.deepEqual(messagesOf({ channels: verdictsOf({ prints, seconds: 4 }, wanted, false) }), [
    'Channel 2: no microphone is heard (only -96 dBFS of noise; usual is -60 dBFS). Check its cable, its power and whether it is muted.',
    'Channel 1 (Desk): clips (peaks at 0 dBFS). Turn its gain down.',
  ])
  assert.deepEqual(messagesOf({ channels: verdictsOf({ prints: [room], seconds: 4 }, [wanted[0]!], false) }), [])
})

test('good takes teach, the last ten; wrong ones do not, and a new level begins anew', () => {
  const known = Array.from({ length: REMEMBERED }, (_, i) => i)
  assert.deepEqual(usualAfter(known, 99, 'ok'), [99, ...known.slice(0, -1)])
  assert.deepEqual(usualAfter(known, 99, 'unlike'), [99])
  for (const verdict of ['dead', 'hum', 'clipping', 'identical'] as const)
    assert.deepEqual(usualAfter(known, 99, verdict), known, verdict)
})

test('white noise has no tilt, with hum or without; a room has', () => {
  assert.ok(Math.abs(tiltOf({ bandsDbfs: WHITE(-100), humDbfs: -160 })) < 0.5)
  const humming = WHITE(-100).map((level, i) => (i < 3 ? 10 * Math.log10(10 ** (level / 10) + 1e-9) : level))
  assert.ok(tiltOf({ bandsDbfs: humming, humDbfs: 10 * Math.log10(2e-9) }) < 1)
  assert.ok(tiltOf(room) > 15)
})
