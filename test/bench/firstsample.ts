import * as fs from 'node:fs'
import * as path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseWav } from '../../src/agent/audio/wav.rules.ts'
import { median, quantile, type Row } from './measure.ts'
import { begin, end } from './programs.ts'
import { type Enrolled, enroll, type Fleet, fleet, type Place } from './world.ts'

const TAKES = 9

/** POST /recordings to the first samples in the take file of an agent that waits for work, by its test source. */
export async function firstSample(place: Place): Promise<Row[]> {
  const world = await fleet(place)
  const [node] = (await enroll(world, 1)) as [Enrolled]
  const work = fs.mkdtempSync(path.join(place.dir, 'agent-'))
  const env = {
    HOME: work,
    SVC_AGENT_DIR: work,
    SVC_CONTROLLER_TOKEN: node.token,
    SVC_CONTROLLER_URL: world.controller.url,
    SVC_NODE_ID: node.id,
    SVC_TEST_SOURCE: '1',
  }
  const agent = begin({ args: ['agent'], env, program: place.roomtone }, path.join(work, 'agent.log'))
  try {
    const device = await online(world, node)
    const times: number[] = []
    for (let i = 0; i < TAKES; i++) times.push(await recorded(world, node, device, work))
    return [
      {
        name: 'first-sample',
        measured: median(times),
        limit: 500,
        unit: 'ms',
        bound: 'most',
        how: `POST sent to the first samples in the take file (watched every ms), median of ${TAKES}, worst ${quantile(times, 1).toFixed(0)} ms`,
      },
    ]
  } finally {
    await end(agent)
    await world.controller.stop()
  }
}

/** The id of the agent's tone generator, once the agent has told of it. */
async function online({ call }: Fleet, { id }: Enrolled): Promise<string> {
  for (;;) {
    const { data } = await call('GET', `/nodes/${id}`)
    // biome-ignore lint/suspicious/noExplicitAny: answers are looked into, not typed
    const found = data.interfaces.find((one: any) => one.systemRef.startsWith('test:'))
    if (found) return found.id
    await sleep(50)
  }
}

async function recorded({ call }: Fleet, node: Enrolled, device: string, work: string): Promise<number> {
  await sleep(1000) // the agent asks for work and waits
  const from = performance.now()
  const request = { nodeId: node.id, captureInterfaceId: device, durationSeconds: 1 }
  const { data, job } = await call('POST', '/recordings', request)
  const heard = await firstGrowth(path.join(work, 'takes', job.id, 'take.wav'))
  while (!(await call('GET', `/recordings/${data.id}`)).data.cached) await sleep(50)
  return heard - from
}

async function firstGrowth(file: string): Promise<number> {
  let header: number | undefined
  for (;;) {
    const size = fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0
    header ??= size > 0 ? headerBytes(file) : undefined
    if (header !== undefined && size > header) return performance.now()
    await sleep(1)
  }
}

function headerBytes(file: string): number | undefined {
  return parseWav(fs.readFileSync(file))?.dataOffset
}
