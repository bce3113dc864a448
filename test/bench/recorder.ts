// An agent under measurement, and its controller.
import type { ChildProcess } from 'node:child_process'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Interface } from '../../src/wire/nodes.ts'
import type { Job, Recording } from '../../src/wire/recordings.ts'
import { begin, end } from './programs.ts'
import { type Enrolled, enroll, type Fleet, fleet, type Place } from './world.ts'

export interface Recorder {
  agent: ChildProcess
  node: Enrolled
  world: Fleet
  /** What the agent's log says louder than by the way. */
  complaints(): string
  /** Id of the agent's interface of that name, once it has told of it. */
  device(name: string): Promise<string>
  /** Asks for a take with a profile of these fields. */
  record(request: object, profile: object): Promise<Taken>
  stop(): Promise<void>
}

export interface Taken {
  job: Job
  recording: Recording
}

/** Starts both; `env`: what the agent is told besides. */
export async function recorder(place: Place, env: Record<string, string>): Promise<Recorder> {
  const data = fs.mkdtempSync(path.join(place.dir, 'data-'))
  // Half an hour of 32 channels is more than a controller takes unless it is told.
  const world = await fleet(place, undefined, data, { SVC_RECORDING_CACHE_MAX_BYTES: String(2 ** 38) })
  const [node] = (await enroll(world, 1)) as [Enrolled]
  const { call, controller } = world
  const work = fs.mkdtempSync(path.join(place.dir, 'agent-'))
  const own = {
    HOME: work,
    SVC_AGENT_DIR: work,
    SVC_CONTROLLER_TOKEN: node.token,
    SVC_CONTROLLER_URL: controller.url,
    SVC_NODE_ID: node.id,
  }
  const log = path.join(work, 'agent.log')
  const agent = begin({ args: ['agent'], env: { ...own, ...env }, program: place.roomtone }, log)
  const said = fs.createWriteStream(log, { flags: 'a' })
  agent.stdout?.pipe(said)
  return {
    agent,
    complaints: () =>
      fs
        .readFileSync(log, 'utf8')
        .split('\n')
        .filter((line) => /"(warn|error)"/.test(line))
        .join('\n'),
    node,
    world,
    device: async (name) => {
      for (;;) {
        const { data } = await call('GET', `/nodes/${node.id}`)
        const found = (data.interfaces as Interface[]).find((one) => one.systemName === name && !one.absent)
        if (found) return found.id
        await sleep(50)
      }
    },
    record: async (request, profile) => {
      const { data } = await call('POST', '/settings/recording-profiles', {
        name: `Measured ${Date.now()}`,
        ...profile,
      })
      const asked = { nodeId: node.id, recordingProfileId: data.id, ...request }
      const { data: recording, job } = await call('POST', '/recordings', asked)
      return { job, recording }
    },
    stop: async () => {
      await end(agent)
      await controller.stop()
    },
  }
}

/** The recording once `there` says so. @throws Error when its job fails. */
export async function arrived({ world }: Recorder, { job, recording }: Taken, there: (r: Recording) => unknown) {
  for (;;) {
    const { data } = await world.call('GET', `/recordings/${recording.id}`)
    if (there(data)) return data as Recording
    const { data: now } = await world.call('GET', `/recording-jobs/${job.id}`)
    if (now.status === 'failed') throw new Error(`the job failed: ${now.failureReason}`)
    await sleep(200)
  }
}

const OFF = { enabled: false }
/** Of a profile: nothing is done to the sound. */
export const UNTOUCHED = {
  compressor: OFF,
  deesser: OFF,
  denoise: OFF,
  gate: OFF,
  highpass: OFF,
  keepRaw: false,
  loudnorm: OFF,
  lowpass: OFF,
}
