// A listener on a node's live audio, who counts the seconds and hears every break.
import type { Controller } from '../kit/whole.ts'

export interface Ear {
  /** Places where the audio is not what it was a second before, as the cards of the tests repeat themselves. */
  breaks: number
  /** Resolves when nobody listens any more. */
  done: Promise<void>
  /** How often the stream ended, and was begun again. */
  ends: number
  /** Of audio. */
  seconds: number
}

const HEADER = 44
/** Of a 16 bit sample: what a resampler may round. */
const NEAR = 64

/** Listens until `over`. */
export function hearken(controller: Controller, nodeId: string, over: () => boolean): Ear {
  const ear: Ear = { breaks: 0, done: Promise.resolve(), ends: 0, seconds: 0 }
  const listen = async () => {
    while (!over()) {
      const { sessionId } = await controller.post(`/nodes/${nodeId}/listen`)
      const answer = await controller.raw('GET', `/nodes/${nodeId}/listen/stream?sessionId=${sessionId}&continuous=1`)
      // A stream that breaks off is one that ended.
      if (answer.status === 200) await follow(answer, ear, over).catch(() => undefined)
      else await answer.body?.cancel()
      if (!over()) ear.ends++
    }
  }
  ear.done = listen()
  return ear
}

async function follow(answer: Response, ear: Ear, over: () => boolean): Promise<void> {
  let rest = Buffer.alloc(0)
  let second: SecondBefore | undefined
  for await (const chunk of answer.body!) {
    if (over()) return
    rest = Buffer.concat([rest, chunk])
    if (!second) {
      if (rest.length < HEADER) continue
      second = new SecondBefore(rest.readUInt32LE(24))
      rest = rest.subarray(HEADER)
    }
    const whole = rest.length - (rest.length % 2)
    for (let at = 0; at < whole; at += 2) if (second.breaks(rest.readInt16LE(at))) ear.breaks++
    ear.seconds += whole / 2 / second.rate
    rest = rest.subarray(whole)
  }
}

/** Compares a mono stream with itself, one second before. */
class SecondBefore {
  readonly rate: number
  #at = 0
  /** Samples to let pass: behind a break a whole second is another one. */
  #ignore: number
  readonly #past: Int16Array

  constructor(rate: number) {
    this.rate = rate
    this.#past = new Int16Array(rate)
    // The first second, and what a filter needs to settle.
    this.#ignore = rate * 2
  }

  breaks(sample: number): boolean {
    const before = this.#past[this.#at]!
    this.#past[this.#at] = sample
    this.#at = (this.#at + 1) % this.rate
    if (this.#ignore > 0) {
      this.#ignore--
      return false
    }
    if (Math.abs(sample - before) <= NEAR) return false
    this.#ignore = this.rate * 2
    return true
  }
}
