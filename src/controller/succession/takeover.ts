// How a standby becomes the controller: planned, with the consent of the one that serves, or without it.
import * as fs from 'node:fs/promises'
import * as path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { iso } from '../../kernel/clock.ts'
import { hasCode, syncDir } from '../../kernel/durable.ts'
import { UserError } from '../../kernel/fail.ts'
import { ask, NoAnswer } from '../../kernel/http.ts'
import { faultWords } from '../../kernel/words.ts'
import type { Copy, Follower } from './follower.ts'
import { spansOf } from './lease.rules.ts'
import type { Tenure } from './tenure.ts'

/** Without `planned` the controller is not asked; `force`: although it answers. */
export interface Wish {
  force: boolean
  planned: boolean
}

interface Parts {
  dir: string
  follower: Follower
  now: () => number
  tenure: Tenure
  ttlMs: number
}

const LOOK_MS = 300
const TRIES = 5
/** The last writes are in the replica a second after they were made; a slow line needs longer. */
const LAST_WRITES_MS = 60_000
/** How long requests under way may keep the old controller, beside its renewal of the lease. */
const OLD_STOP_MS = 30_000
const ANSWER_MS = 5000

/** The database is in its place and the lease is ours when it resolves. @throws UserError: nothing has changed then */
export async function takeOver(parts: Parts, wish: Wish, say: (sentence: string) => void): Promise<void> {
  await mayAsk(parts.tenure)
  if (wish.planned) return await planned(parts, say)
  await mayTake(parts.tenure, wish)
  await seize(parts, await newest(parts, say), say)
}

/** @throws UserError unless another box holds the lease */
async function mayAsk(tenure: Tenure): Promise<void> {
  const standing = await tenure.claim(false)
  if (standing === 'unreachable' || tenure.silence)
    throw new UserError(`Nothing was taken over: ${tenure.silence?.why ?? 'the lease cannot be seen'}`)
  if (standing === 'free')
    throw new UserError('There is nothing to take over: no controller holds the lease. Start one: roomtone controller')
  if (standing !== 'others') throw new UserError('This box is the controller already')
}

async function planned(parts: Parts, say: (sentence: string) => void): Promise<void> {
  const { tenure } = parts
  const name = tenure.lease?.holder.name
  say(`Asking ${name} to hand over ...`)
  await insist(tenure, () => tenure.ask())
  try {
    const mark = await handedOver(parts)
    say(`${name} has stopped. Fetching its last writes ...`)
    await seize(parts, await copyWith(parts, mark), say)
  } catch (e) {
    await insist(tenure, () => tenure.withdraw()).catch(() => undefined)
    throw e
  }
}

/** Tries a conditional write again while others write too. @throws UserError when it does not come through */
async function insist(tenure: Tenure, write: () => Promise<boolean>): Promise<void> {
  for (let i = 0; i < TRIES; i++) {
    if (await write()) return
    if ((await tenure.claim(false)) !== 'others') break
  }
  throw new UserError('The lease changes hands this moment: look at roomtone standby, and try again')
}

/** The mark of the controller's last write. @throws UserError when it does not stop */
async function handedOver({ tenure, ttlMs }: Parts): Promise<string> {
  const end = performance.now() + spansOf(ttlMs).renewMs + OLD_STOP_MS
  while (performance.now() < end) {
    await sleep(LOOK_MS)
    await tenure.claim(false)
    const { handover, holder } = tenure.lease ?? {}
    if (handover?.to.id !== tenure.self.id)
      throw new UserError(`${holder?.name} did not hand over: its log says why. Try again, or use --unplanned`)
    if (handover.state === 'ready') return handover.mark ?? ''
  }
  throw new UserError(
    `${tenure.lease?.holder.name} did not answer the request to hand over. If it is dead: roomtone takeover --unplanned`,
  )
}

async function copyWith({ follower }: Parts, mark: string): Promise<Copy> {
  const end = performance.now() + LAST_WRITES_MS
  for (;;) {
    const copy = await follower.follow()
    if (copy.pulse.mark === mark) return copy
    if (performance.now() > end)
      throw new UserError('The last writes of the controller did not reach the replica: nothing was taken over')
    await sleep(LOOK_MS)
  }
}

/** @throws UserError when the controller answers and nobody insists */
async function mayTake({ lease, self }: Tenure, { force }: Wish): Promise<void> {
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
    if (!follower.copy) throw new UserError(`Nothing was taken over, for there is no copy: ${faultWords(e)}`)
    const age = Math.round((now() - Date.parse(follower.copy.pulse.writtenAt)) / 1000)
    say(`The replica cannot be read (${faultWords(e)}): going on with a copy that is ${age} seconds old.`)
    return follower.copy
  }
}

/** Puts the copy in place, then takes the lease: without it, the copy is not used. */
async function seize({ dir, now, tenure }: Parts, copy: Copy, say: (sentence: string) => void): Promise<void> {
  if (copy.aloneThere > 0)
    say(
      `The audio of ${copy.aloneThere} recordings lies on ${tenure.lease?.holder.name} alone: it is played here once it was ` +
        'copied from there, or uploaded.',
    )
  await putInPlace(dir, copy.file, iso(now()))
  await insist(tenure, () => tenure.succeed())
  say(`The lease is taken, term ${tenure.term}. Starting ...`)
}

/** A database that is here already is kept beside it. */
async function putInPlace(dir: string, copy: string, now: string): Promise<void> {
  const database = path.join(dir, 'roomtone.db')
  const kept = `${database}.before-takeover-${now.replace(/[:.]/g, '-')}`
  for (const suffix of ['-wal', '-shm', '-journal', ''])
    await fs.rename(database + suffix, kept + suffix).catch((e) => {
      if (!hasCode(e, 'ENOENT')) throw e
    })
  // What Litestream noted about the old one.
  await fs.rm(path.join(dir, '.roomtone.db-litestream'), { force: true, recursive: true })
  await fs.copyFile(copy, database)
  const handle = await fs.open(database, 'r+')
  await handle.sync().finally(() => handle.close())
  await syncDir(dir)
}
