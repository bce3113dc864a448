import type { Db } from '../../store/db.ts'

/** An agent that started, as the controller heard of it. */
export interface Start {
  /** Number of the report among all that arrived. */
  doc: number
  /** By the controller's clock. */
  heardAt: string
  nodeId: string
}

/** A standing event of a recorder, about no take. */
export interface Fault {
  device: string | null
  doc: number
  id: string
  interfaceId: string | null
  /** When the agent last said it again, by the controller's clock. */
  repeatedAt: string | null
  type: string
}

/** What recorders told before and after their agents started. */
export function forgottenStore(db: Db) {
  // A report that only informs is resolved as it arrives: this is when the controller heard of the start.
  const starts = db.stmt<{ from: string; to: string }, Start>(
    `SELECT node_id AS nodeId, max(doc) AS doc, max(resolved_at) AS heardAt FROM health_events INDEXED BY health_resolved
      WHERE resolved_at > @from AND resolved_at <= @to AND type = 'agent.started' AND node_id IS NOT NULL GROUP BY node_id`,
  )
  const faults = db.stmt<{ nodeId: string; types: string }, Fault>(
    `SELECT h.id, h.type, h.doc, h.details ->> '$.device' AS device, h.details ->> '$.interfaceId' AS interfaceId,
       h.details ->> '$.repeatedAt' AS repeatedAt
      FROM health_events h INDEXED BY health_standing
      WHERE h.node_id = @nodeId AND h.type > 'agent.' AND h.type < 'agent/' AND h.status <> 'resolved' AND h.recording_id IS NULL
        AND (h.type GLOB 'agent.*.sync_failed' OR h.type IN (SELECT value FROM json_each(@types)))`,
  )
  return {
    /** The newest start of each agent, of those that the controller heard of within a span of time. */
    starts: (from: string, to: string): Start[] => starts.all({ from, to }),
    /** Standing faults of these types, and those of exchanges with the controller. */
    faults: (nodeId: string, types: readonly string[]): Fault[] => faults.all({ nodeId, types: JSON.stringify(types) }),
  }
}
export type ForgottenStore = ReturnType<typeof forgottenStore>
