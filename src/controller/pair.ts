// A box that shares a lease with another: controller while it holds the lease, and one that says so while it does not.
import { existsSync } from 'node:fs'
import { hostname } from 'node:os'
import * as path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../kernel/clock.ts'
import { makeDir } from '../kernel/dirs.ts'
import { misuse } from '../kernel/fail.ts'
import { randomIds } from '../kernel/ids.ts'
import { errorFields, jsonLog, type Log } from '../kernel/log.ts'
import type { Outlets } from '../kernel/logsink.ts'
import { type Config, nativeDirs } from './config.ts'
import { openStandbyServer } from './standbyserver.ts'
import { checkpoint } from './store/checkpoint.ts'
import { type Db, lockDirectory } from './store/db.ts'
import { loadAddon } from './store/native.ts'
import { spansOf } from './succession/lease.rules.ts'
import { leaseStore, replicaStore } from './succession/lease.s3.ts'
import { LeaseClient } from './succession/leaseclient.ts'
import { openLeaseFile } from './succession/leasefile.ts'
import { type Litestream, litestreamOf, type Replication } from './succession/litestream.ts'
import { type PairSettings, replicaOfTerm } from './succession/place.rules.ts'
import { pulseStore } from './succession/pulse.store.ts'
import { ReplicaWatch } from './succession/replica.ts'
import type { Away } from './succession/status.rules.ts'

/** How long a controller that has stopped waits for the other box to begin. */
const HANDOVER_MS = 120_000
/** How often a box that is not the controller looks at the lease while it lasts once. */
const LOOKS_PER_TTL = 6
const SHORTEST_LOOK_MS = 200
/** How long a look into the bucket of the replica may take. */
const REPLICA_ASK_MS = 10_000

/** A running controller. */
export interface Started {
  /** The file of its database. */
  database: string
  /** Resolves to the exit code. `last`: writes to the database once nobody else does; `staysUp`: the process goes on. */
  stop(last?: (db: Db) => void, staysUp?: boolean): Promise<number>
  url: string
}

/** What a controller with a second box has beside its settings. */
export interface PairParts {
  leaseClient: LeaseClient
  replica: ReplicaWatch
}

type Start = (config: Config, outlets: Outlets, pair?: PairParts) => Promise<Started>

/** This box, and what it needs as one of two. */
export interface PairBox {
  /** The SQLite addon; undefined: it is found where it is installed. */
  addon: object | undefined
  /** Where threads find it. */
  addonPath: string | undefined
  config: Config
  leaseClient: LeaseClient
  litestream: Litestream
  log: Log
  outlets: Outlets
  pair: PairSettings
  start: Start
  stop: AbortSignal
}

/** What a box does while it is not the controller, beside saying so. */
export interface StandbyRole {
  away(): Omit<Away, 'busy'> & { busy?: string | undefined }
  /** After each look at the lease; true once the lease is ours. */
  afterLeaseCheck(): Promise<boolean>
  /** The lease became ours and the controller listens. */
  onServing(): Promise<void>
  stop(): Promise<void>
}

/** Resolves at SIGTERM or SIGINT. */
export function signalled(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve())
  })
}

interface PairOptions {
  outlets: Outlets
  start: Start
  /** What makes of the box a standby; without it, it is a controller that may take a free lease. */
  follow?: (box: PairBox) => Promise<StandbyRole>
}

/** Runs until SIGTERM or SIGINT; resolves to the exit code. */
export async function runPairMember(config: Config, pair: PairSettings, options: PairOptions): Promise<number> {
  const { outlets, start } = options
  const log = jsonLog((line, level) => outlets.stderr.write(line, level), config.SVC_LOG_LEVEL)
  const dir = config.SVC_DATA_DIR
  makeDir(dir)
  const addon = loadAddon(nativeDirs(config))
  const lock = lockDirectory(path.join(dir, 'lease.lock'), addon?.binding)
  const leaseFile = await openLeaseFile(dir, randomIds)
  const store = await leaseStore(pair, spansOf(pair.ttlMs).askMs)
  const self = { id: leaseFile.now.id, name: hostname(), url: pair.url }
  const leaseClient = new LeaseClient({ ...pair, clock: systemClock, log, leaseFile, self, store })
  const stopping = new AbortController()
  void signalled().then(() => stopping.abort())
  const litestream = litestreamOf(pair, {
    dir,
    log,
    managed: config.manager !== undefined,
    programDirs: config.programDirs,
  })
  const box: PairBox = {
    addon: addon?.binding,
    addonPath: addon?.path,
    config,
    leaseClient,
    litestream,
    log,
    outlets,
    pair,
    start,
    stop: stopping.signal,
  }
  try {
    refuseWithoutDatabase(dir, leaseFile.now)
    return await roleLoop(box, options.follow)
  } finally {
    store.close()
    lock.release()
  }
}

/** @throws UserError where a new, empty database would take the place of one that got lost */
function refuseWithoutDatabase(dir: string, { fencedBy, term }: { fencedBy?: unknown; term: number }): void {
  if (term === 0 || fencedBy || existsSync(path.join(dir, 'roomtone.db'))) return
  throw misuse(
    `This box holds the lease, but its database is gone from ${dir}: put a backup or the replica in place (roomtone ` +
      'restore), or take over from another box.',
  )
}

