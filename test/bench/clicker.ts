// A sound card and its arecord in one: silence, and a click whenever the clock shows so many whole seconds. Raw audio on stdout,
// in periods, as arecord writes it. usage: clicker.ts -t raw -D NAME -f S32_LE -r 48000 -c 8 -
import * as fs from 'node:fs'
import { parseArgs } from 'node:util'

const EVERY_MS = 5000
const CLICK_MS = 5
const CLICK_HZ = 1000
/** As much as arecord hands over at a time. */
const PERIOD_MS = 125

const { values } = parseArgs({
  allowPositionals: true,
  options: {
    channels: { short: 'c', type: 'string' },
    device: { short: 'D', type: 'string' },
    format: { short: 'f', type: 'string' },
    rate: { short: 'r', type: 'string' },
    type: { short: 't', type: 'string' },
  },
})
if (values.format !== 'S32_LE') throw new Error(`no clicks in ${values.format}`)
const [channels, rate] = [Number(values.channels), Number(values.rate)]
const frames = Math.floor((PERIOD_MS / 1000) * rate)
const period = new Int32Array(frames * channels)
const bytes = Buffer.from(period.buffer)
const sleeper = new Int32Array(new SharedArrayBuffer(4))

const [opened, from] = [Date.now(), performance.now()]
for (let first = 0; ; first += frames) {
  for (let i = 0; i < frames; i++) {
    const ms = (opened + ((first + i) / rate) * 1000) % EVERY_MS
    const value = ms < CLICK_MS ? Math.sin((2 * Math.PI * CLICK_HZ * ms) / 1000) : 0
    period.fill(Math.round(value * 0x7fffffff), i * channels, (i + 1) * channels)
  }
  // A card hands over what it has heard, and that only when it is over.
  const due = from + ((first + frames) / rate) * 1000
  while (performance.now() < due) Atomics.wait(sleeper, 0, 0, Math.max(1, due - performance.now()))
  for (let at = 0; at < bytes.length; ) at += fs.writeSync(1, bytes, at)
}
