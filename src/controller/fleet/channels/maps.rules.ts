import type { Assignment, ChannelMapEntry, Template } from '../../../wire/channels.ts'
import type { ChannelMode } from '../../../wire/profiles.ts'
import type { ChannelMap } from '../../../wire/recordings.ts'

/** Channels a map needs from the device, counted from the first: its highest included source. */
export const sourceChannels = (entries: readonly ChannelMapEntry[]): number =>
  Math.max(...entries.filter((e) => e.included).map((e) => e.sourceChannelIndex))

/** Whether a device has the channels; a count of 0 is unknown, and fits. */
export const fits = (entries: readonly ChannelMapEntry[], channelCount: number): boolean =>
  channelCount === 0 || sourceChannels(entries) <= channelCount

/** Output channels of a take rendered by this map (docs/contract/agent.md: Rendering). */
export function outputChannels({ channelMode, entries }: { channelMode: ChannelMode; entries: ChannelMapEntry[] }) {
  if (channelMode === 'mono') return 1
  if (channelMode === 'stereo' || channelMode === 'mono_to_stereo_mix') return 2
  const included = entries.filter((e) => e.included)
  const placed = included.flatMap((e) => e.outputChannelIndex ?? [])
  return placed.length > 0 ? Math.max(...placed) : included.length
}

/** An assigned map as a job carries it (docs/contract/agent.md: Channel maps). */
export const mapOf = (
  assignment: Pick<Assignment, 'id' | 'targetId' | 'targetType'>,
  template: Template,
): ChannelMap => ({
  assignmentId: assignment.id,
  channelMode: template.channelMode,
  entries: template.entries,
  sourceChannels: sourceChannels(template.entries),
  targetId: assignment.targetId,
  targetType: assignment.targetType,
  templateId: template.id,
  templateName: template.name,
})
