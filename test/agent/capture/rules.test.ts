import assert from 'node:assert/strict'
import { test } from 'node:test'
import { faultOf, negotiated, overruns, rateGot } from '../../../src/agent/capture/faults.rules.ts'
import { fillWords, shellWords } from '../../../src/agent/capture/rights.rules.ts'

test('a template is split as a shell splits', () => {
  assert.deepEqual(shellWords(`-D {device}  -f "a b" 'c "d"' e\\ f '' g"h"i`), [
    '-D',
    '{device}',
    '-f',
    'a b',
    'c "d"',
    'e f',
    '',
    'ghi',
  ])
  for (const bad of ['', '   ', '"open', "it's", 'end\\']) assert.throws(() => shellWords(bad))
})

test('placeholders are replaced inside words, and a value is never split again', () => {
  assert.deepEqual(fillWords(['-D{device}', '{seconds}', '{other}'], { device: 'hw:A B', seconds: 3 }), [
    '-Dhw:A B',
    '3',
    '{other}',
  ])
})

test('an ending is judged by exit and words together', () => {
  const said = (text: string, code = 1) => faultOf(code, text)
  assert.equal(said('arecord: set_params:1371: Channels count non available'), 'format_refused')
  assert.equal(said('arecord: set_params:1363: Sample format non available'), 'format_refused')
  assert.equal(said('arecord: main:831: audio open error: Device or resource busy'), 'device_unavailable')
  assert.equal(said('arecord: main:831: audio open error: No such file or directory'), 'device_unavailable')
  assert.equal(faultOf(undefined, 'spawn /x ENOENT no such file or directory'), 'ended_early')
  assert.equal(said('arecord: pcm_read:2221: read error: Input/output error'), 'device_lost')
  assert.equal(said('', 0), 'ended_early')
})

const dump = (format: string, channels: string, rate: string) =>
  `HW Params of device "hw:1":\n--------------------\nACCESS:  RW_INTERLEAVED\nFORMAT:  ${format}\nSUBFORMAT:  STD\nCHANNELS: ${channels}\nRATE: ${rate}\n`

test('what is opened instead holds at least what was asked', () => {
  const asked = { channels: 2, format: 'S16_LE', rate: 48_000 } as const
  const next = (...d: [string, string, string]) => negotiated(dump(...d), asked)
  assert.deepEqual(next('S16_LE', '8', '48000'), { ...asked, channels: 8 })
  assert.deepEqual(next('S16_LE', '[4 10]', '[44100 48000]'), { ...asked, channels: 4 })
  assert.deepEqual(next('S16_LE', '1', '48000'), { ...asked, channels: 1 })
  assert.deepEqual(next('S24_3LE S32_LE', '2', '48000'), { ...asked, format: 'S24_3LE' })
  assert.deepEqual(next('S32_LE', '[2 2]', '96000'), { channels: 2, format: 'S32_LE', rate: 96_000 })
  assert.deepEqual(next('S16_LE', '[1 6]', '48000'), { ...asked, channels: 6 }, 'a range with holes')
  assert.equal(next('S16_LE', '2', '48000'), undefined)
  assert.equal(next('DSD_U8', '2', '48000'), undefined)
  assert.equal(negotiated('arecord: audio open error', asked), undefined)
})

test('arecord says what it got and what it lost', () => {
  assert.equal(rateGot('Warning: rate is not accurate (requested = 44100Hz, got = 48000Hz)\n'), 48_000)
  assert.equal(rateGot(''), undefined)
  const said = 'overrun!!! (at least 12.500 ms long)\noverrun!!! (at least 7.500 ms long)\n'
  assert.deepEqual(overruns(said), { count: 2, seconds: 0.02 })
  assert.equal(overruns('all is well'), undefined)
})
