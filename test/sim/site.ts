// A simulated site: one controller, a recorder in each room, a timetable, and somebody who asks.
import { createHash } from 'node:crypto'
import * as path from 'node:path'
import { sealKeys } from '../../src/controller/secrets.ts'
import { ControllerBox } from './controllerbox.ts'
import { real } from './disk.ts'
import { goodLine, type Network } from './network.ts'
import { Random } from './random.ts'
import { RecorderBox } from './recorderbox.ts'
import { STORE } from './store.ts'
import type { Time } from './time.ts'

export interface Scale {
  /** The timetable ends then. */
  hours: number
  heartbeatSeconds: number
  /** Length of a lesson, seconds, least and most. */
  lesson: [least: number, most: number]
  lessonsADay: number
  rate: number
  rooms: number
}

export interface Lesson {
  /** Ms after midnight. */
  at: number
  room: string
  scheduleId: string
  seconds: number
}

/** Sites of these seeds send their takes on. */
export const hasStore = (seed: number): boolean => seed % 5 === 0

export const MINUTE = 60_000
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR
const GIB = 2 ** 30
const ZONE = 'Europe/Berlin'
const WALL = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', hourCycle: 'h23', minute: '2-digit', timeZone: ZONE })
const ADMIN = 'svc_simulated_admin'

/** Derived once: that takes as long as an hour of a site. */
const keys = sealKeys({ nodeSshKey: 'simulated-node-key-0123456789', settingsKey: 'simulated-secret-0123456789' })

export interface Said {
  at: number
  fields: unknown
  level: string
  message: string
  who: string
}

export class Site {
  readonly controller: ControllerBox
  readonly lessons: Lesson[] = []
  readonly network: Network
  readonly recorders = new Map<string, RecorderBox>()
  /** The last words of all programs. */
  readonly said: Said[] = []
  readonly scale: Scale
  readonly time: Time
  readonly #folder: string
  readonly #random: Random
  readonly #seed: number
  readonly #uploadPolicyIds: string[] = []
  /** Decides how lessons are recorded. */
  readonly #taste: Random

