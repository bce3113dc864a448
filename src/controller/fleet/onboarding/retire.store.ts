import { conflict } from '../../../kernel/fail.ts'
import type { Db } from '../../store/db.ts'

/** Retires and reinstates nodes; call it in a transaction. */
export function retireStore(db: Db) {
  const retire = db.stmt<{ id: string; now: string }>(
    `UPDATE nodes SET status = 'retired', updated_at = @now WHERE id = @id AND status <> 'retired'`,
  )
  const reinstate = db.stmt<{ id: string; now: string }>(
    `UPDATE nodes SET status = 'provisioning', updated_at = @now WHERE id = @id AND status = 'retired'`,
  )
  const enabled = db.stmt<{ id: string }, { id: string }>(
    `SELECT id FROM schedules WHERE node_id = @id AND enabled = 1 ORDER BY id`,
  )
  const disable = db.stmt<{ id: string; now: string }>(
    `UPDATE schedules SET enabled = 0, next_run_at = NULL, slot_at = NULL, slot_date = NULL, updated_at = @now WHERE id = @id`,
  )
  const busy = db.stmt<{ id: string }, { id: string }>(
    `SELECT id FROM recording_jobs WHERE node_id = @id AND status IN ('queued', 'running', 'stop_requested') LIMIT 1`,
  )
  return {
    /** Schedules that were switched off; undefined when the node was retired before. @throws Fail 409 `node_recording` */
    retire(id: string, now: string): string[] | undefined {
      if (busy.get({ id }))
        throw conflict('node_recording', 'Node is recording or has a queued recording: stop it first')
      if (retire.run({ id, now }) !== 1) return undefined
      const schedules = enabled.all({ id }).map((schedule) => schedule.id)
      for (const schedule of schedules) disable.run({ id: schedule, now })
      return schedules
    },
    /** False when the node was not retired. */
    reinstate: (id: string, now: string): boolean => reinstate.run({ id, now }) === 1,
  }
}
export type RetireStore = ReturnType<typeof retireStore>
