import type { Db } from '../store/db.ts'

/** Which node a recording or schedule belongs to. */
export function provenanceStore(db: Db) {
  const owner = {
    recording: db.stmt<{ id: string }, { nodeId: string | null }>(
      `SELECT node_id AS nodeId FROM recordings WHERE id = @id`,
    ),
    schedule: db.stmt<{ id: string }, { nodeId: string | null }>(
      `SELECT node_id AS nodeId FROM schedules WHERE id = @id`,
    ),
  }
  return {
    /** Node id of a recording or schedule; '' when it has none, undefined when it does not exist. */
    ownerOf(kind: 'recording' | 'schedule', id: string): string | undefined {
      const row = owner[kind].get({ id })
      return row && (row.nodeId ?? '')
    },
  }
}
export type ProvenanceStore = ReturnType<typeof provenanceStore>
