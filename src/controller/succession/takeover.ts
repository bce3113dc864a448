// How a standby becomes the controller: planned, with the consent of the one that serves, or without it.
import * as fs from 'node:fs/promises'
import * as path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { iso } from '../../kernel/clock.ts'
import { hasCode, syncDir, syncFile } from '../../kernel/durable.ts'
import { UserError } from '../../kernel/fail.ts'
import { ask, NoAnswer } from '../../kernel/http.ts'
import { counted, faultWords } from '../../kernel/words.ts'
import type { Lease } from '../../wire/lease.ts'
import { DATABASE_SUFFIXES } from '../store/db.ts'
import type { Copy, Follower } from './follower.ts'
import { spansOf } from './lease.rules.ts'
import type { LeaseClient } from './leaseclient.ts'

/** Without `planned` the controller is not asked; `force`: although it answers. */
export interface TakeoverRequest {
  force: boolean
  planned: boolean
}

interface Parts {
  dir: string
  follower: Follower
  leaseClient: LeaseClient
  now: () => number
  ttlMs: number
}

const LOOK_MS = 300
const TRIES = 5
/** The last writes are in the replica a second after they were made; a slow line needs longer. */
const LAST_WRITES_MS = 60_000
/** How long requests under way may keep the old controller, beside its renewal of the lease. */
const OLD_STOP_MS = 30_000
const ANSWER_MS = 5000
/** A controller notes its age every ten seconds, and Litestream sends every second. */
const MOST_LOST_SECONDS = 60

/** The database is in its place and the lease is ours when it resolves. @throws UserError: nothing has changed then */
export async function takeOver(parts: Parts, request: TakeoverRequest, say: (sentence: string) => void): Promise<void> {
  const { leaseClient } = parts
  await assertOtherHolds(leaseClient)
  if (request.planned) return await planned(parts, say)
  const judged = leaseClient.version
  await assertTakeoverAllowed(leaseClient, request)
  const copy = await newest(parts, say)
  refuseOld(copy, leaseClient.lease, request)
  // Whoever renewed it since then is alive.
  await seize(parts, copy, (_, version) => request.force || version === judged, say)
}

/**
 * What the controller wrote after the copy is lost, and both times are of its own clock. @throws UserError when that is much and
 * nobody insists
 */
function refuseOld({ pulse }: Copy, lease: Lease | undefined, { force }: TakeoverRequest): void {
  const lost = Math.round((Date.parse(lease?.renewedAt ?? '') - Date.parse(pulse.writtenAt)) / 1000)
  if (force || !(lost > MOST_LOST_SECONDS)) return
  throw new UserError(
    `The replica ends ${lost} seconds before the last sign of ${lease?.holder.name}: what was written in between would be lost. ` +
      'If there is nothing better: --unplanned --force',
  )
}

/** @throws UserError unless another box holds the lease */
async function assertOtherHolds(leaseClient: LeaseClient): Promise<void> {
  const standing = await leaseClient.claim(false)
  if (standing === 'unreachable' || leaseClient.silence)
    throw new UserError(`Nothing was taken over: ${leaseClient.silence?.why ?? 'the lease could not be read'}`)
  if (standing === 'free')
    throw new UserError('There is nothing to take over: no controller holds the lease. Start one: roomtone controller')
  if (standing !== 'others') throw new UserError('This box is already the controller: there is nothing to take over')
}

async function planned(parts: Parts, say: (sentence: string) => void): Promise<void> {
  const { follower, leaseClient } = parts
  const name = leaseClient.lease?.holder.name
  // The controller is not stopped for a box that could not take its place.
  if (!follower.copy) await newest(parts, say)
  say(`Asking ${name} to hand over ...`)
  try {
    await retryConflicts(leaseClient, () => leaseClient.ask())
    const mark = await handedOver(parts)
    say(`${name} has stopped. Fetching its last writes ...`)
    const isReady = ({ handover }: Lease): boolean =>
      handover?.state === 'ready' && handover.to.id === leaseClient.self.id && handover.mark === mark
    await seize(parts, await copyWith(parts, mark), isReady, say)
  } catch (e) {
    await retryConflicts(leaseClient, () => leaseClient.withdraw()).catch(() => undefined)
    throw e
  }
}

/** Tries a conditional write again while others write too. @throws UserError when it does not come through */
async function retryConflicts(leaseClient: LeaseClient, write: () => Promise<boolean>): Promise<void> {
  for (let i = 0; i < TRIES; i++) {
    if (await write()) return
    if ((await leaseClient.claim(false)) !== 'others') break
  }
  throw new UserError('The lease is changing hands right now: see the page of the standby, then try again')
}

