import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Runner } from '../scheduler/ticker.ts'
import type { TargetIndex } from './index.store.ts'

const EVERY_SECONDS = 10
// Some milliseconds; a pass ends so that a stop need not wait for a backlog.
const BATCH = 100
const BATCHES = 1000

/** Makes new targets of the audit searchable by index; until then a search looks at each of them. Nothing to be audited. */
export const targetIndexRunner = (index: TargetIndex): Runner => ({
  name: 'audit-index',
  enabled: true,
  intervalSeconds: EVERY_SECONDS,
  tick: async () => {
    let batches = 0
    while (batches < BATCHES && index.advance(BATCH)) {
      batches++
      await nextTurn()
    }
    return { batches }
  },
})
