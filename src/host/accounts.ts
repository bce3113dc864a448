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
