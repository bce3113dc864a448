// Live listen: what it costs the agent, and how far behind the room a listener is.
import * as fs from 'node:fs'
import * as path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { streamFrameBytes } from '../../src/agent/audio/format.rules.ts'
import { createBus, type Opening } from '../../src/agent/capture/bus.ts'
import { tonePeriod } from '../../src/agent/capture/tones.ts'
import { EMBEDDED_MODEL } from '../../src/agent/enhance/model.rules.ts'
import { createLink } from '../../src/agent/link/client.ts'
import { Listen } from '../../src/agent/listen/listen.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import type { NodeConfig } from '../../src/wire/nodes.ts'
import { median, quantile, type Row } from './measure.ts'
import { begin, end } from './programs.ts'
import { type Enrolled, enroll, type Fleet, fleet, type Place } from './world.ts'

const RATE = 48_000
const BLOCK_MS = 20
const CPU_SECONDS = 10
const PIECES = 60

/** CPU of mixing, resampling, denoising and sending; then delays, by a real agent with its test source. */
export async function agentListen(place: Place): Promise<Row[]> {
  const world = await fleet(place)
  try {
    const [node, heard] = (await enroll(world, 2)) as [Enrolled, Enrolled]
    return [
      await costs(world, node, 2, false),
      await costs(world, node, 32, false),
      await costs(world, node, 2, true),
      ...(await delays(place, world, heard)),
    ]
  } finally {
    await world.controller.stop()
  }
}

const asked = (enhanced: boolean): NodeConfig => ({
  liveListen: { requested: true },
  monitorEnhancement: { engine: 'deepfilternet3', requested: enhanced },
  recorderCachePolicies: [],
  recordingCapacity: { maxConcurrentRecordings: 1 },
})

/** The agent's own parts in this process, at the pace of a sound card, sending to a real controller. */
async function costs(world: Fleet, node: Enrolled, channels: number, enhanced: boolean): Promise<Row> {
  const timeouts = { connectTimeoutMs: 10_000, readTimeoutMs: 60_000, requestTimeoutMs: 60_000 }
  const at = { nodeId: node.id, token: () => node.token, url: world.controller.url }
  const link = createLink({ ...timeouts, ...at, allowInsecure: false })
  const bus = createBus()
  const failed = Promise.withResolvers<never>()
  const listen = new Listen({
    bus,
    clock: systemClock,
    heartbeatMs: 5000,
    link,
    model: EMBEDDED_MODEL,
    report: ({ details, type }) => failed.reject(new Error(`${type} ${JSON.stringify(details)}`)),
  })
  listen.start()
  listen.apply(asked(enhanced))
  try {
    // The engine is loaded and everything compiled.
    await Promise.race([play(bus, channels, 5), failed.promise])
    const from = process.cpuUsage()
    await Promise.race([play(bus, channels, CPU_SECONDS), failed.promise])
    const { system, user } = process.cpuUsage(from)
    return cost(channels, enhanced, (system + user) / 1e6 / CPU_SECONDS)
  } finally {
    await listen.stop()
    link.close()
  }
}

async function play(bus: ReturnType<typeof createBus>, channels: number, seconds: number): Promise<void> {
  const format = { channels, format: 'S32_LE', rate: RATE } as const
  const opening: Opening = { device: 'bench', format, interfaceRef: 'bench', test: true }
  const period = tonePeriod(format)
  const size = (streamFrameBytes(format) * RATE * BLOCK_MS) / 1000
  const block = Buffer.concat(Array(Math.ceil(size / period.length)).fill(period)).subarray(0, size)
  bus.opened(opening)
  const from = performance.now()
  for (let ms = 0; ms < seconds * 1000; ms += BLOCK_MS) {
    bus.block(opening, block, Date.now())
    await sleep(Math.max(0, from + ms + BLOCK_MS - performance.now()))
  }
  bus.closed(opening)
}

const cost = (channels: number, enhanced: boolean, measured: number): Row => ({
  name: `listen-cpu-${enhanced ? 'enhanced' : channels}`,
  measured,
  limit: enhanced ? 0.12 : 0.03,
  unit: 'CPU s per s',
  bound: 'most',
  how: `${channels} channels S32 at ${RATE} Hz, mixed, resampled, sent${enhanced ? '; denoised by the deep engine beside' : ''}`,
})

/** A listener of each kind at the same time. */
async function delays(place: Place, world: Fleet, node: Enrolled): Promise<Row[]> {
  const work = fs.mkdtempSync(path.join(place.dir, 'agent-'))
  const env = {
    HOME: work,
    SVC_AGENT_DIR: work,
    SVC_ALSA_PROC_ROOT: work,
    SVC_CONTROLLER_TOKEN: node.token,
    SVC_CONTROLLER_URL: world.controller.url,
    SVC_NODE_ID: node.id,
    SVC_TEST_SOURCE: '1',
  }
  const agent = begin({ args: ['agent'], env, program: place.roomtone }, path.join(work, 'agent.log'))
  agent.stdout?.resume()
  try {
    while ((await world.call('GET', `/nodes/${node.id}`)).data.status !== 'online') await sleep(50)
    // It has its config, and waits for another.
    await sleep(2000)
    const first = await hear(world, node, true, 'enhanced')
    const [raw, enhanced] = await Promise.all([hear(world, node, false, 'raw'), hear(world, node, true, 'enhanced')])
    return delayRows(first.firstMs, raw.delays, enhanced.delays)
  } finally {
    await end(agent)
  }
}

interface Heard {
  /** From the end of a piece's capture to its arrival, ms. */
  delays: number[]
  /** From the request to the first piece of the rendition, ms. */
  firstMs: number
}

async function hear(world: Fleet, node: Enrolled, enhance: boolean, rendition: string): Promise<Heard> {
  const from = performance.now()
  const { data } = await world.call('POST', `/nodes/${node.id}/listen`, { enhance })
  const headers = { authorization: `Bearer ${world.token}` }
  const heard: Heard = { delays: [], firstMs: 0 }
  for (let after = ''; heard.delays.length < PIECES; ) {
    const response = await fetch(`${world.controller.url}${data.streamUrl}&waitSeconds=10${after}`, { headers })
    await response.arrayBuffer()
    if (response.status !== 200) continue
    const of = (name: string) => response.headers.get(`x-svc-${name}`) ?? ''
    after = `&after=${of('sequence')}`
    if (of('rendition') !== rendition) continue
    heard.firstMs ||= performance.now() - from
    heard.delays.push(Date.now() - Date.parse(of('captured-at')) - Number(of('duration-ms')))
  }
  await world.call('DELETE', `/nodes/${node.id}/listen/${data.sessionId}`)
  // What was there before the listener is older than what they wait for.
  return { ...heard, delays: heard.delays.slice(5) }
}

function delayRows(firstMs: number, raw: number[], enhanced: number[]): Row[] {
  const spread = (of: number[]) => `median ${median(of).toFixed(0)} ms, p95 ${quantile(of, 0.95).toFixed(0)} ms`
  return [
    {
      name: 'listen-enhanced-delay',
      measured: quantile(enhanced, 0.95) - median(raw),
      limit: 300,
      unit: 'ms',
      bound: 'most',
      how: `enhanced behind raw, from the end of a piece's capture to the listener; raw ${spread(raw)}; enhanced ${spread(enhanced)}`,
    },
    {
      name: 'listen-switch',
      measured: firstMs,
      limit: 5000,
      unit: 'ms',
      bound: 'most',
      how: 'asked for enhanced, nobody listening before: to the first enhanced piece, model loaded',
    },
  ]
}
