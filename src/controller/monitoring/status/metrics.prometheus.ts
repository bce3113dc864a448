import { setImmediate as nextTurn } from 'node:timers/promises'
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import { availability } from './families.rules.ts'
import type { Family } from './family.rules.ts'

export const CONTENT_TYPE = Registry.PROMETHEUS_CONTENT_TYPE

// Samples per turn of the event loop: a millisecond or two.
const SLICE = 500

/** The families as text. One registry per family: callers share nothing, and the event loop is not blocked. */
export async function exposition(all: readonly Family[], processMetrics: () => Promise<string>): Promise<string> {
  const texts: string[] = []
  for (const family of all) texts.push(await textOf(family))
  return `${texts.join('\n')}\n${await processMetrics()}`
}

/** The metrics while the database is unavailable. */
export const outage = (): Promise<string> => textOf(availability(true))

/** CPU, memory, handles, event loop and garbage collection of this process; collected from the first call on. */
export function processMetrics(): () => Promise<string> {
  let registry: Registry | undefined
  return async () => {
    if (!registry) {
      registry = new Registry()
      collectDefaultMetrics({ register: registry })
      // Gauges that are named like counters; the same numbers stand in those without `_total`, by kind.
      for (const kind of ['handles', 'requests', 'resources'])
        registry.removeSingleMetric(`nodejs_active_${kind}_total`)
    }
    return known(await registry.metrics())
  }
}

/** Without the samples that have no value: an empty histogram has no mean. */
const known = (text: string): string => text.replaceAll(/^[^#\n].* Nan\n/gim, '')

async function textOf({ help, name, samples, type }: Family): Promise<string> {
  const registry = new Registry()
  const Kind: typeof Gauge | typeof Counter = type === 'gauge' ? Gauge : Counter
  // prom-client starts a family without labels at 0; without samples it must stay empty.
  const labelNames = samples[0] ? Object.keys(samples[0][0]) : ['none']
  const family = new Kind({ name: `svc_${name}`, help, labelNames, registers: [registry] })
  for (const [i, [labels, value]] of samples.entries()) {
    if (i > 0 && i % SLICE === 0) await nextTurn()
    family.inc(labels, value)
  }
  return known(await registry.metrics())
}
