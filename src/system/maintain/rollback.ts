// A change of a box that is undone when it does not prove itself.
import { faultWords } from '../../kernel/words.ts'
import { type Fault, rolledBack } from './rollback.rules.ts'

/** A change, and how to roll it back when it fails. */
export interface Change {
  back: () => Promise<void>
  /** What a rollback returns to, as in "the old token". */
  before: string
  /** Called once the change has proved itself. */
  keep?: () => Promise<void>
  on: () => Promise<void>
  /** As in "the new token". */
  what: string
}

type Step = () => Promise<Fault | undefined>

/** The service the change is for. */
interface Service {
  /** Restarts it, also where takes have begun. */
  replace: Step
  restart: Step
  /** With the change. */
  untilOnline: Step
  /** After the rollback. */
  untilOnlineAgain: Step
}

/**
 * Applies a change, restarts the service, and rolls back when any of it fails. Only a service that was seen to run again
 * counts as unchanged. @throws UserError
 */
export async function changeOrRollBack(
  { say }: { say: (line: string) => void },
  { back, before, keep, on, what }: Change,
  { replace, restart, untilOnline, untilOnlineAgain }: Service,
): Promise<void> {
  const fault = await tried(on, restart, untilOnline, async () => await keep?.())
  if (!fault) return
  const failed = `With ${what}, ${fault.words}.`
  say(`${failed} Going back to ${before} ...`)
  throw rolledBack(failed, before, await tried(back, replace, untilOnlineAgain))
}

/** The first fault of some steps; an error is one, too. */
export async function tried(...steps: (Step | (() => Promise<void>))[]): Promise<Fault | undefined> {
  try {
    for (const step of steps) {
      const fault = await step()
      if (fault) return fault
    }
    return undefined
  } catch (e) {
    return { runs: false, words: `it could not be put in service: ${faultWords(e)}` }
  }
}
