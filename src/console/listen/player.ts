import { place } from './cushion.rules.ts'
import { pcmReader } from './wav.rules.ts'

export interface Player {
  stop(): void
}

interface Events {
  buffering(is: boolean): void
  ended(e?: Error): void
  /** Peak of each piece, dBFS. */
  level(db: number): void
}

/** Seconds over which audio fades out before some of it is skipped. */
const FADE = 0.02

/**
 * Where sound comes out. Make it in a tap: browsers let nothing else make sound. It has the rate of the stream, since
 * pieces that are resampled one by one have audible seams.
 */
export const createOutput = (): AudioContext => new AudioContext({ sampleRate: 16_000 })

/** Plays the endless WAV at `url`, and closes the output at its end. */
export function play(url: string, context: AudioContext, { buffering, ended, level }: Events): Player {
  const abort = new AbortController()
  const pending = new Set<AudioBufferSourceNode>()
  const reader = pcmReader()
  let end = 0
  let gain = context.createGain()
  gain.connect(context.destination)
  let stopped = false

  const schedule = (samples: Float32Array<ArrayBuffer>): void => {
    if (samples.length === 0) return
    const placed = place(context.currentTime, end)
    if (placed.skipped > 0) {
      // What is next is still heard: the skip leaves no hole.
      gain.gain.setValueAtTime(1, placed.at - FADE)
      gain.gain.linearRampToValueAtTime(0, placed.at)
      for (const source of pending) source.stop(placed.at)
      gain = context.createGain()
      gain.connect(context.destination)
    }
    const buffer = context.createBuffer(1, samples.length, reader.rate())
    buffer.copyToChannel(samples, 0)
    const source = context.createBufferSource()
    source.buffer = buffer
    source.connect(gain)
    source.onended = () => pending.delete(source)
    pending.add(source)
    source.start(placed.at)
    end = placed.at + buffer.duration
    buffering(placed.buffering)
    level(peakOf(samples))
  }
  const stop = (e?: Error): void => {
    if (stopped) return
    stopped = true
    abort.abort()
    void context.close()
    ended(e)
  }
  const run = async (): Promise<void> => {
    const response = await fetch(url, { credentials: 'same-origin', signal: abort.signal })
    if (!response.ok || !response.body) throw new Error(`HTTP ${response.status}`)
    const body = response.body.getReader()
    for (;;) {
      const { done, value } = await body.read()
      if (done) return
      schedule(reader.push(value) as Float32Array<ArrayBuffer>)
    }
  }
  // A page that is kept for the back button would keep the stream too.
  window.addEventListener('pagehide', () => stop(), { signal: abort.signal })
  run().then(
    () => stop(),
    (e: Error) => stop(stopped ? undefined : e),
  )
  return { stop: () => stop() }
}

const peakOf = (samples: Float32Array): number =>
  20 * Math.log10(samples.reduce((most, sample) => Math.max(most, Math.abs(sample)), 1e-5))
