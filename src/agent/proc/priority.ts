import * as os from 'node:os'

/** Lets the captures go first. `pid` 0: the calling thread, as Linux has it. */
export function lowerPriority(pid: number): void {
  try {
    os.setPriority(pid, os.constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // Gone already, or not allowed: only a courtesy.
  }
}
