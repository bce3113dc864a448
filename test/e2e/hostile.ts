// Hostile callers beside a fleet of honest agents. As a program:
//   scripts/node test/e2e/hostile.ts [--agents 200] [--seconds 60] [--every 5] [--attacks 2]
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { quantile } from '../bench/measure.ts'
import { allocatorOf } from '../kit/unit.ts'
import { Controller, filesBelow, House } from '../kit/whole.ts'
import type { AttackOrder, Struck } from './hostile.attack.ts'
import type { Beats, FleetOrder } from './hostile.fleet.ts'

export interface Campaign {
  agents: number
  /** One after the other, with a quiet phase behind each: what the first leaves in memory, the second must not leave again. */
  attacks: number
  /** Between two heartbeats of one agent. */
  everyMs: number
  /** Of an attack; the phases before and after it last a third of that, and a heartbeat of each agent at least. */
  seconds: number
}

/** One phase of the campaign, as the honest agents and the controller saw it. */
export interface Phase {
  /** Rows of the audit at its end. */
  audit: number
  beats: Beats
  /** Below the data directory at its end. */
  diskBytes: number
  /** The longest delay of the controller's loop, ms. */
  lagMs: number
  name: 'after' | 'alone' | 'attack'
  rssBytes: number
}

export interface Told {
  phases: Phase[]
  struck: Struck
}

const RESOLUTION_MS = 10

/** Starts a program of this directory, gives it its order and waits until it has begun. */
async function begun(file: string, order: AttackOrder | FleetOrder): Promise<ChildProcess> {
  const child = fork(path.join(import.meta.dirname, file), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  child.send(order)
  await once(child, 'message')
  return child
}

async function asked<T>(child: ChildProcess): Promise<T> {
  const answer = once(child, 'message')
  child.send('look')
  const [told] = await answer
  return told as T
}

/** The yardstick: a bare server on the same machine at the same time. */
async function bareServer(house: House): Promise<{ child: ChildProcess; url: string }> {
  const program = path.join(import.meta.dirname, '..', 'bench', 'bare.ts')
  const child = fork(program, [house.path('bare.db')], { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] })
  const [line] = await once(child.stdout as NodeJS.ReadableStream, 'data')
  return { child, url: JSON.parse(String(line)).url }
}

const bytesBelow = (dir: string): number =>
  filesBelow(dir).reduce(
    (sum, file) => sum + (fs.statSync(path.join(dir, file), { throwIfNoEntry: false })?.size ?? 0),
    0,
  )

function rssOf(controller: Controller): number {
  const status = fs.readFileSync(`/proc/${controller.program.child.pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024
}

/** The longest delay of the loop since the last look, ms: what the controller's own watch says. */
async function lagOf(controller: Controller): Promise<number> {
  const { session: token, url } = controller
  const response = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } })
  const found = /^nodejs_eventloop_lag_max_seconds (\S+)$/m.exec(await response.text())?.[1]
  return Math.max(0, Number(found) * 1000 - RESOLUTION_MS)
}

async function viewerOf(controller: Controller): Promise<string> {
  const viewer = { email: 'viewer@roomtone.local', password: 'whole-house-viewer-password' }
  await controller.post('/auth/users', { ...viewer, name: 'Viewer', roles: ['viewer'] })
  const { token } = await controller.get('/auth/login', 'POST', viewer)
  return token
}

async function enrolled(controller: Controller, agents: number): Promise<FleetOrder['nodes']> {
  const nodes: FleetOrder['nodes'] = []
  for (let n = 0; n < agents; n++) nodes.push(await controller.enroll(`honest ${n}`))
  return nodes
}

async function phase(name: Phase['name'], controller: Controller, fleet: ChildProcess, ms: number): Promise<Phase> {
  await asked<Beats>(fleet)
  await lagOf(controller)
  await sleep(ms)
  const beats = await asked<Beats>(fleet)
  const { json } = await controller.ask('GET', '/audit-events?limit=1')
  const lagMs = await lagOf(controller)
  return {
    audit: json.meta.total,
    beats,
    diskBytes: bytesBelow(controller.data),
    lagMs,
    name,
    rssBytes: rssOf(controller),
  }
}

/** Runs the campaign on the built executable. */
export async function campaign({ agents, attacks, everyMs, seconds }: Campaign): Promise<Told> {
  const house = await House.open()
  const children: ChildProcess[] = []
  try {
    const controller = await (await new Controller(house, allocatorOf('controller')).start()).login()
    const { url } = controller
    const bare = await bareServer(house)
    children.push(bare.child)
    const nodes = await enrolled(controller, agents)
    const order = { evil: await controller.enroll('hostile'), other: nodes[0]!.id, url }
    const viewer = await viewerOf(controller)
    const fleet = await begun('hostile.fleet.ts', { bare: bare.url, everyMs, nodes, url })
    children.push(fleet)
    await sleep(everyMs) // the first heartbeat of each changes its row
    const quiet = Math.max(everyMs, (seconds * 1000) / 3)
    const phases = [await phase('alone', controller, fleet, quiet)]
    const struck: Struck = {}
    for (let n = 0; n < attacks; n++) {
      const attackers = await begun('hostile.attack.ts', { ...order, viewer })
      children.push(attackers)
      phases.push(await phase('attack', controller, fleet, seconds * 1000))
      for (const [kind, count] of Object.entries(await asked<Struck>(attackers)))
        struck[kind] = (struck[kind] ?? 0) + count
      phases.push(await phase('after', controller, fleet, quiet))
    }
    // Ends by itself, so that a profile of it can be written.
    await controller.program.end('SIGTERM')
    return { phases, struck }
  } finally {
    for (const child of children) child.kill()
    await house.close()
  }
}

const mib = (bytes: number): string => (bytes / 2 ** 20).toFixed(1)
const times = (ms: number[]): string =>
  ms.length === 0
    ? 'none'
    : [quantile(ms, 0.5), quantile(ms, 0.99), Math.max(...ms)].map((x) => x.toFixed(1)).join(' / ')

/** The campaign as lines to print. */
export function table({ phases, struck }: Told): string[] {
  const title =
    'phase   heartbeats  median / p99 / max ms  bare server ms  statuses  loop delay ms  RSS MiB  disk MiB  audit rows'
  const rows = phases.map(({ audit, beats, diskBytes, lagMs, name, rssBytes }) =>
    [
      name.padEnd(6),
      String(beats.ms.length),
      times(beats.ms),
      times(beats.bareMs),
      JSON.stringify(beats.statuses),
      lagMs.toFixed(0),
      mib(rssBytes),
      mib(diskBytes),
      String(audit),
    ].join('  '),
  )
  const counts = Object.entries(struck).sort(([a], [b]) => a.localeCompare(b))
  return [title, ...rows, 'attackers:', ...counts.map(([kind, n]) => `  ${kind.padEnd(20)} ${n}`)]
}

if (import.meta.main) {
  const options = {
    agents: { default: '200', type: 'string' },
    attacks: { default: '2', type: 'string' },
    every: { default: '5', type: 'string' },
    seconds: { default: '60', type: 'string' },
  } as const
  const { values } = parseArgs({ options })
  const everyMs = Number(values.every) * 1000
  const [agents, attacks, seconds] = [values.agents, values.attacks, values.seconds].map(Number) as [
    number,
    number,
    number,
  ]
  const told = await campaign({ agents, attacks, everyMs, seconds })
  process.stdout.write(`${table(told).join('\n')}\n`)
}
