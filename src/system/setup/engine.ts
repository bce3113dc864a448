// Runs steps in order, and undoes all of them when one fails: a box is set up, or as it was.

import { UserError } from '../../kernel/fail.ts'
import { systemWords } from '../../kernel/words.ts'
import { lock } from '../host/lock.ts'
import { NotStarted } from '../host/run.ts'
import { Journal, type Step } from './journal.ts'
import type { SetupDone, SetupParts } from './options.ts'
import { undoAll } from './undo.ts'

export const JOURNAL_DIR = '/var/lib/roomtone-setup'

/** Paths of a setup's journal and lock. */
export interface SetupPlaces {
  journal: string
  lock: string
}

const BOX: SetupPlaces = { journal: JOURNAL_DIR, lock: '/run/roomtone-setup.lock' }

/**
 * Two setups at once would undo each other's changes. The kernel releases the lock when the process ends. @throws UserError
 */
export async function exclusively<T>(work: () => Promise<T>, places: SetupPlaces = BOX): Promise<T> {
  const held = await lock(places.lock).catch((e: Error) => {
    throw new UserError(e.message)
  })
  if (!held) throw new UserError('another setup is running on this box: wait until it has finished')
  try {
    return await work()
  } finally {
    held.release()
  }
}

async function takenBack(journal: Journal, say: SetupParts['say']): Promise<void> {
  const left = await undoAll(journal)
  for (const sentence of left) say(`Left behind: ${sentence}.`)
}

/** A disk error or a missing program as a UserError; a bug stays as it is. */
function inWords(e: unknown, step: Step): unknown {
  if (e instanceof NotStarted) return new UserError(`${step.name}: ${e.message}, and run this again`)
  const words = systemWords(e)
  return words === undefined ? e : new UserError(`${step.name}: ${words}`)
}

async function apply(step: Step, journal: Journal): Promise<void> {
  try {
    await step.apply(journal)
  } catch (e) {
    throw inWords(e, step)
  }
}

async function applied(steps: Step[], journal: Journal, { say, signal }: SetupParts): Promise<string[]> {
  const changed: string[] = []
  for (const step of steps) {
    signal.throwIfAborted()
    if (await step.done()) continue
    signal.throwIfAborted()
    say(`${step.name} ...`)
    await apply(step, journal)
    changed.push(step.name)
  }
  signal.throwIfAborted()
  return changed
}

/**
 * Applies the steps that are not done yet. An interrupted run (power cut, kill -9) is continued; one that was interrupted
 * while undoing its changes is undone first. @throws UserError, or the signal's reason, once everything this run and the
 * interrupted one changed has been undone
 */
export const runSteps = (steps: Step[], parts: SetupParts, places: SetupPlaces = BOX): Promise<SetupDone> =>
  exclusively(() => applyOrTakeBack(steps, parts, new Journal(places.journal)), places)

async function applyOrTakeBack(steps: Step[], parts: SetupParts, journal: Journal): Promise<SetupDone> {
  const { say } = parts
  if (journal.undoing) await takenBack(journal, say)
  else if (journal.changes.length > 0) say('An earlier setup was interrupted: continuing it.')
  try {
    const changed = await applied(steps, journal, parts)
    journal.close()
    return { changed }
  } catch (e) {
    if (journal.changes.length > 0) say('Undoing the changes ...')
    await takenBack(journal, say)
    throw e
  }
}

/**
 * Completes an interrupted undo. Call it before reading anything from the box, which is in neither state until then.
 */
export const finishUndo = ({ say }: SetupParts, places: SetupPlaces = BOX): Promise<void> =>
  exclusively(async () => {
    const journal = new Journal(places.journal)
    if (journal.undoing) await takenBack(journal, say)
  }, places)

/** Undoes an interrupted run. Call it within `exclusively`. */
export async function takeBackUnfinished({ say }: SetupParts): Promise<void> {
  const journal = new Journal(JOURNAL_DIR)
  if (journal.changes.length > 0) say('An earlier setup was interrupted: undoing it first.')
  await takenBack(journal, say)
}
