// A small house of real programs: the built executable, a data directory, an agent's machine, and their end.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { MARKED_HEADER } from '../../src/agent/audio/marks.rules.ts'
import type { AuditEvent } from '../../src/wire/audit.ts'
import type { Interface, Node } from '../../src/wire/nodes.ts'
import type { Codec } from '../../src/wire/profiles.ts'
import type { Job, Recording } from '../../src/wire/recordings.ts'
import { executable } from './executable.ts'

export const ADMIN = { email: 'admin@roomtone.local', password: 'whole-house-admin-password' }
export const RUNNER_TOKEN = 'whole-house-runner-token'

type Env = Record<string, string>
type How = [code: number | null, signal: NodeJS.Signals | null]

/** A started program, with everything it said. */
export interface Program {
  child: ChildProcess
  exited: Promise<How>
  /** Sends the signal and waits for the end. */
  end(signal: NodeJS.Signals): Promise<How>
  said(): string
}

/**
 * Asks until the answer is truthy, every 20 ms, or less often where asking costs something: a test that waits must not
 * take the processor from what it waits for. After `seconds` it fails and says for what it waited.
 */
export async function until<T>(what: string, ask: () => T | Promise<T>, seconds = 40): Promise<NonNullable<T>> {
  const end = performance.now() + seconds * 1000
  for (;;) {
    const asked = performance.now()
    const answer = await ask()
    if (answer) return answer
    const now = performance.now()
    if (now > end) throw new Error(`waited ${seconds} s for ${what}; last answer: ${answer}`)
    await sleep(Math.min(Math.max(20, 10 * (now - asked)), 200))
  }
}

