import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setImmediate as turn } from 'node:timers/promises'
import { streamFrameBytes } from '../../src/agent/audio/format.rules.ts'
import type { Opening } from '../../src/agent/capture/bus.ts'
import { Analysis } from '../../src/agent/meters/analysis.ts'
import { startWorker } from '../../src/kernel/assets.ts'
import type { Row } from './measure.ts'

const RATE = 48_000
const SECONDS = 20
/** A sound card's period: what comes at once. */
const BLOCK_MS = 20
const NS_PER_MS = 1e6
/** Channels that have a limit: meters of all of them within a tenth of a core. */
const JUDGED = 32
const LIMIT_MS = 100

/** CPU time, of all threads, that a second of sound costs with everything that is measured of it. */
export async function agentMeters(): Promise<Row[]> {
  const rows: Row[] = []
  for (const channels of [2, 8, JUDGED, 64]) rows.push(await metered(channels))
  return rows
}

/** Noise on every channel: each is above the threshold of what is compared, and no branch can be guessed. */
function noisy(opening: Opening): Buffer {
  const block = Buffer.alloc((streamFrameBytes(opening.format) * RATE * BLOCK_MS) / 1000)
  for (let at = 0; at < block.length; at += 4) block.writeInt32LE(Math.round((Math.random() - 0.5) * 2 ** 31), at)
  return block
}

async function metered(channels: number): Promise<Row> {
  const opening: Opening = {
    device: 'bench',
    format: { channels, format: 'S32_LE', rate: RATE },
    interfaceRef: 'bench',
    test: true,
  }
  let measured = Promise.withResolvers<void>()
  const analysis = new Analysis({
    measured: () => measured.resolve(),
    options: { clipDbfs: -1, seconds: 1 },
    report: ({ type }) => measured.reject(new Error(type)),
    start: () => startWorker('agent/meters/analyst'),
  })
  const block = noisy(opening)
  const second = async () => {
    measured = Promise.withResolvers()
    for (let ms = 0; ms < 1000; ms += BLOCK_MS) {
      analysis.add(opening, block, 0)
      await turn()
    }
    await measured.promise
  }
  analysis.open(opening)
  try {
    // Compiled by then.
    for (let i = 0; i < 3; i++) await second()
    const loop = monitorEventLoopDelay({ resolution: 1 })
    loop.enable()
    const from = process.cpuUsage()
    for (let i = 0; i < SECONDS; i++) await second()
    const { system, user } = process.cpuUsage(from)
    loop.disable()
    return row(channels, (system + user) / 1000 / SECONDS, loop.max / NS_PER_MS)
  } finally {
    await analysis.stop()
  }
}

const row = (channels: number, measured: number, blockedMs: number): Row => ({
  name: `meters, ${channels} channels`,
  measured,
  ...(channels === JUDGED ? { limit: LIMIT_MS } : {}),
  unit: 'CPU ms per s',
  bound: 'most',
  how: `${SECONDS} s of noise, S32 at ${RATE} Hz, correlation of all pairs; main loop busy for at most ${blockedMs.toFixed(0)} ms`,
})
