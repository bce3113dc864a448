import { type Clock, iso } from '../../../kernel/clock.ts'
import { errorFields, type Log } from '../../../kernel/log.ts'
import { tail } from '../../../kernel/redact.ts'
import {
  type LifecycleJob,
  type LifecycleRequest,
  OUTPUT_KEPT,
  type Stream,
  TRUSTING_ACTIONS,
} from '../../../wire/lifecycle.ts'
import type { Events } from '../../events.ts'
import type { Audit } from '../../http/audit.ts'
import { type Actor, systemActor } from '../../http/principal.ts'
import type { CommitGroup } from '../../store/group.ts'
import type { SshKeyStore } from '../onboarding/sshkeys.store.ts'
import { type Act, failed, type Outcome } from './lifecycle.rules.ts'
import type { LifecycleStore } from './lifecycle.store.ts'

interface DispatchParts {
  act: Act
  audit: Audit
  clock: Clock
  events: Events
  group: CommitGroup
  jobs: LifecycleStore
  log: Log
  sshKeys: SshKeyStore
}

/** Carries out lifecycle jobs: asks the runner, stores the outcome and audits it. */
export class Dispatch {
  private readonly parts: DispatchParts
  private readonly stopping = new AbortController()
  private readonly underWay = new Set<Promise<unknown>>()

  constructor(parts: DispatchParts) {
    this.parts = parts
  }

  /** Resolves to the ended job; the job continues when the request that started it is gone. */
  start(job: LifecycleJob, options: LifecycleRequest, actor: Actor): Promise<LifecycleJob> {
    const work = this.run(job, options, actor)
    this.track(job, work)
    return work
  }

  /** It was stored, but perhaps not for good, and is not carried out: left running it would block its node. */
  abandon(job: LifecycleJob, actor: Actor): void {
    this.track(job, this.end(job, failed('database_unavailable'), actor))
  }

  /** Fails the jobs that a previous process left running: their outcome is unknown. */
  async settleInterrupted(): Promise<void> {
    for (const job of this.parts.jobs.running())
      await this.end(job, failed('controller_restarted'), systemActor('lifecycle'))
  }

  /** Aborts the jobs under way; resolves when their outcomes are stored. */
  async stop(): Promise<void> {
    this.stopping.abort()
    await Promise.all(this.underWay)
  }

  private track(job: LifecycleJob, work: Promise<unknown>): void {
    const tracked = work
      .catch((e) =>
        this.parts.log.error('could not store the result of a lifecycle job: check the disk of the database', {
          id: job.id,
          ...errorFields(e),
        }),
      )
      .finally(() => this.underWay.delete(tracked))
    this.underWay.add(tracked)
  }

  private async run(job: LifecycleJob, options: LifecycleRequest, actor: Actor): Promise<LifecycleJob> {
    const { action, nodeAlias, nodeId, targetHost } = job
    const request = { action, options, target: { host: targetHost, nodeAlias, nodeId } }
    const progress = new Progress((output) => this.saveOutput(job, output))
    try {
      const outcome = await this.parts
        .act(request, progress.add, this.stopping.signal)
        .catch((e) => this.crashed(job, e))
      // A run that broke off has only the output received so far.
      return await this.end(job, { ...progress.stop(), ...outcome }, actor)
    } finally {
      progress.stop()
    }
  }

  /** A bug: the job has to end all the same, because a running job blocks every other one of its node. */
  private crashed(job: LifecycleJob, e: unknown): Outcome {
    this.parts.log.error(
      'internal error: a lifecycle job failed; check the node before you try again. Please report this',
      { id: job.id, ...errorFields(e) },
    )
    return failed('internal_error')
  }

  private saveOutput(job: LifecycleJob, output: Pick<Outcome, 'stderr' | 'stdout'>): void {
    const { events, group, jobs, log } = this.parts
    const save = () => {
      jobs.setOutput(job.id, output)
      events.emit('lifecycle.progressed', { nodeId: job.nodeId })
    }
    group
      .submit(save, false)
      .catch((e) => log.warn('lifecycle job output not recorded', { id: job.id, ...errorFields(e) }))
  }

  private end(job: LifecycleJob, outcome: Outcome, actor: Actor): Promise<LifecycleJob> {
    const { audit, clock, group, jobs, sshKeys } = this.parts
    return group.submit(() => {
      const now = iso(clock.now())
      const ended = jobs.finish(job.id, outcome, now)
      if (!ended) return job
      // The node now holds the key that was current when the run began (ADR-0006).
      const trusts = TRUSTING_ACTIONS.has(ended.action) && ended.status === 'succeeded'
      const confirmed = trusts && sshKeys.confirm(ended.nodeId, ended.startedAt, now)
      const more = confirmed || ended.action === 'rotate_trust' ? { sshKeyConfirmed: confirmed } : {}
      audit.write(entry(ended, actor, more), now)
      return ended
    })
  }
}

function entry(job: LifecycleJob, actor: Actor, more: Record<string, unknown>) {
  const { action, error, exitCode, id, nodeAlias, nodeId, runnerRunId, status, targetHost } = job
  return {
    action: `nodes.lifecycle.${action}.${status}`,
    actor,
    correlation: { nodeLifecycleJobId: id },
    details: { action, exitCode, runnerRunId, status, targetHost, ...more },
    outcome: status === 'succeeded' ? 'succeeded' : 'failed',
    permission: 'node:manage',
    reason: status === 'succeeded' ? null : (error ?? 'ansible_lifecycle_failed'),
    target: { type: 'node', id: nodeId, name: nodeAlias },
  } as const
}

/** Shortest time between two writes, ms: often enough for people who watch, and cheap for the database. */
const PAUSE_MS = 1000

type Outputs = Record<Stream, string>

/** Stores the end of a run's output while it goes on. */
class Progress {
  readonly #said: Outputs = { stderr: '', stdout: '' }
  readonly #write: (said: Outputs) => void
  #timer: NodeJS.Timeout | undefined

  constructor(write: (said: Outputs) => void) {
    this.#write = write
  }

  readonly add = (stream: Stream, text: string): void => {
    this.#said[stream] = tail(this.#said[stream] + text, OUTPUT_KEPT[stream])
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#write({ ...this.#said })
    }, PAUSE_MS)
  }

  /** Ends the writes; returns the output. */
  stop(): Outputs {
    clearTimeout(this.#timer)
    return this.#said
  }
}
