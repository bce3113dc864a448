import type { Interface, Node } from '../../wire/nodes.ts'

/** The channels of a device as a strip names them: by their aliases, or by number where the device has told of none. */
export function namedChannels(
  { channels, channelCount }: Pick<Interface, 'channelCount' | 'channels'>,
  word: (n: number) => string,
) {
  if (channels.length === 0)
    return Array.from({ length: channelCount }, (_, i) => ({ index: i + 1, label: word(i + 1) }))
  return channels.map(({ alias, index }) => ({ index, label: alias || word(index) }))
}

/** Devices that can be heard now. */
export const present = ({ interfaces }: Node): Interface[] => interfaces.filter(({ absent }) => !absent)
