import type { UserError } from '../../kernel/fail.ts'
import { maintenanceError } from './error.ts'

/** Why the agent is not in service. */
export interface Fault {
  /** It runs, but is not online. */
  runs: boolean
  /** As in "with the new version, ...". */
  words: string
}

/** The error of an action that was rolled back. A box that runs what it ran before counts as unchanged, online or not. */
export function rolledBack(failed: string, before: string, worse: Fault | undefined): UserError {
  if (!worse) return maintenanceError('failed', `${failed} The node is in service again with ${before}.`)
  if (worse.runs)
    return maintenanceError(
      'failed',
      `${failed} The node runs again with ${before}, but again ${worse.words}: check whether the controller answers.`,
    )
  return maintenanceError('broken', `${failed} Also with ${before}, ${worse.words}: this box needs attention.`)
}
