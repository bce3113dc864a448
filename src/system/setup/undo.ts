// Undoes changes, newest first. Each may be incomplete, or undone already.
import * as fs from 'node:fs'
import { faultWords } from '../../kernel/words.ts'
import { replaceFile } from '../host/files.ts'
import { PLACES, UNITS, USERS } from '../host/places.ts'
import { agentDir, type HeldTakes, heldTakes } from '../host/takes.ts'
import { removeGroup, removeUser } from './accounts.ts'
import { type Change, type Journal, link } from './journal.ts'
import { installedPackages, removePackages } from './packages.ts'
import { known, resetFailed, systemctl, unitState } from './system.ts'

type Path = Extract<Change, { kind: 'path' }>

/** Where the takes are; determined before the settings that name the place are undone. */
type Takes = () => HeldTakes

const holdsTakes = (dir: string): boolean => `${PLACES.agentHome}/`.startsWith(`${dir}/`)

/** A directory with undelivered takes is kept. @returns what is kept, in words */
function undoPath({ path, was }: Path, takes: Takes): string | undefined {
  if (was.kind === 'nothing') {
    if (holdsTakes(path) && takes().undelivered > 0)
      return `${path}, which holds takes that the controller does not have`
    fs.rmSync(path, { force: true, recursive: true })
  } else if (was.kind === 'link') link(was.target, path)
  else {
    replaceFile(path, Buffer.from(was.content, 'base64'), was.mode)
    fs.chownSync(path, was.uid, was.gid)
  }
}

/** A running take is not cut: the agent then keeps running. */
async function undoUnit(change: Extract<Change, { kind: 'unit' }>, takes: Takes): Promise<string | undefined> {
  const { active, enabled, unit } = change
  if (!known(unit)) return
  const now = await unitState(unit)
  if (!enabled && now.enabled) await systemctl('disable', '--quiet', unit)
  if (active || !now.active) return active ? undefined : await resetFailed(unit).then(() => undefined)
  if (unit === UNITS.agent && takes().running > 0) return `${unit}, which is recording`
  await systemctl('stop', unit)
  await resetFailed(unit)
}

/** Where takes stay, so does their owner: the user ID must not be reused. */
async function undoAccount({ kind, name }: Extract<Change, { kind: 'group' | 'user' }>, takes: Takes) {
  if (name === USERS.agent && takes().undelivered > 0) return
  if (kind === 'user') await removeUser(name)
  else await removeGroup(name)
}

async function undoOne(change: Change, takes: Takes): Promise<string | undefined> {
  if (change.kind === 'path') return undoPath(change, takes)
  if (change.kind === 'unit') return await undoUnit(change, takes)
  if (change.kind !== 'packages') return await undoAccount(change, takes).then(() => undefined)
  const before = new Set(change.before)
  await removePackages((await installedPackages()).filter((name) => !before.has(name)))
}

const isService = (change: Change): boolean =>
  change.kind === 'unit' || (change.kind === 'path' && change.path.startsWith(PLACES.units))

/** Restarts what ran before with its restored files, unless a take is running. */
async function startedAnew({ changes }: Journal): Promise<void> {
  await systemctl('daemon-reload')
  for (const change of changes)
    if (change.kind === 'unit' && change.restart && heldTakes().running === 0) await systemctl('restart', change.unit)
}

/**
 * Restores the box as it was before the first change in the journal. What cannot be undone is skipped.
 * @returns what was left behind, in words
 */
export async function undoAll(journal: Journal): Promise<string[]> {
  journal.beginUndo()
  const dir = agentDir()
  const takes = () => heldTakes(dir)
  const left: string[] = []
  const telling = async (work: () => Promise<string | undefined>): Promise<void> => {
    const sentence = await work().catch((e: Error) => faultWords(e))
    if (sentence) left.push(sentence)
  }
  for (const change of journal.changes.toReversed()) await telling(() => undoOne(change, takes))
  if (journal.changes.some(isService)) await telling(() => startedAnew(journal).then(() => undefined))
  journal.close()
  return left
}
