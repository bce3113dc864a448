// The running agent: one loop reports the node to the controller, another claims jobs. The job runner owns the takes.
import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../kernel/clock.ts'
import { errorFields, type Log } from '../kernel/log.ts'
import type { NodeConfig } from '../wire/nodes.ts'
import type { AgentJob } from '../wire/recordings.ts'
import type { Calendar } from './calendar.ts'
import { Exchanges } from './health/exchanges.ts'
import type { Health } from './health/health.ts'
import type { Inventory } from './inventory/inventory.ts'
import { LatestInventory } from './inventory/latest.ts'
import type { KeptTakes } from './jobs/custody.ts'
import type { JobRunner } from './jobs/runner.ts'
import { ConfigPoll } from './link/configpoll.ts'
import { type Link, LinkError } from './link/link.ts'
import type { Hold } from './maintenance.ts'
import type { Service } from './proc/bell.ts'
import { backoffMs, createBell } from './proc/bell.ts'
import type { Token } from './token.ts'

interface DaemonDeps {
  applyConfig: (config: NodeConfig) => void
  calendar: Pick<Calendar, 'heard'>
  clock: Clock
  collect: (mayProbe: boolean) => Promise<Inventory>
  /** Notices sound cards being plugged in or removed. */
  devices: { onChange(listener: () => void): void }
  /** Details of `agent.started`. */
  about: Record<string, unknown>
  health: Health
  heartbeatMs: number
  /** Started with the services; checked before anything is claimed. */
  hold: Hold
  kept: Pick<KeptTakes, 'heard' | 'next'>
  link: Link
  log: Log
  pollMs: number
  /** Called once takes of an earlier run are recovered and the devices are known. */
  ready: () => void
  runner: JobRunner
  /** Started with the daemon, stopped once its takes are done. */
  services: Service[]
  /** Called after the first heartbeat and on every change: is the controller reachable, is there a capture device? */
  sign: (told: { captureDevice: boolean; online: boolean }) => void
  token: Token
}

const CLAIM_WAIT_SECONDS = 25
const CAPACITY_LOOK_MS = 500
const CLAIM_RETRY_MAX_MS = 30_000
/** How long maintenance waits for the answer to the last claim. */
const LAST_CLAIM_MS = 5000
const HOLD_LOOK_MS = 250
const INVENTORY_RETRY_MAX_MS = 60_000
/** How often devices are listed again without being told of a change: sound servers do not announce theirs. */
const INVENTORY_EVERY_MS = 30_000
const SKEW_RAISE_MS = 5000
const SKEW_CLEAR_MS = 2000
const HEALTH_GRACE_MS = 3000

/** Owns the loops. Created, run and stopped once. */
export class Daemon {
  readonly #deps: DaemonDeps
  readonly #claiming = new AbortController()
  readonly #tick = createBell()
  readonly #claimBell = createBell()
  readonly #config: ConfigPoll
  readonly #exchanges: Exchanges
  readonly #inventory: LatestInventory
  #stopping = false
  #loops: Promise<unknown> = Promise.resolve()
  #offlineSaid = false
  /** Everything claimed so far is on the disk. */
  #noted: Promise<unknown> = Promise.resolve()
  /** The last claim had no answer, and the next one waits. */
  #claimUnanswered = false
  /** A claim was abandoned while its answer may already have been on the way. */
  #givenUp = false
  #posted: unknown
  #inventoryFailures = 0
  #inventoryNotBefore = 0
  /** Ahead of the controller by so many seconds; undefined while the clock is right. */
  #skewSeconds: number | undefined
  #signed: { captureDevice: boolean; online: boolean } | undefined

  constructor(deps: DaemonDeps) {
    this.#deps = deps
    // Probing a device means opening it: never while a take may need it.
    const collect = () => deps.collect(!deps.runner.recording())
    this.#inventory = new LatestInventory(collect, deps.clock, INVENTORY_EVERY_MS)
    deps.devices.onChange(() => {
      this.#inventory.changed()
      this.#tick.ring()
    })
    this.#exchanges = new Exchanges({ ...deps, report: deps.health.report })
    const sync = (exchange: () => Promise<void>) => this.#exchanges.run('node_config', exchange)
    this.#config = new ConfigPoll({ ...deps, apply: (config) => this.#apply(config), sync })
  }

