import * as fs from 'node:fs'

/** The number of a group of this machine (`/etc/group`); undefined when it has none of that name. */
export function groupId(name: string): number | undefined {
  const line = fs
    .readFileSync('/etc/group', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith(`${name}:`))
  const id = Number(line?.split(':')[2])
  return line !== undefined && Number.isInteger(id) ? id : undefined
}

/**
 * Root does `work` with the rights of whoever owns `dir`, and no group but that owner's: what was put there must not lead
 * root anywhere else. Everybody else does it as they are. Nothing else of this process may run meanwhile: `work` must not wait.
 */
export function asOwnerOf<T>(dir: string, work: () => T): T {
  const owner = process.geteuid?.() === 0 ? fs.statSync(dir, { throwIfNoEntry: false }) : undefined
  if (!owner || owner.uid === 0) return work()
  const [gid, groups] = [process.getegid?.() as number, process.getgroups?.() ?? []]
  process.setgroups?.([owner.gid])
  process.setegid?.(owner.gid)
  process.seteuid?.(owner.uid)
  try {
    return work()
  } finally {
    process.seteuid?.(0)
    process.setegid?.(gid)
    process.setgroups?.(groups)
  }
}
