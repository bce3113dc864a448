const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

/** Resolves with the first signal to end. From then on another one ends the process the hard way, as without us. */
export function untilSignal(): { forget(): void; signal: Promise<void> } {
  const { promise, resolve } = Promise.withResolvers<void>()
  const heard = () => {
    forget()
    resolve()
  }
  const forget = () => {
    for (const name of SIGNALS) process.off(name, heard)
  }
  for (const name of SIGNALS) process.on(name, heard)
  return { forget, signal: promise }
}