  /** Resolves once the daemon is stopped. Rejects if takes of an earlier run cannot be recovered: it must not go on then. */
  async run(): Promise<void> {
    const { health, about, hold, runner, services } = this.#deps
    health.report({ details: about, severity: 'info', type: 'agent.started' })
    // Does not wait for the controller's first answer: takes of an earlier run need their leases renewed now.
    const recovered = runner.recover()
    for (const service of [hold, ...services]) service.start()
    const known = this.#inventory.get()
    this.#loops = Promise.all([
      Promise.all([known, recovered]).then(() => this.#deps.ready()),
      known.then(() => this.#beatLoop()),
      this.#config.run(),
      recovered.then(() => this.#claimLoop()),
    ])
    await this.#loops
  }

  /** Finishes running takes while the node stays visible, then ends the loops. */
  async stop(): Promise<void> {
    const { health, hold, link, runner, services } = this.#deps
    this.#claiming.abort()
    this.#claimBell.ring()
    await runner.stop()
    await Promise.all([hold, ...services].map((service) => service.stop()))
    this.#stopping = true
    this.#exchanges.stop()
    this.#tick.ring()
    this.#config.stop()
    await health.stop(HEALTH_GRACE_MS)
    link.close()
    // `run` reports their failure; here it only matters that they have ended.
    await this.#loops.catch(() => undefined)
  }

  async #beatLoop(): Promise<void> {
    while (!this.#stopping) {
      const due = this.#deps.clock.monotonic() + this.#deps.heartbeatMs
      // Offline too, so that a missing capture device is reported as soon as the link is up.
      await this.#inventory.get()
      if (this.#online()) {
        await this.#syncInventory()
        await this.#beat()
      }
      await this.#tick.wait(Math.max(0, due - this.#deps.clock.monotonic()))
    }
  }

  #online(): boolean {
    const { log, token } = this.#deps
    if (token.current() === undefined) token.refresh()
    const online = token.current() !== undefined
    if (!online && !this.#offlineSaid) log.warn("no controller token: run 'roomtone setup agent' first")
    this.#offlineSaid = !online
    return online
  }

