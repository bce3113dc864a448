// Several rooms on one stick: which entries may be this box.
import { UserError } from '../../kernel/fail.ts'
import type { BoxMatch, SetupEntry, SetupFile } from '../../wire/provision.ts'

/** What a box is known by. Everything in lower case. */
export interface Box {
  hostname: string
  macs: string[]
  serials: string[]
}

/** Everything that is given fits. A host name fits with and without its domain. */
function fits({ hostname, mac, serial }: BoxMatch, box: Box): boolean {
  const [name] = box.hostname.split('.')
  return (
    (!hostname || [box.hostname, name].includes(hostname.toLowerCase())) &&
    (!mac || box.macs.includes(mac)) &&
    (!serial || box.serials.includes(serial.toLowerCase()))
  )
}

/**
 * The entries made for this very box; without one, those made for nobody in particular, in the order of the file.
 * @throws UserError when there are neither.
 */
export function candidates({ nodes }: SetupFile, box: Box): SetupEntry[] {
  const own = nodes.filter(({ match }) => match && fits(match, box))
  const free = nodes.filter(({ match }) => !match)
  if (own.length > 0 || free.length > 0) return own.length > 0 ? own : free
  if (nodes.length === 0) throw new UserError('Every entry of this stick has been taken: make a new one.')
  const known = [`host name ${box.hostname}`, ...box.macs.map((mac) => `mac ${mac}`), ...box.serials.map(serial)]
  throw new UserError(`No entry of this stick is for this box (${known.join(', ')}).`)
}

const serial = (text: string): string => `serial ${text}`

/** What people call the node of an entry. */
export const called = ({ alias, nodeId }: SetupEntry): string => (alias ? `"${alias}" (${nodeId})` : nodeId)

/** Why the controller did not want the token of an entry. The box's clock only chooses the words: it may be wrong. */
export function spentWords(entry: SetupEntry, now: string): string {
  return entry.expiresAt <= now
    ? `The token for ${called(entry)} expired at ${entry.expiresAt}: make a new stick.`
    : `The token for ${called(entry)} has been used already, or was taken back: make a new stick if this box needs one.`
}

/** The file without the entry that was taken: a spent token stays nowhere. */
export const without = (file: SetupFile, nodeId: string): SetupFile => ({
  ...file,
  nodes: file.nodes.filter((entry) => entry.nodeId !== nodeId),
})
