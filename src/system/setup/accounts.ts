// Users and directories, created by systemd-sysusers and systemd-tmpfiles from the files the Debian package ships.
import { assetKeys, assetText } from '../../kernel/assets.ts'
import type { Step } from './journal.ts'
import { type Journal, stands } from './journal.ts'
import { groupExists, tool, userExists } from './system.ts'

/** A file of systemd/ by what it is: `sysusers`, `tmpfiles`, `sudoers`. */
export function shipped(kind: string): string {
  const key = assetKeys('systemd').find((name) => name.includes(kind))
  if (key === undefined) throw new Error(`This executable contains no ${kind} file.`)
  return assetText(key)
}

/** Lines of sysusers.d(5) and tmpfiles.d(5) whose first word begins with one of `types`; the second words. */
const named = (text: string, types: string): string[] =>
  text.split('\n').flatMap((line) => {
    const [type = '', name = ''] = line.trim().split(/\s+/)
    return type !== '' && types.includes(type[0] as string) ? [name] : []
  })

async function missingOf(names: string[], exists: (name: string) => Promise<boolean>): Promise<string[]> {
  const there = await Promise.all(names.map(exists))
  return names.filter((_, i) => !there[i])
}

const missingUsers = (text: string) => missingOf(named(text, 'u'), userExists)
const missingGroups = (text: string) => missingOf([...named(text, 'u'), ...named(text, 'g')], groupExists)
const missingDirectories = (text: string) => named(text, 'dD').filter((dir) => !stands(dir))

async function makeUsers(text: string, journal: Journal): Promise<void> {
  for (const name of await missingGroups(text)) journal.record({ kind: 'group', name })
  for (const name of await missingUsers(text)) journal.record({ kind: 'user', name })
  await tool('systemd-sysusers', ['-'], { input: text })
}

async function makeDirectories(text: string, journal: Journal): Promise<void> {
  for (const dir of missingDirectories(text)) journal.keepDirectory(dir)
  await tool('systemd-tmpfiles', ['--create', '-'], { input: text })
}

/** Existing users, groups and directories of these names stay as they are. */
export function accountsStep(): Step {
  const [users, directories] = [shipped('sysusers'), shipped('tmpfiles')]
  return {
    name: 'users and directories',
    done: async () =>
      (await missingUsers(users)).length + (await missingGroups(users)).length === 0 &&
      missingDirectories(directories).length === 0,
    async apply(journal) {
      await makeUsers(users, journal)
      await makeDirectories(directories, journal)
    },
  }
}

/**
 * Forced: over SSH this user's own session asks for it, and one of its processes may still be ending.
 * @returns whether it existed @throws UserError with the system's own message
 */
export async function removeUser(name: string): Promise<boolean> {
  const there = await userExists(name)
  if (there) await tool('userdel', ['--force', name])
  return there
}

/** @throws UserError with the system's own message */
export async function removeGroup(name: string): Promise<void> {
  if (await groupExists(name)) await tool('groupdel', [name])
}

/** User and group numbers of an account. @throws UserError when there is none. */
export async function idsOf(name: string): Promise<{ gid: number; uid: number }> {
  const [, , uid, gid] = (await tool('getent', ['passwd', name])).split(':')
  return { gid: Number(gid), uid: Number(uid) }
}