/** The entries of a directory; none where it is not there, also where it goes while it is read. */
function entriesOf(dir: string): fs.Dirent[] {
  try {
    return fs.readdirSync(dir, { withFileTypes: true })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

/** Paths below `dir`, relative to it, directories before what is in them. What goes meanwhile may be missing. */
export function pathsBelow(dir: string, files = false): string[] {
  return entriesOf(dir).flatMap((entry) => {
    if (!entry.isDirectory()) return files && !entry.isFile() ? [] : [entry.name]
    const below = pathsBelow(path.join(dir, entry.name), files).map((name) => path.join(entry.name, name))
    return files ? below : [entry.name, ...below]
  })
}

/** Files below `dir`, relative to it; none where it is not there. */
export const filesBelow = (dir: string): string[] => pathsBelow(dir, true)

/** A world of its own below a temporary directory. `close` kills what still runs and removes the directory. */
export class House {
  readonly dir = fs.mkdtempSync(path.join(os.tmpdir(), 'roomtone-whole-'))
  readonly #programs = new Set<Program>()
  #roomtone = ''

  /** `roomtone`: the executable; built when absent. */
  static async open(roomtone?: string): Promise<House> {
    const house = new House()
    house.#roomtone = roomtone ?? (await executable())
    // The home and temporary directories of every program: nothing of the machine's own is touched.
    for (const name of ['home', 'tmp', 'asound']) fs.mkdirSync(house.path(name))
    return house
  }

  path(...parts: string[]): string {
    return path.join(this.dir, ...parts)
  }

  /** Starts `roomtone ...args` in `cwd` (made when absent) with nothing of our own environment but PATH. */
  start(args: string[], { cwd, env = {}, input = '' }: { cwd: string; env?: Env; input?: string }): Program {
    fs.mkdirSync(cwd, { recursive: true })
    const own = { HOME: this.path('home'), PATH: process.env.PATH ?? '', TMPDIR: this.path('tmp') }
    const child = spawn(this.#roomtone, args, { cwd, env: { ...own, ...env }, stdio: 'pipe' })
    let said = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        said += text
      })
    child.stdin.on('error', () => {}) // it may end without reading
    child.stdin.end(input)
    const exited = once(child, 'close') as Promise<How>
    const end = (signal: NodeJS.Signals) => {
      child.kill(signal)
      return exited
    }
    const program = { child, end, exited, said: () => said }
    this.#programs.add(program)
    return program
  }

  /** All programs' words, for a search or a failure's message. */
  said(): string {
    return [...this.#programs].map((program) => program.said()).join('\n')
  }

  async close(): Promise<void> {
    await Promise.all([...this.#programs].map((program) => program.end('SIGKILL')))
    fs.rmSync(this.dir, { force: true, recursive: true, maxRetries: 3 })
  }
}

export interface Reply {
  // biome-ignore lint/suspicious/noExplicitAny: a test looks at whatever the answer holds
  json: any
  status: number
}

/** The built controller on its data directory; may be killed and started again. */
export class Controller {
  readonly data: string
  readonly #env: Env
  readonly #house: House
  #program: Program | undefined
  #session = ''
  #url = ''

  constructor(house: House, env: Env = {}) {
    this.data = house.path('controller')
    this.#house = house
    this.#env = {
      SVC_DATA_DIR: this.data,
      SVC_LOCAL_ADMIN_EMAIL: ADMIN.email,
      SVC_LOCAL_ADMIN_PASSWORD: ADMIN.password,
      SVC_PORT: '0',
      SVC_RUNNER_TOKEN: RUNNER_TOKEN,
      ...env,
    }
  }

  get program(): Program {
    assert.ok(this.#program, 'the controller was started')
    return this.#program
  }

  get session(): string {
    return this.#session
  }

  /** Address of its latest start. */
  get url(): string {
    return this.#url
  }

  async start(): Promise<this> {
    const program = this.#house.start(['controller'], { cwd: this.data, env: this.#env })
    this.#program = program
    this.#url = await until('the controller to listen', () => {
      assert.equal(program.child.exitCode, null, program.said())
      return /^\{"url":"([^"]+)"/m.exec(program.said())?.[1]
    })
    return this
  }

  /** In place of `start`: one that somebody else started, where ADMIN's password was given. */
  at(url: string): this {
    this.#url = url
    return this
  }

  async login(): Promise<this> {
    const { json, status } = await this.ask('POST', '/auth/login', ADMIN)
    assert.equal(status, 200)
    this.#session = json.data.token
    return this
  }

  /** One request; with the admin's session unless `token` says otherwise ('' = none). */
  async ask(method: string, route: string, body?: unknown, token = this.#session): Promise<Reply> {
    const response = await this.raw(method, route, { token, ...(body === undefined ? {} : { body }) })
    const text = await response.text()
    return { json: text === '' ? undefined : JSON.parse(text), status: response.status }
  }

  raw(method: string, route: string, { body, headers = {}, token = this.#session }: Ask = {}): Promise<Response> {
    const type = body === undefined ? {} : { 'content-type': 'application/json' }
    const bearer = token ? { authorization: `Bearer ${token}` } : {}
    return fetch(`${this.#url}/api/v1${route}`, {
      method,
      headers: { ...type, ...bearer, ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  }

  /** `data` of an answer that has to be 2xx. */
  // biome-ignore lint/suspicious/noExplicitAny: a test looks at whatever the answer holds
  async get(route: string, method = 'GET', body?: unknown): Promise<any> {
    const { json, status } = await this.ask(method, route, body)
    assert.ok(status >= 200 && status < 300, `${method} ${route} answered ${status}: ${JSON.stringify(json)}`)
    return json.data
  }

  post = (route: string, body: unknown = {}) => this.get(route, 'POST', body)

  /** All audit rows that match, oldest first. */
  async trail(filters: Record<string, string> = {}): Promise<AuditEvent[]> {
    const rows: AuditEvent[] = []
    for (;;) {
      const query = new URLSearchParams({ ...filters, limit: '500', offset: String(rows.length) })
      const { json } = await this.ask('GET', `/audit-events?${query}`)
      rows.push(...json.data)
      if (rows.length >= json.meta.total || json.data.length === 0) return rows.reverse()
    }
  }

  /** A profile that changes nothing about the sound. */
  async plainProfile(codec: Codec): Promise<string> {
    const off = { enabled: false }
    const [highpass, lowpass, deesser, compressor, loudnorm, gate] = Array(6).fill(off)
    const enhancement = { compressor, deesser, denoise: off, gate, highpass, keepRaw: false, loudnorm, lowpass }
    const profile = { channelMode: 'multichannel', codec, enhancement, name: `Plain ${codec}` }
    return (await this.post('/settings/recording-profiles', profile)).id
  }

  async enroll(name: string, more: object = {}): Promise<{ id: string; token: string }> {
    const location = { room: 'Hall', site: 'House' }
    const enrolled = await this.post('/nodes/enroll', { alias: name, hostname: name, location, ...more })
    return { id: enrolled.node.id, token: enrolled.credential.token }
  }

  async record(nodeId: string, profileId: string, seconds: number, more: object = {}) {
    const request = { durationSeconds: seconds, nodeId, recordingProfileId: profileId, ...more }
    const { json, status } = await this.ask('POST', '/recordings', request)
    assert.equal(status, 202, JSON.stringify(json))
    return { job: json.job as Job, recording: json.data as Recording }
  }

  /** The recording once its audio is here and its job is done. */
  async delivered(recordingId: string, jobId: string, seconds = 60): Promise<Recording> {
    let seen = ''
    return await until(
      `recording ${recordingId} to be cached`,
      async () => {
        const recording: Recording = await this.get(`/recordings/${recordingId}`)
        const job: Job = await this.get(`/recording-jobs/${jobId}`)
        seen = `${recording.status} / ${job.status} ${job.failureReason ?? ''}`
        return recording.status === 'cached' && job.status === 'completed' ? recording : undefined
      },
      seconds,
    ).catch((e: Error) => {
      throw new Error(`${e.message} (${seen})`)
    })
  }

  async file(recordingId: string, rendition = ''): Promise<Buffer> {
    const response = await this.raw('GET', `/recordings/${recordingId}/file?rendition=${rendition}`)
    const bytes = Buffer.from(await response.arrayBuffer())
    assert.equal(response.status, 200, bytes.toString('utf8', 0, 300))
    return bytes
  }

  async online(nodeId: string): Promise<Interface> {
    const node: Node = await until('the node to be online', async () => {
      const node: Node = await this.get(`/nodes/${nodeId}`)
      return node.status === 'online' && node.interfaces.length > 0 ? node : undefined
    })
    return node.interfaces[0]!
  }
}

interface Ask {
  body?: unknown
  headers?: Record<string, string>
  token?: string
}

/** The built agent as a daemon with the test source; may be killed and started again. */
export class Agent {
  readonly dir: string
  readonly #args: string[]
  readonly #env: Env
  readonly #house: House
  #program: Program | undefined

  /** `env`: what the daemon is told, as an operator would in its unit. */
  constructor(house: House, env: Env, args: string[] = [], name = 'agent') {
    this.dir = house.path(name)
    this.#house = house
    this.#args = ['agent', '--test-source', ...args]
    // An empty list of sound cards: the same on a machine that has some.
    this.#env = { SVC_AGENT_DIR: this.dir, SVC_ALSA_PROC_ROOT: house.path('asound'), ...env }
  }

  get program(): Program {
    assert.ok(this.#program, 'the agent was started')
    return this.#program
  }

  start(env: Env = {}): this {
    this.#program = this.#house.start(this.#args, { cwd: this.dir, env: { ...this.#env, ...env } })
    return this
  }

  takeFile = (jobId: string): string => path.join(this.dir, 'takes', jobId, 'take.wav')

  /** What the agent has noted about a job; undefined before and after. */
  state(jobId: string): { reason?: string; status: string } | undefined {
    try {
      return JSON.parse(fs.readFileSync(path.join(this.dir, 'takes', jobId, 'state.json'), 'utf8'))
    } catch {
      return undefined // not there yet, or let go this moment
    }
  }

  /** Resolves once audio is in the job's file. */
  async capturing(jobId: string): Promise<void> {
    const size = () => fs.statSync(this.takeFile(jobId), { throwIfNoEntry: false })?.size ?? 0
    await until('the first captured sample', () => size() > MARKED_HEADER + 1000)
  }

  /** The node's own log of what happened. */
  events(): { details: Record<string, unknown>; severity: string; type: string }[] {
    const file = path.join(this.dir, 'health-events.jsonl')
    if (!fs.existsSync(file)) return []
    const lines = fs.readFileSync(file, 'utf8').split('\n').filter(Boolean)
    return lines.flatMap((line) => {
      try {
        return [JSON.parse(line)]
      } catch {
        return [] // being written
      }
    })
  }

  has = (type: string, severity?: string): boolean =>
    this.events().some((event) => event.type === type && (severity === undefined || event.severity === severity))
}
