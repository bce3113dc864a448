// Which entries of a stick may be for this box.
import { UserError } from '../../kernel/fail.ts'
import type { BoxMatch, SetupEntry, SetupFile } from '../../wire/provision.ts'

/** What identifies a box; all in lower case. */
export interface Box {
  hostname: string
  macs: string[]
  serials: string[]
}

/** Whether all given criteria match. A host name matches with and without its domain. */
function fits({ hostname, mac, serial }: BoxMatch, box: Box): boolean {
  const [name] = box.hostname.split('.')
  return (
    (!hostname || [box.hostname, name].includes(hostname.toLowerCase())) &&
    (!mac || box.macs.includes(mac)) &&
    (!serial || box.serials.includes(serial.toLowerCase()))
  )
}

/**
 * The entries for this very box, or else those for any box, in the order of the file.
 * @throws UserError when there are neither.
 */
export function candidates({ nodes }: SetupFile, box: Box): SetupEntry[] {
  const own = nodes.filter(({ match }) => match && fits(match, box))
  const free = nodes.filter(({ match }) => !match)
  if (own.length > 0 || free.length > 0) return own.length > 0 ? own : free
  if (nodes.length === 0) throw new UserError('All entries of this stick have been used: write a new stick.')
  const known = [`host name ${box.hostname}`, ...box.macs.map((mac) => `mac ${mac}`), ...box.serials.map(serial)]
  throw new UserError(`No entry of this stick is for this box (${known.join(', ')}).`)
}

const serial = (text: string): string => `serial ${text}`

/** The node of an entry, for people. */
export const called = ({ alias, nodeId }: SetupEntry): string => (alias ? `"${alias}" (${nodeId})` : nodeId)

/** Why the controller refused the token of an entry. The box's clock may be wrong, and only affects the wording. */
export function spentWords(entry: SetupEntry, now: string): string {
  return entry.expiresAt <= now
    ? `The token for ${called(entry)} expired at ${entry.expiresAt}: write a new stick.`
    : `The token for ${called(entry)} has been used already, or was revoked: write a new stick if this box needs one.`
}

/** The file without the entry that was used. */
export const without = (file: SetupFile, nodeId: string): SetupFile => ({
  ...file,
  nodes: file.nodes.filter((entry) => entry.nodeId !== nodeId),
})
