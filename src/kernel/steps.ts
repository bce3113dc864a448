/** Takes every step in turn, whatever becomes of the others. @returns what failed */
export async function takeAll(steps: readonly (() => unknown)[]): Promise<unknown[]> {
  const faults: unknown[] = []
  for (const step of steps)
    try {
      await step()
    } catch (e) {
      faults.push(...(e instanceof AggregateError ? e.errors : [e]))
    }
  return faults
}
