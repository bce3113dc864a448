// The mono mix of one open device, at the rate of the denoisers, cut into pieces for listeners.

import { mixedDown } from '../audio/samples.rules.ts'
import type { Opening } from '../capture/bus.ts'
import { type Cut, createCutter, LIVE_RATE, type Piece } from './pieces.rules.ts'
import { createResampler } from './resampler.rules.ts'
import { createTimeline } from './timeline.rules.ts'

/** Hz. The rate of the denoisers, and a multiple of the rate that is sent. */
export const FULL_RATE = 48_000
/** Samples of a piece at the full rate. */
export const FULL_PER_LIVE = FULL_RATE / LIVE_RATE
/**
 * A gap up to this long becomes silence. After a longer one the stream continues with the present: silence would leave the
 * listener behind for good.
 */
const MAX_SILENCE_SECONDS = 2

interface MonitorOut {
  /** The mix at the full rate; `index` of its first sample. */
  full(samples: Float32Array, index: number): void
  piece(piece: Piece): void
}

/** Not to be used after `end`. */
export interface Monitor {
  block(frames: Buffer, capturedAt: number): void
  /** Sends what is left. */
  end(): void
  gap(seconds: number): void
  /** A cut of a stream with this monitor's indices, with the time it was captured at. */
  stamped(cut: Cut): Piece
}

/** Costs up to a percent or two of a core per 64 channels: less than handing the frames to another thread. */
export function createMonitor({ format }: Opening, pieceMs: number, out: MonitorOut): Monitor {
  const up = createResampler(format.rate, FULL_RATE)
  const down = createResampler(FULL_RATE, LIVE_RATE)
  const cutter = createCutter((pieceMs * LIVE_RATE) / 1000)
  const timeline = createTimeline(format.rate)
  let frames = 0
  let index = 0

  const stamped = ({ index, pcm }: Cut): Piece => ({ capturedAt: timeline.at((index * format.rate) / LIVE_RATE), pcm })
  const live = (samples: Float32Array): void => {
    for (const cut of cutter.push(samples)) out.piece(stamped(cut))
  }
  const full = (samples: Float32Array): void => {
    out.full(samples, index)
    index += samples.length
    live(down.push(samples))
  }
  const sound = (mono: Float32Array): void => {
    frames += mono.length
    full(up.push(mono))
  }
  return {
    block: (bytes, capturedAt) => {
      const mono = mixedDown(bytes, format)
      timeline.came(frames + mono.length, capturedAt)
      sound(mono)
    },
    end: () => {
      full(up.end())
      live(down.end())
      const rest = cutter.rest()
      if (rest) out.piece(stamped(rest))
    },
    gap: (seconds) => {
      // Before the first block there is no time to relate silence to.
      if (frames > 0 && seconds <= MAX_SILENCE_SECONDS) sound(new Float32Array(Math.round(seconds * format.rate)))
    },
    stamped,
  }
}
