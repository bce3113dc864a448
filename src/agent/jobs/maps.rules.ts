import * as z from 'zod'
import { ChannelMode } from '../../wire/profiles.ts'
import type { AgentJob } from '../../wire/recordings.ts'

type Command = AgentJob['command']
type Map = NonNullable<Command['channelMap']>

const index = z.number().int().min(1)
const Assigned = z.object({
  assignment: z.object({ targetId: z.string(), targetType: z.enum(['interface', 'node']) }),
  template: z.object({
    channelMode: ChannelMode,
    entries: z
      .array(
        z.object({
          included: z.boolean(),
          label: z.string().catch(''),
          outputChannelIndex: index.nullish().transform((n) => n ?? undefined),
          sourceChannelIndex: index,
        }),
      )
      .max(128),
  }),
})

/**
 * The map a job takes of those that are assigned (docs/contract/agent.md: Channel maps): its interface's, else its node's. One
 * that cannot be read, or includes no channel, is none.
 */
export function assignedMap(answers: readonly unknown[], { command, nodeId }: AgentJob): Map | undefined {
  const assigned = answers.flatMap((answer) => Assigned.safeParse(answer).data ?? [])
  const own = [command.captureInterfaceId, command.captureDevice]
  const hit =
    assigned.find(({ assignment }) => assignment.targetType === 'interface' && own.includes(assignment.targetId)) ??
    assigned.find(({ assignment }) => assignment.targetType === 'node' && assignment.targetId === nodeId)
  const sources = hit?.template.entries.filter((e) => e.included).map((e) => e.sourceChannelIndex) ?? []
  if (!hit || sources.length === 0) return undefined
  return { ...hit.template, sourceChannels: Math.max(...sources) }
}