  constructor({
    folder,
    network,
    scale,
    seed,
    time,
  }: { folder: string; network: Network; scale: Scale; seed: number; time: Time }) {
    this.#folder = folder
    this.#seed = seed
    this.#random = new Random(seed, 1)
    this.#taste = new Random(seed, 3)
    this.network = network
    this.scale = scale
    this.time = time
    this.controller = new ControllerBox(this.#place('controller', 64 * GIB), {
      env: {},
      keys,
      log: this.#logOf('controller'),
      network,
    })
  }

  #place(name: string, capacity: number): ConstructorParameters<typeof RecorderBox>[0] {
    const stream = createHash('sha256').update(name).digest().readUInt32LE()
    return [this.time, name, path.join(this.#folder, name), capacity, new Random(this.#seed, stream)]
  }

  #logOf(who: string) {
    return (level: string, message: string, fields?: object): void => {
      this.said.push({ at: this.time.now, fields, level, message, who })
      if (this.said.length > 4000) this.said.splice(0, 1000)
    }
  }

  /** Everything is set up and online when it resolves. */
  async open(): Promise<void> {
    this.controller.start()
    await this.time.runUntil(this.time.now + 10_000)
    this.#admin()
    const profiles = [await this.#profile('Plain'), await this.#profile('In pieces', { chunkSeconds: 60 })]
    if (hasStore(this.#seed)) await this.#destination()
    for (let n = 1; n <= this.scale.rooms; n++) await this.#furnish(`Room ${n}`)
    await this.time.runUntil(this.time.now + 60_000)
    for (const room of this.recorders.keys()) await this.#book(room, profiles)
  }

  async #profile(name: string, more: object = {}): Promise<string> {
    const body = { channelMode: 'mono', codec: 'wav', enhancement: null, name, ...more }
    return (await this.ask('POST', '/settings/recording-profiles', body)).data.id
  }

  /** For every take: the policy that is there is given a destination. */
  async #destination(): Promise<void> {
    const s3 = { accessKeyId: 'simulated', bucket: 'takes', endpoint: `http://${STORE}:9000`, forcePathStyle: true }
    const { data } = await this.ask('POST', '/settings/upload-destinations', {
      ...{ displayName: 'Store', enabled: true, kind: 's3', s3, s3SecretAccessKey: 'simulated-secret' },
    })
    const { data: policy } = await this.ask('POST', '/settings/upload-policies', {
      ...{
        destinationId: data.id,
        enabled: true,
        maxAttempts: 100,
        name: 'To the store',
        trigger: 'on_recording_cached',
      },
    })
    this.#uploadPolicyIds.push(policy.id)
  }

  get sendsOn(): boolean {
    return hasStore(this.#seed)
  }

  #admin(): void {
    const { raw } = this.controller.db!
    const at = new Date(this.time.wall()).toISOString()
    raw
      .prepare('INSERT INTO users (id, email, name, created_at, updated_at) VALUES (?, ?, ?, ?, ?)')
      .run('admin', 'a@example.org', 'Admin', at, at)
    raw.prepare("INSERT INTO user_roles VALUES ('admin', 'admin')").run()
    const hash = createHash('sha256').update(ADMIN).digest('hex')
    raw
      .prepare(
        'INSERT INTO sessions (id, user_id, token_hash, created_at, last_seen_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)',
      )
      .run('s', 'admin', hash, at, at, '2099-01-01T00:00:00.000Z')
  }

  async #furnish(room: string): Promise<void> {
    const answer = await this.ask('POST', '/nodes/enroll', {
      alias: room,
      hostname: 'sim.local',
      interfaces: [],
      location: { room, site: 'North' },
    })
    const node = { id: answer.data.node.id, token: answer.data.credential.token }
    const { heartbeatSeconds, rate } = this.scale
    const box = new RecorderBox(this.#place(room, 2 * GIB), {
      env: { SVC_HEARTBEAT_SECONDS: String(heartbeatSeconds), SVC_METER_SAMPLE_SECONDS: '60' },
      log: this.#logOf(room),
      node,
      rate,
    })
    this.recorders.set(room, box)
    this.network.lines.set(room, goodLine())
    box.start()
  }

  /** Lessons of a room never overlap: each has its own part of the day. */
  async #book(room: string, profiles: string[]): Promise<void> {
    const { hours, lesson, lessonsADay } = this.scale
    const nodeId = this.recorders.get(room)!.node.id
    const { data: node } = await this.ask('GET', `/nodes/${nodeId}`)
    const captureInterfaceId = node.interfaces[0].id
    const part = Math.floor(((hours - 0.5) * 60) / lessonsADay)
    for (let n = 0; n < lessonsADay; n++) {
      const minutes = this.#random.whole(...(lesson.map((s) => Math.ceil(s / 60)) as [number, number]))
      const start = 15 + n * part + this.#random.whole(0, Math.max(0, part - minutes - 5))
      const recordingProfileId = this.#taste.pick(profiles)
      const at = this.time.epoch + start * MINUTE
      // An hour that the clocks show twice counts when it is first shown.
      if (onTheWall(at) === onTheWall(at - HOUR)) continue
      const body = {
        ...{ captureInterfaceId, name: `${room} ${n}`, nodeId, recordingProfileId, room, timezone: ZONE },
        recurrence: { endTime: clock(onTheWall(at) + minutes), mode: 'daily', startTime: clock(onTheWall(at)) },
        ...{ folderTemplate: 'Lessons', titleTemplate: '{{schedule.name}}', uploadPolicyIds: this.#uploadPolicyIds },
      }
      const { data } = await this.ask('POST', '/schedules', body)
      this.lessons.push({ at: start * MINUTE, room, scheduleId: data.id, seconds: minutes * 60 })
    }
  }

  /** What a person with all rights asks, on a line without faults. @throws what is not answered with success */
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into, not typed
  async ask(method: string, address: string, body?: unknown): Promise<any> {
    const { listening } = this.network
    if (!listening) throw new Error('the controller does not run')
    let done: Response | undefined
    const headers = { authorization: `Bearer ${ADMIN}` }
    const init = { headers, method, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
    const request = new Request(`http://127.0.0.1:8787/api/v1${address}`, init)
    const call = async () => {
      done = await listening.fetch(request, {})
    }
    this.time.plan(0, () => void call().catch((e) => this.time.onCrash(listening.life, e)), listening.life)
    for (let waited = 0; !done && waited < 600; waited++) await this.time.runUntil(this.time.now + 100)
    const text = (await done?.text()) ?? ''
    if (!done?.ok) throw new Error(`${method} ${address}: ${done?.status} ${text}`)
    return text === '' ? undefined : JSON.parse(text)
  }

  close(): void {
    for (const box of [this.controller, ...this.recorders.values()]) box.kill()
    real.rmSync(this.#folder, { force: true, recursive: true })
  }
}

/** Minutes after midnight, as the people of the site have it. */
function onTheWall(at: number): number {
  const [hours = 0, minutes = 0] = WALL.format(at).split(':').map(Number)
  return hours * 60 + minutes
}

const clock = (minutes: number): string =>
  `${String(Math.floor(minutes / 60) % 24).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`
