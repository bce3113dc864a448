// Runs simulated days, one seed each: scripts/node test/sim/run.ts --seed 1 --days 20, or --worlds 1:0,7:6 (seeds and how many
// faults each has).
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { parseArgs } from 'node:util'
import type { Run } from './box.ts'
import { installDisks } from './files.ts'
import { installNetwork, Network } from './network.ts'
import { installPrograms, type Owner } from './programs.ts'
import { Time } from './time.ts'
import { installTime } from './timers.ts'

const { values } = parseArgs({
  options: {
    faults: { type: 'string', default: '0' },
    hours: { type: 'string', default: '2' },
    kinds: { type: 'string', default: '' },
    days: { type: 'string', default: '1' },
    rooms: { type: 'string', default: '3' },
    seed: { type: 'string', default: '1' },
    worlds: { type: 'string', default: '' },
    verbose: { type: 'boolean', default: false },
  },
})

const print = (line: string): void => void process.stdout.write(`${line}\n`)
const time = new Time()
const network = new Network(time)
// Before anything of the product is loaded: it keeps the clock it found.
installTime(time)
installDisks({ tenant: () => time.current as Run | undefined, time })
installPrograms(time, (life) => {
  const { box } = life as Run
  return 'programs' in box ? (box as unknown as Owner) : undefined
})
installNetwork(network)
const { day } = await import('./day.ts')
const { KINDS } = await import('./faults.ts')
const { hasStore } = await import('./site.ts')
const wanted = values.kinds.split(',')
const chosen = KINDS.filter((kind) => wanted.some((start) => kind.startsWith(start)))
const unknown = wanted.filter((start) => !KINDS.some((kind) => kind.startsWith(start)))
if (unknown.length > 0) throw new Error(`no such kind of fault: ${unknown.join(', ')}; there are ${KINDS.join(', ')}`)

process.on('unhandledRejection', (e) => time.onCrash(time.current, e))
const named = values.worlds.split(',').map((world) => world.split(':').map(Number) as [seed: number, faults: number])
const counted = Array.from({ length: Number(values.days) }, (_, n) => [Number(values.seed) + n, Number(values.faults)])
const worlds = values.worlds === '' ? counted : named
// In no simulated time.
if (worlds.some(([seed = 0]) => hasStore(seed))) await warmStore()
let failed = 0
for (const [seed = 0, faults = 0] of worlds) {
  const began = process.cpuUsage()
  const folder = mkdtempSync(`${tmpdir()}/roomtone-sim-`)
  const result = await day({
    ...{ faults, folder, hours: Number(values.hours), kinds: chosen, network, print },
    ...{ rooms: Number(values.rooms), seed, time, verbose: values.verbose },
  })
  const { system, user } = process.cpuUsage(began)
  const seconds = ((system + user) / 1e6).toFixed(1)
  print(`seed ${seed}: ${result.words}; ${result.steps} steps in ${seconds} s of processor, trace ${result.trace}`)
  for (const line of result.broken) print(`  BROKEN ${line}`)
  if (result.broken.length > 0) failed++
}
print(`${worlds.length} days, ${failed} broken`)
process.exit(failed > 0 ? 1 : 0)

/** What the client of the store reads and remembers when it is first used: every world finds it done. */
async function warmStore(): Promise<void> {
  await import('@aws-sdk/lib-storage')
  const { S3Client } = await import('@aws-sdk/client-s3')
  const { config } = new S3Client({ region: 'us-east-1' })
  await Promise.all([config.useFipsEndpoint(), config.maxAttempts(), config.requestChecksumCalculation()])
}
