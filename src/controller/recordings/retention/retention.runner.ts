import { setImmediate as nextTurn } from 'node:timers/promises'
import { diskRoom } from '../../../kernel/disk.ts'
import { Fail } from '../../../kernel/fail.ts'
import type { Log } from '../../../kernel/log.ts'
import type { RetentionPolicy } from '../../../wire/retention.ts'
import type { Audit } from '../../http/audit.ts'
import type { PathClaims } from '../../http/claims.ts'
import { systemActor } from '../../http/principal.ts'
import { countsFrom, type Doubted } from '../../monitoring/clock/trust.rules.ts'
import type { Runner } from '../../scheduler/ticker.ts'
import type { Db } from '../../store/db.ts'
import type { RetentionPolicyStore } from './policies.store.ts'
import {
  ageLimit,
  bytesToFree,
  type Candidate,
  needsAllTakes,
  type Reason,
  selectForDeletion,
} from './retention.rules.ts'
import type { RetentionStore } from './retention.store.ts'

interface Parts {
  audit: Audit
  /** Maximum of takes deleted per pass, all policies together. */
  batch: number
  /** Asks the destinations whether they still hold the take. @throws Fail when they do not answer */
  confirm: (recordingId: string, signal: AbortSignal) => Promise<boolean>
  log: Log
  paths: PathClaims
  db: Db
  /** Stamps that say more age than there is. */
  doubted: () => readonly Doubted[]
  enabled: boolean
  /** Whether somebody is playing the take, or is about to. */
  held: (recordingId: string) => boolean
  intervalSeconds: number
  policies: RetentionPolicyStore
  stored: RetentionStore
  /** Directory of the stored files. */
  takes: string
  /** Whether the clock can be relied on for the age of a take. */
  trusted: () => boolean
}

interface Running extends Parts {
  /** Aborted when the controller stops. */
  signal: AbortSignal
}

interface Pass {
  bytes: number
  deleted: number
  failed: number
  /** A destination did not answer: takes that only it would hold wait for another pass. */
  silent?: boolean
}

const ACTOR = systemActor('retention-runner')
// Rows per turn of the event loop: a few milliseconds.
const SLICE = 100

/**
 * Deletes stored takes by age, size and free disk, but never one that is still needed (docs/contract/recordings.md: Retention).
 * A pass ends after the current take when the controller stops.
 */
export function retentionRunner(parts: Parts): Runner {
  const tick = async (now: string, signal: AbortSignal): Promise<Pass> => {
    const running = { ...parts, signal }
    const pass: Pass = { bytes: 0, deleted: 0, failed: 0 }
    for (const policy of parts.policies.deleting())
      await applyPolicy(running, parts.trusted() ? policy : { ...policy, maxAgeDays: null }, pass, now)
    if (pass.deleted + pass.failed > 0) auditPass(parts, pass, now)
    return pass
  }
  const { enabled, intervalSeconds } = parts
  return { name: 'retention', enabled, intervalSeconds, tick }
}

async function applyPolicy(parts: Running, policy: RetentionPolicy, pass: Pass, now: string): Promise<void> {
  const room = parts.batch - pass.deleted - pass.failed
  if (room <= 0 || parts.signal.aborted) return
  const shortfall = bytesToFree(policy, await disk(parts.takes))
  if (policy.maxAgeDays === null && policy.maxBytes === null && shortfall === 0) return
  const { oldest, total } = await findCandidates(parts, policy, { now, room, shortfall })
  for (const { candidate, reason } of selectForDeletion(policy, oldest, { now, shortfall, total })) {
    if (parts.signal.aborted) return
    await remove(parts, policy, candidate, reason, pass, now)
  }
}

/** Of a disk that does not tell its size nothing is deleted for the sake of its room. */
async function disk(dir: string): Promise<{ free: number; total: number }> {
  const { freeBytes, sizeBytes } = (await diskRoom(dir)) ?? { freeBytes: 0, sizeBytes: 0 }
  return { free: freeBytes, total: sizeBytes }
}

