import { conflict } from '../../kernel/fail.ts'
import type { Db } from '../store/db.ts'
import type { Visibility } from './visibility.ts'

type Kind = 'room' | 'schedule'

/**
 * Ids that a room or schedule has, or had before it was deleted. What is kept about it (audit rows, alerts) is shown by its id:
 * somebody who does not see everything must not come by it by making the next one of that id.
 */
export function usedIds(db: Db, kind: Kind) {
  const made = db.stmt<{ id: string }, object>(
    `SELECT 1 FROM audit_events
      WHERE target_type = '${kind}' AND target_id = @id AND action = '${kind}s.create.succeeded' LIMIT 1`,
  )
  return {
    /** @throws Fail 409 `id_used_before`. */
    mustBeNew(visible: Visibility, id: string | undefined): void {
      if (id === undefined || visible.unrestricted || !made.get({ id })) return
      throw conflict('id_used_before', `A ${kind} with this id exists or existed: choose another id, or leave it out`)
    },
  }
}
export type UsedIds = ReturnType<typeof usedIds>
