import { tail } from '../../../kernel/redact.ts'
import { OUTPUT_KEPT, type Stream } from '../../../wire/lifecycle.ts'

/** Shortest time between two writings, ms: people read along, the database has other things to do. */
const PAUSE_MS = 1000

type Outputs = Record<Stream, string>

/** The end of what a run has said so far, written down while it goes on. */
export class Progress {
  readonly #said: Outputs = { stderr: '', stdout: '' }
  readonly #write: (said: Outputs) => void
  #timer: NodeJS.Timeout | undefined

  constructor(write: (said: Outputs) => void) {
    this.#write = write
  }

  readonly tell = (stream: Stream, text: string): void => {
    this.#said[stream] = tail(this.#said[stream] + text, OUTPUT_KEPT[stream])
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#write({ ...this.#said })
    }, PAUSE_MS)
  }

  /** What was said; nothing is written any more. */
  stop(): Outputs {
    clearTimeout(this.#timer)
    return this.#said
  }
}
