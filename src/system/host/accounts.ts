import * as fs from 'node:fs'

/** The ID of a local group (`/etc/group`); undefined when there is none of that name. */
export function groupId(name: string): number | undefined {
  const line = fs
    .readFileSync('/etc/group', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith(`${name}:`))
  const id = Number(line?.split(':')[2])
  return line !== undefined && Number.isInteger(id) ? id : undefined
}

/**
 * As root, does `work` with the rights of the owner and group of `dir`, so that links placed there cannot misuse root's
 * rights; as anybody else, simply does it. The rights are those of the whole process: `work` must be synchronous.
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
