// A controller that Litestream replicates into an object store, people and a recorder that keep it busy, and a look into what
// the store gives back.
import * as fs from 'node:fs'
import * as path from 'node:path'
import { Db } from '../../src/controller/store/db.ts'
import { HEADERS } from '../../src/wire/headers.ts'
import { Litestream, makeBucket } from '../kit/litestream.ts'
import { sound } from '../kit/sound.ts'
import { swiftServer } from '../kit/swift.ts'
import { Controller, House, until } from '../kit/whole.ts'
import { type Cable, layCable } from './tcpproxy.ts'

export const KEY = { SVC_SECRET_KEY: 'the-key-that-is-kept-in-a-safe-place' }
const PEOPLE = 3

/** What the controller has acknowledged so far. */
export interface Known {
  /** The uptime that the recorder told last, seconds. */
  beat: number
  /** Ids. */
  rooms: string[]
  takes: string[]
}

const MICROPHONE = {
  alias: 'Microphone',
  backend: 'alsa',
  channelCount: 2,
  channels: [
    { alias: 'Left', index: 1 },
    { alias: 'Right', index: 2 },
  ],
  sampleRates: [48_000],
  systemName: 'USB Audio',
  systemRef: 'hw:CARD=USB,DEV=0',
}

export const beatOf = (uptimeSeconds: number) => ({
  agentVersion: '0.1.0',
  hostname: 'recorder',
  ipAddresses: [],
  runtime: {
    architecture: 'x86_64',
    audioBackends: ['alsa'],
    kernelRelease: '6.1.0-18-amd64',
    osName: 'Debian GNU/Linux 12 (bookworm)',
    uptimeSeconds,
  },
  status: 'online',
})

/** Everybody asks all the time, one request after another each; nobody gives up while the controller is away. */
export class Traffic {
  readonly #controller: Controller
  readonly #known: Known = { beat: 0, rooms: [], takes: [] }
  readonly #node: { id: string; token: string }
  readonly #profile: string
  #on = false
  #running: Promise<unknown> = Promise.resolve()

  constructor(controller: Controller, node: { id: string; token: string }, profile: string) {
    this.#controller = controller
    this.#node = node
    this.#profile = profile
  }

  known(): Known {
    const { beat, rooms, takes } = this.#known
    return { beat, rooms: [...rooms], takes: [...takes] }
  }

  begin(): void {
    this.#on = true
    const people = Array.from({ length: PEOPLE }, () => this.#again(() => this.#room()))
    this.#running = Promise.all([...people, this.#again(() => this.#beat()), this.#again(() => this.#take())])
  }

  async end(): Promise<void> {
    this.#on = false
    await this.#running
  }

  async #again(work: () => Promise<void>): Promise<void> {
    while (this.#on)
      // Fetch's own error: the controller was away. What it refuses is none of these.
      await work().catch(async (e: Error) => {
        if (!(e instanceof TypeError)) throw e
        await until('the controller to answer', () => !this.#on || this.#answers())
      })
  }

  #answers = (): Promise<boolean> =>
    fetch(`${this.#controller.url}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    )

  async #room(): Promise<void> {
    const { id } = await this.#controller.post('/rooms', { name: crypto.randomUUID(), site: 'House' })
    this.#known.rooms.push(id)
  }

  async #beat(): Promise<void> {
    const uptimeSeconds = this.#known.beat + 1
    const body = beatOf(uptimeSeconds)
    const answer = await this.#controller.ask('POST', `/nodes/${this.#node.id}/heartbeat`, body, this.#node.token)
    if (answer.status > 299) throw new Error(`a heartbeat was answered ${JSON.stringify(answer.json)}`)
    this.#known.beat = uptimeSeconds
  }

  async #take(): Promise<void> {
    const { jobId, recordingId } = await this.#begun()
    await this.#controller.ask('POST', `/recording-jobs/${jobId}/claim`, {}, this.#node.token)
    const answer = await fetch(`${this.#controller.url}/api/v1/recordings/${recordingId}/cache-file`, {
      method: 'PUT',
      headers: {
        authorization: `Bearer ${this.#node.token}`,
        'content-type': 'audio/mpeg',
        [HEADERS.durationSeconds]: '5',
        [HEADERS.jobId]: jobId,
      },
      body: new Uint8Array(sound(20_000, 'mp3')),
    })
    if (!answer.ok) throw new Error(`a take was answered ${answer.status}: ${await answer.text()}`)
    this.#known.takes.push(recordingId)
  }

  /** A recording on its way: another one, or that which began before the controller was away. */
  async #begun(): Promise<{ jobId: string; recordingId: string }> {
    const request = { durationSeconds: 60, nodeId: this.#node.id, recordingProfileId: this.#profile }
    const { json, status } = await this.#controller.ask('POST', '/recordings', request)
    if (status === 202) return { jobId: json.job.id, recordingId: json.data.id }
    if (status !== 409) throw new Error(`a recording was answered ${JSON.stringify(json)}`)
    return { jobId: json.conflictingJobId, recordingId: json.conflictingRecordingId }
  }
}

/** What was acknowledged and is not in this database, in words; empty when it is whole and has everything. */
export function missing(file: string, { beat, rooms, takes }: Known): string[] {
  const db = new Db(file, undefined, { plain: true })
  try {
    const all = (sql: string) => new Set(db.raw.prepare<[], string>(sql).pluck().all())
    const fault = db.raw.pragma('integrity_check', { simple: true })
    const stored = all('SELECT id FROM rooms')
    const audited = all('SELECT t.target_id FROM audit_rows r JOIN audit_targets t ON t.id = r.target')
    const files = all('SELECT recording_id FROM recording_files')
    const told = db.raw.prepare<[], number>("SELECT max(runtime ->> 'uptimeSeconds') FROM nodes").pluck().get() ?? 0
    return [
      ...(fault === 'ok' ? [] : [`whole: ${fault}`]),
      ...rooms.filter((id) => !stored.has(id)).map((id) => `room ${id}`),
      ...rooms.filter((id) => !audited.has(id)).map((id) => `audit of room ${id}`),
      ...takes.filter((id) => !files.has(id)).map((id) => `take ${id}`),
      ...(told >= beat ? [] : [`heartbeat ${beat}, there is ${told}`]),
    ]
  } finally {
    db.close()
  }
}

export interface Replicated {
  /** Between Litestream and the store. */
  cable: Cable
  close(): Promise<void>
  controller: Controller
  database: string
  house: House
  litestream: Litestream
  node: { id: string; token: string }
  traffic: Traffic
}

/** In the order of the units: the replicator is there before there is a database. */
export async function replicated(): Promise<Replicated> {
  const [house, swift, cable] = await Promise.all([House.open(), swiftServer(), layCable()])
  await makeBucket(swift, 'replica')
  cable.target = swift.endpoint
  const controller = new Controller(house, {
    SVC_DATABASE_REPLICATED: 'true',
    SVC_USER_REQUESTS_PER_MINUTE: '10000000',
    ...KEY,
  })
  const database = path.join(controller.data, 'roomtone.db')
  fs.mkdirSync(controller.data)
  const store = { ...swift, endpoint: cable.url }
  const litestream = new Litestream({ database, dir: house.path('litestream'), store, url: 's3://replica/house' })
  await litestream.start()
  await (await controller.start()).login()
  const node = await controller.enroll('recorder', { interfaces: [MICROPHONE] })
  const traffic = new Traffic(controller, node, await controller.plainProfile('mp3'))
  const close = async () => {
    await litestream.close()
    await cable.close()
    await swift.close()
    await house.close()
  }
  return { cable, close, controller, database, house, litestream, node, traffic }
}