  async #syncInventory(): Promise<void> {
    const { clock, link } = this.#deps
    if (clock.monotonic() < this.#inventoryNotBefore) return
    const { interfaces } = await this.#inventory.get()
    if (isDeepStrictEqual(interfaces, this.#posted)) return
    let pauseMs = 0
    const done = await this.#exchanges.run('node_inventory', () =>
      link.inventory(interfaces).catch((e) => {
        if (e instanceof LinkError) pauseMs = e.retryAfterMs
        throw e
      }),
    )
    this.#inventoryFailures = done ? 0 : this.#inventoryFailures + 1
    if (done) this.#posted = interfaces
    else {
      const backoff = backoffMs(this.#inventoryFailures, INVENTORY_RETRY_MAX_MS, Math.random())
      this.#inventoryNotBefore = clock.monotonic() + Math.max(backoff, pauseMs)
    }
  }

  async #beat(): Promise<void> {
    const { clock, health, heartbeatMs, kept, link, runner } = this.#deps
    const { agentVersion, hostname, interfaces, ipAddresses, runtime: found } = await this.#inventory.get()
    const skewSeconds = this.#skewSeconds
    const paced = { ...found, heartbeatSeconds: Math.max(1, Math.round(heartbeatMs / 1000)) }
    const runtime = skewSeconds === undefined ? paced : { ...paced, clock: { ...found.clock, skewSeconds } }
    const wasFailing = this.#exchanges.failing('node_heartbeat')
    const status = runner.recording() ? 'recording' : 'online'
    const done = await this.#exchanges.run('node_heartbeat', async () => {
      const asked = clock.now()
      const beat = { agentVersion, hostname, ipAddresses, kept: kept.next(), runtime, status } as const
      const { at: theirs, kept: said } = await link.heartbeat(beat)
      // Deleting takes a while, and a heartbeat must not wait for it.
      if (said) void kept.heard(said)
      if (theirs === undefined) return
      this.#deps.calendar.heard(theirs)
      this.#judgeClock(asked, clock.now(), theirs)
    })
    // Reachable again, perhaps at its other address: events and claims need not sit out their pauses.
    if (done && wasFailing) health.nudge()
    if (done && (wasFailing || this.#claimUnanswered)) this.#claimBell.ring()
    const signed = { captureDevice: interfaces.length > 0, online: done }
    if (!this.#stopping && !isDeepStrictEqual(signed, this.#signed)) this.#deps.sign(signed)
    this.#signed = signed
  }

  /** `Date` has whole seconds and was written at some point between request and answer: only the rest is skew. */
  #judgeClock(asked: number, answered: number, theirs: number): void {
    const { health } = this.#deps
    const ahead = Math.max(0, asked - (theirs + 1000))
    const behind = Math.max(0, theirs - answered)
    const skew = Math.max(ahead, behind)
    const skewSeconds = Math.round((ahead - behind) / 100) / 10
    const wasSkewed = this.#skewSeconds !== undefined
    if (skew > (wasSkewed ? SKEW_CLEAR_MS : SKEW_RAISE_MS)) this.#skewSeconds = skewSeconds
    else this.#skewSeconds = undefined
    if (wasSkewed === (this.#skewSeconds !== undefined)) return
    const [severity, type] = wasSkewed
      ? (['info', 'clock_skew_recovered'] as const)
      : (['warning', 'clock_skew'] as const)
    health.report({ details: { skewSeconds }, severity, type: `agent.system.${type}` })
  }

  #apply(config: NodeConfig): void {
    this.#deps.applyConfig(config)
    this.#deps.runner.setCapacity(config.recordingCapacity.maxConcurrentRecordings)
  }

  async #claimLoop(): Promise<void> {
    const { hold, pollMs, runner, token } = this.#deps
    const forget = hold.onAsked(() => this.#claimBell.ring())
    for (let failures = 0; !this.#claiming.signal.aborted; ) {
      const asked = hold.asked()
      if (asked !== undefined) {
        await this.#stand(asked)
        continue
      }
      // At capacity only jobs that join a running capture are useful: they open no device.
      const full = runner.freeCapacity() <= 0
      if (token.current() === undefined || (full && !runner.recording())) {
        await this.#claimBell.wait(Math.min(CAPACITY_LOOK_MS, pollMs))
        continue
      }
      try {
        await this.#claim(full)
        if (failures > 0) this.#claimRecovered()
        failures = 0
      } catch (e) {
        if (this.#claiming.signal.aborted) break
        failures++
        this.#claimFailed(e, failures)
        this.#claimUnanswered = e instanceof LinkError && e.status === undefined
        await this.#claimBell.wait(backoffMs(failures, CLAIM_RETRY_MAX_MS, Math.random()))
        this.#claimUnanswered = false
      }
    }
    forget()
  }

  /** Claims nothing until maintenance releases this hold. */
  async #stand(id: string): Promise<void> {
    const { hold, log } = this.#deps
    if (this.#givenUp) await this.#lastClaim()
    await this.#noted
    await hold.answer(id)
    log.info('maintenance requested: claiming no more jobs')
    while (hold.asked() === id && !this.#claiming.signal.aborted) await this.#claimBell.wait(HOLD_LOOK_MS)
    log.info('maintenance finished: claiming jobs again')
  }

  /**
   * Starts what the abandoned claim may have brought: the controller hands out again whatever is neither confirmed nor
   * held, and maintenance waits for that take. Without an answer the job is claimed after maintenance.
   */
  async #lastClaim(): Promise<void> {
    const { link, log, runner } = this.#deps
    this.#givenUp = false
    if (runner.freeCapacity() <= 0) return
    const signal = AbortSignal.any([this.#claiming.signal, AbortSignal.timeout(LAST_CLAIM_MS)])
    try {
      this.#accept(await link.claim(runner.holding(), 0, signal))
    } catch (e) {
      log.info('last claim before maintenance not answered', errorFields(e))
    }
  }

  /** Claims until the question changes: a job joins, capacity is freed, or maintenance begins. */
  async #claim(full: boolean): Promise<void> {
    const { hold, runner } = this.#deps
    const enough = new AbortController()
    const forget = [
      hold.onAsked(() => {
        this.#givenUp = true
        enough.abort()
      }),
      ...(full ? [runner.onFreed(() => runner.freeCapacity() > 0 && enough.abort())] : []),
    ]
    try {
      await this.#claimOnce(AbortSignal.any([this.#claiming.signal, enough.signal]), full)
    } catch (e) {
      if (!enough.signal.aborted) throw e
    } finally {
      for (const one of forget) one()
    }
  }

  async #claimOnce(signal: AbortSignal, joinOnly: boolean): Promise<void> {
    const { clock, link, pollMs, runner } = this.#deps
    const asked = clock.monotonic()
    const held = runner.holding()
    const jobs = await link.claim(held, CLAIM_WAIT_SECONDS, signal, joinOnly)
    const fresh = jobs.some((job) => !held.includes(job.id))
    if (fresh) this.#accept(jobs)
    // A controller without long poll answers at once: do not poll it in a tight loop.
    else if (clock.monotonic() - asked < pollMs) await this.#claimBell.wait(pollMs)
  }

  #accept(jobs: AgentJob[]): void {
    if (jobs.length === 0) return
    this.#deps.log.info('recording jobs claimed', { jobs: jobs.map((job) => job.id) })
    this.#noted = Promise.all([this.#noted, this.#deps.runner.accept(jobs)])
  }

  #claimRecovered(): void {
    const { health, log } = this.#deps
    log.info('claiming jobs works again')
    health.report({ severity: 'info', type: 'agent.recording_job.claim_next_recovered' })
  }

  #claimFailed(e: unknown, failures: number): void {
    const { health, log, token } = this.#deps
    if (e instanceof LinkError && e.status === 401) token.refresh()
    if (!(e instanceof LinkError)) log.error('unexpected error while claiming', errorFields(e))
    if (failures > 1) return
    const details = { error: (e as Error).message }
    health.report({ details, severity: 'warning', type: 'agent.recording_job.claim_next_failed' })
  }
}
