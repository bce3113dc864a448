// A sound card and its arecord in one, which count: every sample says which frame and channel it is. Raw audio on stdout, in
// periods, as arecord writes it; like a card it waits for nobody. usage: counter.ts -t raw -D NAME -f S32_LE -r 48000 -c 32 -
import * as fs from 'node:fs'
import { parseArgs } from 'node:util'
import { counted } from './counted.rules.ts'

/** What ALSA buffers for arecord unless told otherwise, and how much of it is handed over at a time. */
const BUFFER_MS = 500
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
if (values.format !== 'S32_LE') throw new Error(`no numbers in ${values.format}`)
const [channels, rate] = [Number(values.channels), Number(values.rate)]
const framesIn = (ms: number): number => Math.floor((ms / 1000) * rate)
const period = new Int32Array(framesIn(PERIOD_MS) * channels)
const bytes = Buffer.from(period.buffer)
const sleeper = new Int32Array(new SharedArrayBuffer(4))

/** All of it; a reader that takes its time holds this program up, and nobody else. */
function write(): void {
  for (let at = 0; at < bytes.length; ) at += fs.writeSync(1, bytes, at)
}

const from = performance.now()
/** Frames handed over or lost. */
let frames = 0
for (;;) {
  const due = framesIn(performance.now() - from)
  if (due - frames > framesIn(BUFFER_MS)) {
    // arecord says how long the card stood still; what was in the full buffer is thrown away without a word.
    const stood = due - frames - framesIn(BUFFER_MS)
    fs.writeSync(2, `overrun!!! (at least ${((stood / rate) * 1000).toFixed(3)} ms long)\n`)
    frames = due
  } else if (due - frames >= period.length / channels) {
    for (let i = 0, first = frames * channels; i < period.length; i++) period[i] = counted(first + i)
    write()
    frames += period.length / channels
  } else Atomics.wait(sleeper, 0, 0, 5)
}
