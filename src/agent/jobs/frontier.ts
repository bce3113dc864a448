/** How far a take is readable in its file while it is being captured; who encodes along follows it. */
export class Frontier {
  #ended = false
  #frames = 0
  #news = Promise.withResolvers<void>()

  /** Frames of the take's file that can be read, counted from the file's first. */
  get frames(): number {
    return this.#frames
  }

  /** Whether no more will come for this job: `frames` is then the frame after its last. */
  get ended(): boolean {
    return this.#ended
  }

  advance(frames: number): void {
    if (this.#ended || frames <= this.#frames) return
    this.#frames = frames
    this.#wake()
  }

  /** `toFrame`: the frame after the last one of this job. */
  end(toFrame: number): void {
    if (this.#ended) return
    this.#frames = toFrame
    this.#ended = true
    this.#wake()
  }

  /** Resolves when there is more than `frames`, or when it has ended. Rejects with the signal's reason. */
  async beyond(frames: number, signal: AbortSignal): Promise<void> {
    while (!this.#ended && this.#frames <= frames) {
      signal.throwIfAborted()
      const aborted = Promise.withResolvers<void>()
      const stop = () => aborted.resolve()
      signal.addEventListener('abort', stop, { once: true })
      await Promise.race([this.#news.promise, aborted.promise])
      signal.removeEventListener('abort', stop)
    }
    signal.throwIfAborted()
  }

  #wake(): void {
    this.#news.resolve()
    this.#news = Promise.withResolvers()
  }
}
