import type { UserError } from '../../kernel/fail.ts'
import { maintenanceError } from './error.ts'

/** Why the agent is not in service. */
export interface Fault {
  /** It runs, and is not heard. */
  runs: boolean
  /** As in "with the new version, ...". */
  words: string
}

/** How an action ends that went back. A box that runs what it ran before is as it was, whether or not somebody hears it. */
export function rolledBack(failed: string, before: string, worse: Fault | undefined): UserError {
  if (!worse) return maintenanceError('failed', `${failed} The node is in service again with ${before}.`)
  if (worse.runs)
    return maintenanceError(
      'failed',
      `${failed} The node runs again with ${before}, and with that, too, ${worse.words}: does the controller answer at all?`,
    )
  return maintenanceError('broken', `${failed} Also with ${before}, ${worse.words}: this box needs attention.`)
}
