// A controller of two boxes: the lease, the other box, and how old its copy of the database is (docs/standby.md).
import { systemClock } from '../../../kernel/clock.ts'
import * as http from '../../../kernel/http.ts'
import { counted, faultWords } from '../../../kernel/words.ts'
import { fail, ok, skipped } from '../../../system/checks/examine.ts'
import { UNITS } from '../../../system/host/places.ts'
import { askBox } from '../../../system/host/serving.ts'
import { advice, type Finding } from '../../../wire/doctor.ts'
import { HEADERS } from '../../../wire/headers.ts'
import type { Lease } from '../../../wire/lease.ts'
import type { Config } from '../../config.ts'
import { RENEWALS } from '../../succession/lease.rules.ts'
import { leaseStore } from '../../succession/lease.s3.ts'
import { accountOf, type PairSettings, replicaOfTerm } from '../../succession/place.rules.ts'
import { openBucket } from '../../uploads/drivers.s3.bucket.ts'

const PATIENCE_MS = 5000
/** A controller writes all the time: a replica that does not move is not written. */
const OLD_SECONDS = 300

const ALONE = skipped('This controller is one box: SVC_LEASE_URL is not set')
const inLog = (words: string) => advice(words, `sudo journalctl -u ${UNITS.controller} -n 100`)

type Look = (signal: AbortSignal) => Promise<Finding>

/** The three checks; they share one look at the lease. */
export function pairChecks({ pair }: Config): Record<'copy' | 'lease' | 'other', Look> {
  if (!pair) return { copy: async () => ALONE, lease: async () => ALONE, other: async () => ALONE }
  let seen: Promise<Lease | undefined> | undefined
  const lease = (): Promise<Lease | undefined> => {
    seen ??= leaseOf(pair)
    return seen
  }
  /** What needs to know who holds it says nothing of its own where that is not known. */
  const ofHeld = (look: (held: Lease, signal: AbortSignal) => Finding | Promise<Finding>): Look => {
    return async (signal) => {
      const held = await lease().catch(() => undefined)
      return held ? look(held, signal) : skipped('Who is the controller is not known (pair.lease)')
    }
  }
  return {
    copy: ofHeld((held, signal) => copyOf(pair, held, signal)),
    lease: async () => {
      try {
        return judgeLease(await lease(), pair, systemClock.now())
      } catch (e) {
        return fail(
          `The lease cannot be read: ${faultWords(e)}`,
          inLog('Check SVC_LEASE_URL and the keys of its bucket. What the controller says:'),
        )
      }
    },
    other: ofHeld((held, signal) => otherOf(pair, held, signal)),
  }
}

async function leaseOf(pair: PairSettings): Promise<Lease | undefined> {
  const store = await leaseStore(pair, PATIENCE_MS)
  try {
    return (await store.read())?.lease
  } finally {
    store.close()
  }
}

/** What a lease says at `now`, by its holder's clock. */
export function judgeLease(lease: Lease | undefined, { ttlMs, url }: Pick<PairSettings, 'ttlMs' | 'url'>, now: number) {
  if (!lease)
    return fail(
      'Nobody holds the lease',
      inLog('Start the controller with the same SVC_LEASE_URL; what this box says:'),
    )
  const { holder, renewedAt, term } = lease
  const who = holder.url === url ? 'This box' : `${holder.name} (${holder.url})`
  const ago = Math.max(0, Math.round((now - Date.parse(renewedAt)) / 1000))
  const said = `${who} holds the lease, term ${term}, and renewed it ${counted(ago, 'second')} ago`
  if (ago * 1000 <= RENEWALS * ttlMs) return ok(said)
  return holder.url === url
    ? fail(said, inLog('The controller does not run, or does not reach the bucket; what it says:'))
    : fail(said, advice('Look at that box. If it is lost, on this one:', 'sudo roomtone takeover --unplanned'))
}

/** Whether the controller answers, seen from the box that is not. */
async function otherOf({ url }: PairSettings, { holder, term }: Lease, signal: AbortSignal): Promise<Finding> {
  if (holder.url === url) return skipped('This box is the controller: whether the other one follows is checked there')
  try {
    // Nothing is told to it: whether the controller is there is all that counts.
    const answer = await askBox(holder.url, '/readyz', {
      ...{ signal, termHeader: HEADERS.term, tls: { rejectUnauthorized: false } },
    })
    if (answer.status === 200 && answer.term === term)
      return ok(`${holder.name} answers at ${holder.url} as the controller`)
    const what =
      answer.term === term ? 'does not serve' : `is no box of this pair (term ${answer.term}, the lease has ${term})`
    return fail(`What answers at ${holder.url} ${what}`, advice(`Check SVC_PUBLIC_URL of ${holder.name}, and its log`))
  } catch (e) {
    if (!(e instanceof http.NoAnswer)) throw e
    return fail(
      `${holder.name} does not answer: ${e.message}`,
      advice('If it is lost, on this box:', 'sudo roomtone takeover --unplanned'),
    )
  }
}

async function copyOf(pair: PairSettings, { term }: Lease, signal: AbortSignal): Promise<Finding> {
  const place = replicaOfTerm(pair.replica, term)
  const bucket = await openBucket(accountOf(pair, place))
  let newest: number | undefined
  try {
    for await (const { modifiedAt } of bucket.list(`${place.key}/`)) {
      if (signal.aborted) return skipped('The replica has too many objects to be looked through in this time')
      newest = Math.max(newest ?? 0, modifiedAt)
    }
  } catch (e) {
    return fail(
      `The replica cannot be read: ${faultWords(e)}`,
      inLog('Check SVC_REPLICA_URL and the keys of its bucket. What the controller says:'),
    )
  } finally {
    bucket.close()
  }
  return judgeCopy(newest, term, systemClock.now())
}

/** `newest`: when the last piece of the replica was written, unix ms, by the store's clock. */
export function judgeCopy(newest: number | undefined, term: number, now: number): Finding {
  const fix = inLog('Litestream is started by the controller; what it says, on the controller:')
  if (newest === undefined) return fail(`There is no replica of term ${term}: another box could not take over`, fix)
  const age = Math.max(0, Math.round((now - newest) / 1000))
  const said = `The replica of term ${term} was last written ${counted(age, 'second')} ago`
  return age > OLD_SECONDS ? fail(`${said}: what was written since would be lost`, fix) : ok(said)
}