/** The mark of the controller's last write. @throws UserError when it does not stop */
async function handedOver({ leaseClient, ttlMs }: Parts): Promise<string> {
  const end = performance.now() + spansOf(ttlMs).renewMs + OLD_STOP_MS
  while (performance.now() < end) {
    await sleep(LOOK_MS)
    await leaseClient.claim(false)
    const { handover, holder } = leaseClient.lease ?? {}
    if (handover?.to.id !== leaseClient.self.id)
      throw new UserError(`${holder?.name} did not hand over: its log says why. Try again, or use --unplanned`)
    if (handover.state === 'ready') return handover.mark ?? ''
  }
  throw new UserError(
    `${leaseClient.lease?.holder.name} did not answer the request to hand over. If it is dead: roomtone takeover --unplanned`,
  )
}

async function copyWith({ follower }: Parts, mark: string): Promise<Copy> {
  const end = performance.now() + LAST_WRITES_MS
  for (;;) {
    const copy = await follower.follow()
    if (copy.pulse.mark === mark) return copy
    if (performance.now() > end)
      throw new UserError(
        'Nothing was taken over: the last writes of the controller did not reach the replica. See its log for what Litestream says, then try again',
      )
    await sleep(LOOK_MS)
  }
}

/** @throws UserError when the controller answers and nobody insists */
async function assertTakeoverAllowed({ lease, self }: LeaseClient, { force }: TakeoverRequest): Promise<void> {
  if (force || !lease || lease.holder.url === self.url || !(await answers(lease.holder.url))) return
  throw new UserError(
    `${lease.holder.name} answers at ${lease.holder.url}: let it hand over (without --unplanned). Only if it must not be ` +
      'the controller any longer: --unplanned --force',
  )
}

/** Whether a controller answers there that would serve. */
export async function answers(url: string): Promise<boolean> {
  try {
    // Nothing is told to it, and nothing believed: whether something of ours is there is all that counts.
    const question = { headers: {}, method: 'GET', timeoutMs: ANSWER_MS, tls: { rejectUnauthorized: false } } as const
    return (await ask({ ...question, maxBytes: 65_536, url: new URL('/readyz', url) })).status === 200
  } catch (e) {
    if (e instanceof NoAnswer) return false
    throw e
  }
}

async function newest({ follower, now }: Parts, say: (sentence: string) => void): Promise<Copy> {
  say('Fetching the last writes of the controller ...')
  try {
    return await follower.follow()
  } catch (e) {
    if (!follower.copy)
      throw new UserError(`Nothing was taken over: this box has no usable copy of the database. ${faultWords(e)}`)
    const age = Math.round((now() - Date.parse(follower.copy.pulse.writtenAt)) / 1000)
    say(`The replica cannot be read (${faultWords(e)}): going on with a copy that is ${age} seconds old.`)
    return follower.copy
  }
}

/**
 * Puts the copy in place, then takes the lease over a state that `may` allows. Without the lease all is as before.
 * @throws UserError then
 */
async function seize(
  { dir, leaseClient, now }: Parts,
  copy: Copy,
  may: (lease: Lease, version: string) => boolean,
  say: (sentence: string) => void,
): Promise<void> {
  const alone = copy.recordingsWithoutRemoteCopy
  if (alone > 0)
    say(
      `${counted(alone, 'recording')} ${alone === 1 ? 'has' : 'have'} no copy in a library destination. ` +
        'What is not on this disk yet can be played here only after its files are copied from ' +
        `${leaseClient.lease?.holder.name} or uploaded.`,
    )
  const undo = await putInPlace(dir, copy.file, iso(now()))
  try {
    if (!(await leaseClient.takeOverIf(may)))
      throw new UserError(
        `Nothing was taken over: ${leaseClient.lease?.holder.name} has renewed the lease, so it is still running. Take over as planned, ` +
          'or with --unplanned --force',
      )
  } catch (e) {
    await undo()
    throw e
  }
  say(`The lease is taken, term ${leaseClient.term}. Starting ...`)
}

/** A database that is here already is kept beside it. @returns what puts that back */
async function putInPlace(dir: string, copy: string, now: string): Promise<() => Promise<void>> {
  const database = path.join(dir, 'roomtone.db')
  const kept = `${database}.before-takeover-${now.replace(/[:.]/g, '-')}`
  const next = `${database}.next`
  await fs.copyFile(copy, next)
  await syncFile(next)
  await moveDatabase(database, kept)
  // What Litestream noted about the old one.
  await fs.rm(path.join(dir, '.roomtone.db-litestream'), { force: true, recursive: true })
  await fs.rename(next, database)
  await syncDir(dir)
  return async () => {
    await fs.rm(database, { force: true })
    await moveDatabase(kept, database)
    await syncDir(dir)
  }
}

async function moveDatabase(from: string, to: string): Promise<void> {
  for (const suffix of DATABASE_SUFFIXES.toReversed())
    await fs.rename(from + suffix, to + suffix).catch((e) => {
      if (!hasCode(e, 'ENOENT')) throw e
    })
}
