// Takes changes back, newest first. Each of them may have been begun only, or taken back already.
import * as fs from 'node:fs'
import { replaceFile } from '../host/files.ts'
import { PLACES } from '../host/places.ts'
import { heldTakes } from '../host/takes.ts'
import { type Change, type Journal, link } from './journal.ts'
import { installedPackages, removePackages } from './packages.ts'
import { groupExists, known, systemctl, tool, unitState, userExists } from './system.ts'

type Path = Extract<Change, { kind: 'path' }>

/** Where a take nobody else has would be lost, the directory stays. @returns what stays, in words. */
function undoPath({ path, was }: Path): string | undefined {
  if (was.kind === 'nothing') {
    if (PLACES.agentHome.startsWith(path) && heldTakes().undelivered > 0)
      return `${path} stays: it holds takes that the controller does not have`
    fs.rmSync(path, { force: true, recursive: true })
  } else if (was.kind === 'link') link(was.target, path)
  else {
    replaceFile(path, Buffer.from(was.content, 'base64'), was.mode)
    fs.chownSync(path, was.uid, was.gid)
  }
}

async function undoUnit({ active, enabled, unit }: Extract<Change, { kind: 'unit' }>): Promise<void> {
  if (!known(unit)) return
  const now = await unitState(unit)
  if (!active && now.active) await systemctl('stop', unit)
  if (!enabled && now.enabled) await systemctl('disable', unit)
  if (!active) await systemctl('reset-failed', unit)
}

async function undoOne(change: Change): Promise<string | undefined> {
  if (change.kind === 'path') return undoPath(change)
  if (change.kind === 'unit') await undoUnit(change)
  if (change.kind === 'user' && (await userExists(change.name))) await tool('userdel', [change.name])
  if (change.kind === 'group' && (await groupExists(change.name))) await tool('groupdel', [change.name])
  if (change.kind !== 'packages') return undefined
  const before = new Set(change.before)
  await removePackages((await installedPackages()).filter((name) => !before.has(name)))
}

const isService = (change: Change): boolean =>
  change.kind === 'unit' || (change.kind === 'path' && change.path.startsWith(PLACES.units))

/** What ran goes on with the files it had; a take that runs is not cut for that. */
async function startedAnew({ changes }: Journal): Promise<void> {
  await systemctl('daemon-reload')
  for (const change of changes)
    if (change.kind === 'unit' && change.restart && heldTakes().running === 0) await systemctl('restart', change.unit)
}

/**
 * Leaves the box as it was before the first change of the journal. What cannot be taken back is told and does not keep
 * the rest from it; @returns those sentences.
 */
export async function undoAll(journal: Journal): Promise<string[]> {
  journal.beginUndo()
  const left: string[] = []
  const telling = async (work: () => Promise<string | undefined>): Promise<void> => {
    const sentence = await work().catch((e: Error) => e.message)
    if (sentence) left.push(sentence)
  }
  for (const change of journal.changes.toReversed()) await telling(() => undoOne(change))
  if (journal.changes.some(isService)) await telling(() => startedAnew(journal).then(() => undefined))
  journal.close()
  return left
}
