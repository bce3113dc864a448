import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  cutRates,
  parseArecordList,
  parseHwDump,
  parseOpenMode,
  parseProcPcm,
  parseStream,
  systemRef,
} from '../../../src/agent/inventory/alsa.rules.ts'

test('arecord -l: identity from the card id, name from both labels unless they are the same', () => {
  const text = [
    '**** List of CAPTURE Hardware Devices ****',
    'card 2: Device [USB [stereo] Mic], device 0: USB Audio [USB Audio]',
    '  Subdevices: 1/1',
    'card 3: Device_1 [Loop], device 1: x: y [LOOP]',
  ].join('\n')
  assert.deepEqual(parseArecordList(text), [
    { card: 2, cardId: 'Device', device: 0, name: 'USB [stereo] Mic USB Audio' },
    { card: 3, cardId: 'Device_1', device: 1, name: 'LOOP' },
  ])
})

test('/proc/asound/pcm: only what can capture', () => {
  const text =
    '00-00: A : A : playback 2 : capture 2\n02-00: USB Audio : USB Audio : playback 1\n10-03: C: d : e : capture 1\nnonsense'
  assert.deepEqual(parseProcPcm(text), [
    { card: 0, device: 0, name: 'A' },
    { card: 10, device: 3, name: 'C: d' },
  ])
  assert.equal(systemRef({ card: 10, device: 3, name: '' }), 'hw:10,3')
})

test('a USB stream file: the widest capture setting counts, playback does not', () => {
  const text = `Mic at usb : USB Audio

Playback:
  Interface 1
    Channels: 8
    Rates: 192000

Capture:
  Status: Stop
  Interface 2
    Altset 1
    Channels: 4
    Rates: 44100, 48000
    Altset 2
    Channels: 2
    Rates: 96000
`
  assert.deepEqual(parseStream(text), { channelCount: 4, sampleRates: [44_100, 48_000, 96_000] })
  assert.deepEqual(parseStream(text.slice(0, 80)), {})
  const continuous = 'Capture:\n    Channels: 1\n    Rates: 32000 - 48000 (continuous)\n'
  assert.deepEqual(parseStream(continuous).sampleRates, [32_000, 44_100, 48_000])
})

test('a dump of hardware parameters: ranges stand for the usual rates inside them', () => {
  const dump = (channels: string, rate: string) =>
    `HW Params of device "hw:0,0":\nCHANNELS: ${channels}\nRATE: ${rate}\n`
  assert.deepEqual(parseHwDump(dump('[1 32]', '[44100 192000]')), {
    channelCount: 32,
    sampleRates: [44_100, 48_000, 64_000, 88_200, 96_000, 176_400, 192_000],
  })
  assert.deepEqual(parseHwDump(dump('2', '48000')), { channelCount: 2, sampleRates: [48_000] })
  assert.deepEqual(parseHwDump(dump('{1 2}', '{8000 16000}')), { channelCount: 2, sampleRates: [8000, 16_000] })
  assert.equal(parseHwDump(dump('[1 1073741823]', '[1 4294967295]')).channelCount, 256)
  assert.deepEqual(parseHwDump('arecord: main:831: audio open error: Device or resource busy'), {})
})

test('an open substream tells the mode in use, a closed one nothing', () => {
  assert.deepEqual(parseOpenMode('channels: 32\nrate: 48000 (48000/1)\n'), { channelCount: 32, sampleRates: [48_000] })
  assert.deepEqual(parseOpenMode('closed\n'), {})
})

test('more rates than the controller takes are cut, never 44.1 and 48 kHz', () => {
  const many = Array.from({ length: 30 }, (_, i) => 8000 + i * 500).concat(44_100, 48_000, 96_000)
  const kept = cutRates(many)
  assert.equal(kept.length, 16)
  assert.ok([44_100, 48_000, 96_000].every((rate) => kept.includes(rate)))
  assert.deepEqual(
    kept,
    [...kept].sort((a, b) => a - b),
  )
})
