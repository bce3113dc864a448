import { setImmediate as nextTurn } from 'node:timers/promises'
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import { availability } from './families.rules.ts'
import type { Family } from './family.rules.ts'

export const CONTENT_TYPE = Registry.PROMETHEUS_CONTENT_TYPE

// Samples that are written without letting others speak: a millisecond or two.
const SLICE = 500

/** The families as text. A registry of its own for each: nothing of one caller stays for the next, and the loop is not held. */
export async function exposition(all: readonly Family[], processMetrics: () => Promise<string>): Promise<string> {
  const texts: string[] = []
  for (const family of all) texts.push(await textOf(family))
  return `${texts.join('\n')}\n${await processMetrics()}`
}

/** All that can be said while the database is away. */
export const outage = (): Promise<string> => textOf(availability(true))

/** CPU, memory, handles, event loop and garbage collection of this process; watched from the first call on. */
export function processMetrics(): () => Promise<string> {
  let registry: Registry | undefined
  return () => {
    if (!registry) {
      registry = new Registry()
      collectDefaultMetrics({ register: registry })
    }
    return registry.metrics()
  }
}

async function textOf({ help, name, samples, type }: Family): Promise<string> {
  const registry = new Registry()
  const Kind: typeof Gauge | typeof Counter = type === 'gauge' ? Gauge : Counter
  // A family that has no labels starts at 0: one that has no samples must stay empty.
  const labelNames = samples[0] ? Object.keys(samples[0][0]) : ['none']
  const family = new Kind({ name: `svc_${name}`, help, labelNames, registers: [registry] })
  for (const [i, [labels, value]] of samples.entries()) {
    if (i > 0 && i % SLICE === 0) await nextTurn()
    family.inc(labels, value)
  }
  return registry.metrics()
}
