import { spawn } from 'node:child_process'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { CARDS, Cards, missingPackages } from '../whole/card.ts'
import { childrenOf, cpuSeconds } from '../whole/processes.ts'
import { assertNothingLost, assertSignal, type Heard, RATE, upTo } from '../whole/signal.ts'
import type { Row } from './measure.ts'
import { arrived, type Recorder, recorder, UNTOUCHED } from './recorder.ts'
import type { Place } from './world.ts'

const CHANNELS = CARDS.Stage
/** The claim, the opening and the first blocks are not measured. */
const WARM_MS = 3000

/** 32 channels of 32 bits at 48 kHz through arecord with meters on all of them, and every sample looked at afterwards. */
export async function capture(place: Place): Promise<Row[]> {
  const missing = missingPackages()
  if (missing) throw new Error(missing)
  const cards = await Cards.lay(fs.mkdtempSync(path.join(place.dir, 'cards-')))
  const idler = place.busy
    ? spawn('taskset', ['-c', '1', 'sh', '-c', 'while :; do :; done'], { stdio: 'ignore' })
    : undefined
  const machine = await recorder(place, cards.env)
  try {
    return await measured(place, machine)
  } finally {
    idler?.kill('SIGKILL')
    await machine.stop()
    await cards.close()
  }
}

async function measured({ busy, minutes }: Place, machine: Recorder): Promise<Row[]> {
  const { agent, node, world } = machine
  await world.call('PATCH', `/nodes/${node.id}`, { audioDefaults: { captureFormat: 'S32_LE' } })
  const seconds = Math.round(minutes * 60) + WARM_MS / 1000 + 2
  const wish = {
    captureChannelSelection: upTo(CHANNELS),
    captureInterfaceId: await machine.device('Stage'),
    channelMode: 'multichannel',
    durationSeconds: seconds,
  }
  const taken = await machine.record(wish, { codec: 'wav', enhancement: UNTOUCHED })
  while (childrenOf(agent.pid!, 'arecord').length === 0) await sleep(20)
  await sleep(WARM_MS)
  const [program] = childrenOf(agent.pid!, 'arecord') as [number]
  const from = { agent: cpuSeconds(agent.pid!), at: performance.now(), program: cpuSeconds(program) }
  const frames = await metered(machine, wish.captureInterfaceId, minutes * 60_000)
  const elapsed = (performance.now() - from.at) / 1000
  const own = (cpuSeconds(agent.pid!) - from.agent) / elapsed
  const arecord = (cpuSeconds(program) - from.program) / elapsed
  const { cachePath } = await arrived(machine, taken, (recording) => recording.cached)
  const { layout, silences } = heldAgainstTheCard(machine, path.join(world.data, 'recordings', cachePath!))
  if (layout.frames !== seconds * RATE) throw new Error(`${layout.frames} frames in ${seconds} s`)
  const stood = silences.reduce((sum, gap) => sum + gap.seconds, 0)
  const load = `${minutes} min${busy ? ' beside a busy core' : ''}`
  return [
    {
      name: 'capture-cpu',
      measured: own + arecord,
      limit: 0.25,
      unit: 'of a core',
      bound: 'most',
      how: `${CHANNELS} channels S32_LE 48 kHz, ${load}: agent ${own.toFixed(3)}, arecord with the JACK plugin ${arecord.toFixed(3)}; ${layout.frames} frames, none lost; the graph's clock stood still for ${stood.toFixed(2)} s`,
    },
    {
      name: 'capture-meters',
      measured: frames / elapsed,
      limit: 0.2,
      unit: 'frames/s',
      bound: 'least',
      how: `meter frames of all ${CHANNELS} channels that reached the controller meanwhile; by contract one in 5 s`,
    },
  ]
}

/** @throws Error with what the agent said of it when a sample is missing. */
function heldAgainstTheCard({ complaints }: Recorder, file: string): Heard {
  try {
    const heard = assertSignal(file, upTo(CHANNELS), 'the take')
    assertNothingLost(heard, 'the take')
    return heard
  } catch (e) {
    throw new Error(`${(e as Error).message}\n${complaints()}`)
  }
}

/** Meter frames with every channel that the controller shows within `ms`. */
async function metered({ node, world }: Recorder, device: string, ms: number): Promise<number> {
  const seen = new Set<string>()
  for (const until = performance.now() + ms; performance.now() < until; await sleep(250)) {
    const { data: frame } = await world.call('GET', `/nodes/${node.id}/meters?interfaceId=${device}`)
    if (frame.levels.length === CHANNELS) seen.add(frame.capturedAt)
  }
  return seen.size
}
