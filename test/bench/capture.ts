// A wide card that counts its samples, captured with meters on all channels: nothing may be missing, and what it costs.
import { type ChildProcess, spawn } from 'node:child_process'
import * as path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { CARDS, layProc } from '../e2e/card.ts'
import { assertCounted, COUNTER, counterEnv } from '../e2e/counted.ts'
import { childrenOf, commandOf, cpuSeconds } from '../e2e/processes.ts'
import { RATE, upTo } from '../e2e/signal.ts'
import type { Row } from './measure.ts'
import { arrived, type Recorder, recorder, UNTOUCHED } from './recorder.ts'
import type { Place } from './world.ts'

const CARD = 'Stage'
const CHANNELS = CARDS[CARD]
/** The claim and the first blocks are not measured. */
const WARM_SECONDS = 3

/** 32 channels of 32 bits at 48 kHz, every sample looked at afterwards. A take of 30 minutes needs 25 GB of `--dir`. */
export async function capture(place: Place): Promise<Row[]> {
  const asound = path.join(place.dir, 'asound')
  layProc(asound, [CARD])
  const idler = place.busy ? busyCore() : undefined
  const machine = await recorder(place, counterEnv(place.dir, asound, CARD))
  try {
    return await measured(place, machine)
  } finally {
    idler?.kill('SIGKILL')
    await machine.stop()
  }
}

/** A core that something else takes as much of as it gets. */
const busyCore = (): ChildProcess =>
  spawn('taskset', ['-c', '1', 'sh', '-c', 'while :; do :; done'], { stdio: 'ignore' })

async function measured({ busy, minutes }: Place, machine: Recorder): Promise<Row[]> {
  const { agent, node, world } = machine
  await world.call('PATCH', `/nodes/${node.id}`, { audioDefaults: { captureFormat: 'S32_LE' } })
  const measuredSeconds = Math.round(minutes * 60)
  const wish = {
    captureChannelSelection: upTo(CHANNELS),
    captureInterfaceId: await machine.device(CARD),
    channelMode: 'multichannel',
    durationSeconds: measuredSeconds + WARM_SECONDS + 2,
  }
  const taken = await machine.record(wish, { codec: 'wav', enhancement: UNTOUCHED })
  const isRunning = async () => (await world.call('GET', `/recording-jobs/${taken.job.id}`)).data.status === 'running'
  while (!(await isRunning())) await sleep(20)
  await sleep(WARM_SECONDS * 1000)
  const [card, from, at] = [counterOf(agent.pid!), agentCpu(agent.pid!), performance.now()]
  const meters = await metered(machine, wish.captureInterfaceId, measuredSeconds * 1000)
  const elapsed = (performance.now() - at) / 1000
  const cpu = (agentCpu(agent.pid!) - from) / elapsed
  if (counterOf(agent.pid!) !== card) throw new Error('the card was opened a second time')
  const { cachePath, renditions } = await arrived(machine, taken, (recording) => recording.cached)
  const told = renditions?.primary?.gapCount
  if (told) throw new Error(`${told} gaps are told\n${machine.complaints()}`)
  const frames = counted(machine, path.join(world.data, 'recordings', cachePath!))
  if (frames !== wish.durationSeconds * RATE) throw new Error(`${frames} frames in ${wish.durationSeconds} s`)
  const load = `${measuredSeconds} s${busy ? ' beside a busy core' : ''}`
  return [cost(cpu, load, frames), heardMeanwhile(meters / elapsed)]
}

const cost = (cpu: number, load: string, frames: number): Row => ({
  name: 'capture-cpu',
  measured: cpu,
  limit: 0.25,
  unit: 'of a core',
  bound: 'most',
  how: `agent and its programs, ${CHANNELS} channels S32_LE 48 kHz, ${load}; all ${frames * CHANNELS} samples counted, none lost`,
})

const heardMeanwhile = (perSecond: number): Row => ({
  name: 'capture-meters',
  measured: perSecond,
  limit: 0.2,
  unit: 'frames/s',
  bound: 'least',
  how: `meter frames of all ${CHANNELS} channels that reached the controller meanwhile; by contract one in 5 s`,
})

const isCounter = (pid: number): boolean => commandOf(pid).includes(COUNTER)

function counterOf(agent: number): number {
  const [card, ...others] = childrenOf(agent).filter(isCounter)
  if (card === undefined || others.length > 0)
    throw new Error(`the card is open ${others.length + (card ? 1 : 0)} times`)
  return card
}

/** CPU seconds of the agent and its programs, those that ended included; the card's are its own. */
const agentCpu = (agent: number): number =>
  childrenOf(agent)
    .filter((pid) => !isCounter(pid))
    .reduce((sum, pid) => sum + cpuSeconds(pid, true), cpuSeconds(agent, true))

/** @throws Error with what the agent said of it when a sample is missing. */
function counted({ complaints }: Recorder, file: string): number {
  try {
    return assertCounted(file, CHANNELS)
  } catch (e) {
    throw new Error(`${(e as Error).message}\n${complaints()}`)
  }
}

/** Meter frames with every channel that the controller shows within `ms`. */
async function metered({ node, world }: Recorder, device: string, ms: number): Promise<number> {
  const seen = new Set<string>()
  for (const until = performance.now() + ms; performance.now() < until; await sleep(250)) {
    const { data: frame } = await world.call('GET', `/nodes/${node.id}/meters?interfaceId=${device}`)
    if (frame?.levels.length === CHANNELS) seen.add(frame.capturedAt)
  }
  return seen.size
}
