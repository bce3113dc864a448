import { conflict } from '../../../kernel/fail.ts'
import type { LifecycleAction, LifecycleJob } from '../../../wire/lifecycle.ts'
import type { Db, Params } from '../../store/db.ts'
import { present } from '../../store/filter.ts'
import type { Outcome } from './lifecycle.rules.ts'

type Row = { [K in keyof Required<LifecycleJob>]: LifecycleJob[K] | null }

const COLUMNS = `id, node_id AS nodeId, node_alias AS nodeAlias, action, status, target_host AS targetHost,
  requested_at AS requestedAt, requested_at AS startedAt, requested_by AS requestedBy, completed_at AS completedAt,
  exit_code AS exitCode, runner_run_id AS runnerRunId, stdout, stderr, error`

// Jobs kept per node, newest first: outputs are large, and the audit keeps who did what.
const KEPT = 100

const jobOf = (row: Row): LifecycleJob => present(row) as LifecycleJob

interface NewLifecycleJob {
  action: LifecycleAction
  id: string
  nodeAlias: string
  nodeId: string
  requestedBy: string
  targetHost: string
}

/** Lifecycle jobs: running, then succeeded or failed. */
export function lifecycleStore(db: Db) {
  const ofNode = db.stmt<{ nodeId: string }, Row>(
    `SELECT ${COLUMNS} FROM node_lifecycle_jobs WHERE node_id = @nodeId ORDER BY requested_at DESC, rowid DESC LIMIT ${KEPT}`,
  )
  const byId = db.stmt<{ id: string }, Row>(`SELECT ${COLUMNS} FROM node_lifecycle_jobs WHERE id = @id`)
  const running = db.stmt<object, Row>(`SELECT ${COLUMNS} FROM node_lifecycle_jobs WHERE status = 'running'`)
  const insert = db.stmt<Params>(
    `INSERT INTO node_lifecycle_jobs (id, node_id, node_alias, action, target_host, requested_at, requested_by)
     VALUES (@id, @nodeId, @nodeAlias, @action, @targetHost, @now, @requestedBy) ON CONFLICT DO NOTHING`,
  )
  const finish = db.stmt<Params>(
    `UPDATE node_lifecycle_jobs SET status = @status, completed_at = @now, exit_code = @exitCode, runner_run_id = @runnerRunId,
       stdout = coalesce(@stdout, stdout), stderr = coalesce(@stderr, stderr), error = @error, target_host = coalesce(@targetHost, target_host)
      WHERE id = @id AND status = 'running'`,
  )
  const setOutput = db.stmt<Params>(
    `UPDATE node_lifecycle_jobs SET stdout = @stdout, stderr = @stderr WHERE id = @id AND status = 'running'`,
  )
  const prune = db.stmt<{ nodeId: string }>(
    `DELETE FROM node_lifecycle_jobs WHERE node_id = @nodeId AND status <> 'running' AND rowid NOT IN
       (SELECT rowid FROM node_lifecycle_jobs WHERE node_id = @nodeId ORDER BY requested_at DESC, rowid DESC LIMIT ${KEPT})`,
  )

  const find = (id: string): LifecycleJob | undefined => {
    const row = byId.get({ id })
    return row && jobOf(row)
  }

  return {
    /** Newest first. */
    ofNode: (nodeId: string): LifecycleJob[] => ofNode.all({ nodeId }).map(jobOf),
    running: (): LifecycleJob[] => running.all({}).map(jobOf),
    /** @throws Fail 409 `lifecycle_job_running`: one at a time on a node. */
    create(job: NewLifecycleJob, now: string): LifecycleJob {
      if (insert.run({ ...job, now }) === 0)
        throw conflict('lifecycle_job_running', 'A lifecycle action is under way on this node: wait until it has ended')
      prune.run({ nodeId: job.nodeId })
      return find(job.id) as LifecycleJob
    },
    /** Sets the output so far of a running job; a job that has ended keeps its final output. */
    setOutput(id: string, { stderr, stdout }: Pick<Outcome, 'stderr' | 'stdout'>): void {
      setOutput.run({ id, stderr: stderr || null, stdout: stdout || null })
    },
    /** running -> succeeded or failed; undefined when it had ended before. */
    finish(id: string, outcome: Outcome, now: string): LifecycleJob | undefined {
      const { error, exitCode, runnerRunId, status, stderr, stdout, targetHost } = outcome
      const ended = finish.run({
        id,
        error: error ?? null,
        exitCode: exitCode ?? null,
        runnerRunId: runnerRunId ?? null,
        status,
        stderr: stderr || null,
        stdout: stdout || null,
        targetHost: targetHost ?? null,
        now,
      })
      return ended === 1 ? find(id) : undefined
    },
  }
}
export type LifecycleStore = ReturnType<typeof lifecycleStore>
