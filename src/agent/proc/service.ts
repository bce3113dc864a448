/** Something that runs beside the takes while the daemon runs: meters, live audio, health checks. */
export interface Service {
  /** Returns at once; failures are reported as health events. */
  start(): void
  /** Resolves when it has stopped completely. Never rejects. */
  stop(): Promise<void>
}
