/** Something that runs beside the takes as long as the daemon does: meters, live audio, watching the machine. */
export interface Service {
  /** Returns at once; what it cannot do, it says as a health event. */
  start(): void
  /** Resolves when nothing of it is left. Never rejects. */
  stop(): Promise<void>
}