async function roleLoop(box: PairBox, follow: PairOptions['follow']): Promise<number> {
  for (let replication: Replication | undefined; ; ) {
    const role = await untilOurs(box, follow, replication)
    if (!role) return 0
    const end = await serveWhileLeader(box, role)
    if (end.code !== undefined) return end.code
    replication = end.replication
  }
}

/** Resolves once the lease is ours, or with undefined when this program is to stop. */
async function untilOurs(
  box: PairBox,
  follow: PairOptions['follow'],
  replication: Replication | undefined,
): Promise<StandbyRole | undefined> {
  const { leaseClient, log, pair, stop } = box
  const since = performance.now()
  let open = replication
  const quiet: StandbyRole = { ...FENCED, away: () => ({ busy: waitingWords(leaseClient), role: 'fenced' }) }
  const look = async (): Promise<boolean> => {
    const standing = await leaseClient.claim(!follow)
    if (standing === 'prepared' && performance.now() - since > HANDOVER_MS)
      await leaseClient.withdraw().catch((e) => log.warn('could not cancel the handover yet; retrying', errorFields(e)))
    if (standing === 'prepared') return false
    // The replica of a term is written by its holder alone.
    await open?.stop()
    open = undefined
    return standing === 'ours'
  }
  try {
    if (await look()) return quiet
    const role = follow ? await follow(box) : quiet
    if (!follow) log.warn(leaseClient.status(quiet.away()).message)
    const server = await openStandbyServer(box, () => leaseClient.status(role.away()))
    const pause = Math.max(SHORTEST_LOOK_MS, pair.ttlMs / LOOKS_PER_TTL)
    let ours = false
    while (!stop.aborted && !ours) {
      await sleep(open ? SHORTEST_LOOK_MS : pause, undefined, { signal: stop }).catch(() => undefined)
      ours = !stop.aborted && ((await role.afterLeaseCheck()) || (await look()))
    }
    await server.close()
    if (ours) return role
    await role.stop()
    return undefined
  } finally {
    await open?.stop()
  }
}

const FENCED: Omit<StandbyRole, 'away'> = {
  afterLeaseCheck: async () => false,
  onServing: async () => {},
  stop: async () => {},
}

function waitingWords({ lease, self, silence }: LeaseClient): string | undefined {
  if (silence && !lease) return "Waiting for the lease: its bucket does not answer. See this box's log."
  if (lease?.holder.id === self.id) return 'Stopped: the other box is taking over.'
  return undefined
}

interface End {
  /** The program is to end. */
  code?: number
  /** Goes on until the other box has begun. */
  replication?: Replication
}

/** The controller, until it is told to stop or the lease is lost. */
async function serveWhileLeader(box: PairBox, role: StandbyRole): Promise<End> {
  const { addonPath, config, leaseClient, litestream, outlets, pair, start, stop } = box
  const lost = leaseClient.hold()
  let replication: Replication | undefined
  const place = replicaOfTerm(pair.replica, leaseClient.term)
  const bucket = await replicaStore(pair, place, REPLICA_ASK_MS)
  const database = path.join(config.SVC_DATA_DIR, 'roomtone.db')
  const replica = new ReplicaWatch({
    checkpoint: () => checkpoint({ addonPath, file: database }),
    clock: systemClock,
    database,
    hasBehind: bucket.hasBehind,
  })
  try {
    const started = await start(config, outlets, { leaseClient, replica })
    replication = await litestream.replicate(started.database, place)
    replica.follow(replication)
    await role.onServing()
    await role.stop()
    const how = await Promise.race([lost, aborted(stop)])
    if (how === 'asked') return await handOver(box, started, replication)
    if (how !== 'stopped') box.log.error(LOST[how], { ...leaseClient.lease?.holder })
    const code = await started.stop(undefined, how !== 'stopped')
    return how === 'stopped' ? { code } : {}
  } finally {
    bucket.close()
    await leaseClient.stopRenewing()
    if (leaseClient.lease?.handover?.state !== 'ready') await replication?.stop()
  }
}

const LOST = {
  fenced: 'another box took over: this one no longer is the controller',
  lapsed: 'the lease could not be renewed in time: this box no longer serves, for the other one may take over',
}

const aborted = (signal: AbortSignal): Promise<'stopped'> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve('stopped')
    else signal.addEventListener('abort', () => resolve('stopped'), { once: true })
  })

/** The other box waits for it: a store that is away for a moment is asked again. */
async function prepared({ leaseClient, log }: PairBox, mark: string): Promise<void> {
  const end = performance.now() + HANDOVER_MS
  for (;;) {
    try {
      return void (await leaseClient.prepare(mark))
    } catch (e) {
      if (performance.now() > end) throw e
      log.warn('the other box could not be told that this one has stopped', errorFields(e))
      await sleep(SHORTEST_LOOK_MS)
    }
  }
}

/** Stops, and says in database and lease which write was the last. */
async function handOver(box: PairBox, started: Started, replication: Replication | undefined): Promise<End> {
  const { leaseClient, log } = box
  const to = leaseClient.lease?.handover?.to
  log.warn('handing over to another box: finishing writes and stopping', { ...to })
  const mark = randomIds.uuid()
  const writtenAt = new Date(systemClock.now()).toISOString()
  await started.stop((db) => db.tx(() => pulseStore(db).write({ mark, term: leaseClient.term, writtenAt })), true)
  await prepared(box, mark)
  return replication ? { replication } : {}
}