/** The oldest takes that may be deleted, and the total size of all of them; only a limit in bytes reads them all. */
async function findCandidates(
  { doubted, held, signal, stored }: Running,
  policy: RetentionPolicy,
  { now, room, shortfall }: { now: string; room: number; shortfall: number },
): Promise<{ oldest: Candidate[]; total: number }> {
  const limit = ageLimit(policy, now)
  const stretches = doubted()
  const [oldest, misdated]: [Candidate[], Candidate[]] = [[], []]
  let total = 0
  for (const rows of stored.oldest(policy, SLICE)) {
    for (const { wanted, ...candidate } of rows) {
      if (wanted || candidate.bytes === 0 || held(candidate.id)) continue
      total += candidate.bytes
      const recordedAt = countsFrom(candidate.recordedAt, stretches)
      const list = recordedAt === candidate.recordedAt ? oldest : misdated
      if (list.length < room) list.push({ ...candidate, recordedAt })
    }
    const past = shortfall === 0 && limit !== undefined && (rows.at(-1) as Candidate).recordedAt > limit
    if (signal.aborted || (!needsAllTakes(policy) && (past || oldest.length >= room))) break
    await nextTurn()
  }
  const byAge = [...oldest, ...misdated].sort((a, b) => (a.recordedAt < b.recordedAt ? -1 : 1))
  return { oldest: byAge.slice(0, room), total }
}

async function remove(
  parts: Running,
  policy: RetentionPolicy,
  { id }: Candidate,
  reason: Reason,
  pass: Pass,
  now: string,
): Promise<void> {
  const { db, held, paths, stored } = parts
  if (stored.held(id) && !(await confirmed(parts, id, pass))) return
  // Checked again in the same turn as the write: a player may have started since.
  if (held(id)) return
  const { done: cleared, failures } = await paths.removing((discard) =>
    db.tx(() => {
      const cleared = stored.clear(policy, id, now)
      const kept = cleared?.freed ? { keptAtDestination: true } : {}
      if (cleared)
        auditTake(parts, id, 'cache_deleted', reason, now, { ...sizeOf(cleared), ...kept, policyId: policy.id })
      discard(cleared?.paths ?? [])
      return cleared
    }),
  )
  if (!cleared) return
  pass.deleted++
  pass.bytes += cleared.bytes
  if (failures.length === 0) return
  pass.failed++
  const details = {
    errors: failures.map(({ error }) => error).slice(0, 5),
    files: failures.length,
    policyId: policy.id,
  }
  db.tx(() => auditTake(parts, id, 'cache_failed', 'retention_delete_failed', now, details))
}

/** Whether a destination has the take now, long after it was uploaded: it is about to be nowhere else. */
async function confirmed({ confirm, log, signal }: Running, id: string, pass: Pass): Promise<boolean> {
  if (pass.silent) return false
  try {
    return await confirm(id, signal)
  } catch (e) {
    if (!(e instanceof Fail)) throw e
    pass.silent = true
    log.warn('takes stay on this disk: their destination does not answer', { recordingId: id })
    return false
  }
}

const sizeOf = ({ bytes, paths }: { bytes: number; paths: string[] }) => ({ bytes, fileCount: paths.length })

function auditTake(
  { audit }: Parts,
  recordingId: string,
  what: 'cache_deleted' | 'cache_failed',
  reason: string,
  now: string,
  details: Record<string, unknown>,
): void {
  audit.write(
    {
      action: `recordings.retention.${what}`,
      actor: ACTOR,
      correlation: { recordingId },
      details,
      outcome: what === 'cache_failed' ? 'failed' : 'succeeded',
      permission: 'recording:delete',
      reason,
      target: { type: 'recording', id: recordingId },
    },
    now,
  )
}

/** Audits a pass that deleted something (docs/contract/recordings.md: Retention). */
function auditPass({ audit, db }: Parts, pass: Pass, now: string): void {
  db.tx(() =>
    audit.write(
      {
        action: 'recordings.retention.runner.completed',
        actor: ACTOR,
        details: { bytes: pass.bytes, deleted: pass.deleted, failed: pass.failed },
        outcome: pass.failed > 0 ? 'partial' : 'succeeded',
        permission: 'recording:delete',
        target: { type: 'recording_collection' },
      },
      now,
    ),
  )
}
