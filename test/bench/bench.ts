// The measured limits, each as a ratio within one run. usage: npm run bench [-- --only NAME[,NAME]] [--dir DIR]
// [--minutes N] [--busy] [--hours N]
import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import { parseArgs } from 'node:util'
import { denoise } from './agent.denoise.ts'
import { finish } from './agent.finish.ts'
import { agentListen } from './agent.listen.ts'
import { agentMeters } from './agent.meters.ts'
import { agents, growth } from './agents.ts'
import { capture } from './capture.ts'
import { consoleListen } from './console.listen.ts'
import { consoleRows } from './console.ts'
import { eventLoop } from './eventloop.ts'
import { firstSample } from './firstsample.ts'
import { heartbeat } from './heartbeat.ts'
import { library } from './library.ts'
import { lists } from './lists.ts'
import { longLists } from './longlists.ts'
import { type Judged, judged, type Row, table } from './measure.ts'
import { agentMemory } from './memory.ts'
import { nodesList } from './nodes.ts'
import { rebuild } from './rebuild.ts'
import { replica } from './replica.ts'
import { s3 } from './s3.ts'
import { scale } from './scale.ts'
import { start, startLarge } from './start.ts'
import { upload } from './upload.ts'
import type { Place } from './world.ts'

const ROOT = path.resolve(import.meta.dirname, '..', '..')
const BENCHES: Record<string, (place: Place) => Promise<Row[]>> = {
  heartbeat,
  'nodes-list': nodesList,
  upload,
  start,
  'start-large': startLarge,
  'first-sample': firstSample,
  'event-loop': eventLoop,
  capture,
  finish,
  denoise,
  memory: agentMemory,
  fleet: agents(500, 0.6),
  'fleet-1000': agents(1000, 0.35),
  'fleet-2000': agents(2000, 0.7),
  'fleet-growth': growth,
  replica,
  s3,
  library,
  lists,
  scale,
  rebuild,
  'long-lists': longLists,
  meters: agentMeters,
  listen: agentListen,
  console: consoleRows,
  'console-listen': consoleListen,
}

const OPTIONS = {
  /** Keep one core busy while a capture runs. */
  busy: { type: 'boolean', default: false },
  /** Of audio, where memory must not grow with it. */
  hours: { type: 'string', default: '0.25' },
  /** Of a measured capture, of live listening; of each watched page of the console (2 at least). */
  minutes: { type: 'string', default: '0.33' },
  only: { type: 'string', default: Object.keys(BENCHES).join(',') },
  /** Scratch directory: on the disk that is to be measured. */
  dir: { type: 'string', default: path.join(ROOT, '.cache') },
} as const

function optionsGiven() {
  try {
    return parseArgs({ options: OPTIONS }).values
  } catch (e) {
    process.stderr.write(`bench: ${(e as Error).message}\n`)
    return process.exit(2)
  }
}
const options = optionsGiven()

async function main(): Promise<number> {
  const names = options.only.split(',')
  for (const name of names) if (!Object.hasOwn(BENCHES, name)) return refuse(name)
  fs.mkdirSync(options.dir, { recursive: true })
  const dir = fs.mkdtempSync(path.join(options.dir, 'bench-'))
  const { busy, hours, minutes } = options
  const place = { busy, dir, hours: Number(hours), minutes: Number(minutes), roomtone: path.join(dir, 'roomtone') }
  const rows: Judged[] = []
  try {
    fs.copyFileSync(process.env.ROOMTONE ?? path.join(ROOT, 'dist', 'roomtone'), place.roomtone)
    for (const name of names) {
      process.stderr.write(`${name} ...\n`)
      rows.push(...((await BENCHES[name]?.(place)) ?? []).map(judged))
    }
    return rows.some(({ ok }) => ok === false) ? 1 : 0
  } finally {
    // Also what was measured before one of them failed.
    const [busy = 0] = os.loadavg()
    console.log(`${os.cpus()[0]?.model}, ${os.availableParallelism()} cores, load ${busy.toFixed(1)}\n\n${table(rows)}`)
    fs.rmSync(dir, { recursive: true, force: true })
  }
}

function refuse(name: string): number {
  console.error(`There is no measurement "${name}": ${Object.keys(BENCHES).join(', ')}.`)
  return 2
}

process.exitCode = await main()
