// Two boxes, of which one is the controller and the other may be: the executable, with a lease and a replica in a bucket.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import type { StandbyStatus } from '../../src/wire/lease.ts'
import { NO_LITESTREAM } from '../kit/litestream.ts'
import { ACCESS_KEY, type S3Server, SECRET_KEY } from '../kit/s3.ts'
import { ADMIN, type House, type Program, until } from '../kit/whole.ts'
import { childrenOf } from './processes.ts'

const LITESTREAM = NO_LITESTREAM
  ? ''
  : createRequire(import.meta.url).resolve('@flydotio/litestream-linux-x64/litestream')

/** A box with its settings, where `roomtone controller` or `roomtone standby` runs. */
export class Box {
  readonly env: Record<string, string>
  readonly #house: House
  readonly #name: string
  readonly url: string
  #program: Program | undefined

  /** `url`: where others reach it, if that is not where it listens. */
  constructor(house: House, name: string, port: number, shared: Record<string, string>, url?: string) {
    this.#house = house
    this.#name = name
    this.url = `http://127.0.0.1:${port}`
    const own = { SVC_DATA_DIR: house.path(name), SVC_PORT: String(port), SVC_PUBLIC_URL: url ?? this.url }
    this.env = { ...shared, ...own }
  }

  async run(program: 'controller' | 'standby'): Promise<void> {
    this.#program = this.#house.start([program], { cwd: this.#house.path(this.#name), env: this.env })
    await until(`${program} on box ${this.#name} to listen`, () => this.said().includes('"url"'))
  }

  said = (): string => this.#program?.said() ?? ''

  /** The plug is pulled: nothing of it goes on. */
  async lose(): Promise<void> {
    this.signal('SIGKILL')
    await this.#program!.exited
  }

  /** To it and to what it has started. */
  signal(signal: NodeJS.Signals): void {
    const pid = this.#program!.child.pid!
    for (const one of [...childrenOf(pid), pid]) process.kill(one, signal)
  }

  /** Its replicator stands still: what is committed from now on is on this box alone. */
  freezeReplication(): void {
    const children = childrenOf(this.#program!.child.pid!)
    assert.ok(children.length > 0, 'it replicates')
    for (const child of children) process.kill(child, 'SIGSTOP')
  }

  async stop(): Promise<void> {
    const [code] = await this.#program!.end('SIGTERM')
    assert.equal(code, 0, this.said())
  }

  /** Resolves once it is the controller. */
  async serving(seconds = 40): Promise<void> {
    // Nothing listens while it changes its part.
    const ready = () =>
      fetch(`${this.url}/readyz`).then(
        ({ status }) => status === 200,
        () => false,
      )
    await until(`box ${this.#name} to serve`, ready, seconds)
  }

  async takeover(...args: string[]): Promise<{ code: number | null; said: string }> {
    const program = this.#house.start(['takeover', ...args], { cwd: this.#house.dir, env: this.env })
    const [code] = await program.exited
    return { code, said: program.said() }
  }

  async status(): Promise<StandbyStatus> {
    return ((await (await fetch(`${this.url}/status`)).json()) as { data: StandbyStatus }).data
  }

  /** Resolves once its copy is younger than this moment. */
  async caughtUp(): Promise<void> {
    const wanted = Date.now()
    let status: StandbyStatus | undefined
    await until(
      `box ${this.#name} to follow`,
      async () => {
        status = await this.status()
        const { behindSeconds = Number.POSITIVE_INFINITY, ready } = status
        return ready && Date.now() - (behindSeconds + 1) * 1000 > wanted
      },
      150,
    ).catch((e: Error) => {
      throw new Error(`${e.message}: ${JSON.stringify(status)}`)
    })
  }
}

/** What both boxes are told. */
export const sharedBy = (s3: Pick<S3Server, 'endpoint'>): Record<string, string> => ({
  SVC_LEASE_ACCESS_KEY_ID: ACCESS_KEY,
  SVC_LEASE_SECRET_ACCESS_KEY: SECRET_KEY,
  SVC_LEASE_TTL_SECONDS: '6',
  SVC_LEASE_URL: `s3://takes/pair/lease.json?endpoint=${s3.endpoint}`,
  SVC_LITESTREAM_COMMAND: LITESTREAM,
  SVC_LOCAL_ADMIN_EMAIL: ADMIN.email,
  SVC_LOCAL_ADMIN_PASSWORD: ADMIN.password,
  SVC_REPLICA_URL: `s3://takes/pair/database?endpoint=${s3.endpoint}`,
  SVC_SCHEDULE_RUNNER_INTERVAL_SECONDS: '1',
  SVC_SECRET_KEY: 'the-key-that-both-boxes-have-been-given',
  SVC_STANDBY_INTERVAL_SECONDS: '1',
})
