import * as z from 'zod'
import type { Node } from './nodes.ts'
import { CAPABILITIES, type Capability } from './permissions.ts'
import type { Recording } from './recordings.ts'
import { clientId, prose, someField, text } from './scalars.ts'

const optional = { building: text(0, 160), description: prose(0, 2000), floor: text(0, 160), notes: prose(0, 4000) }

export const RoomInput = z.object({
  ...z.object(optional).partial().shape,
  id: clientId.optional(),
  name: text(1, 160),
  site: text(1, 160),
})
export type RoomInput = z.infer<typeof RoomInput>

const nullable = z.object({
  building: optional.building.nullable(),
  description: optional.description.nullable(),
  floor: optional.floor.nullable(),
  notes: optional.notes.nullable(),
})
/** A blank name or site keeps the old one. */
export const RoomPatch = z
  .object({ ...nullable.shape, name: text(0, 160), site: text(0, 160) })
  .partial()
  .refine(someField, 'At least one room field is required')
export type RoomPatch = z.infer<typeof RoomPatch>

export const RosterUpdate = z.object({
  entries: z
    .array(
      z.object({
        capabilities: z.array(z.enum(CAPABILITIES)).max(CAPABILITIES.length),
        subjectId: text(1, 160),
        subjectType: z.enum(['user', 'group']),
      }),
    )
    .max(500),
})
export type RosterUpdate = z.infer<typeof RosterUpdate>

export interface Room {
  building?: string
  createdAt: string
  description?: string
  floor?: string
  id: string
  name: string
  nodeCount?: number
  notes?: string
  site: string
  updatedAt: string
}

/** A recording to come. */
export interface Upcoming {
  /** Absent when nothing but somebody ends it. */
  recordingEndAt?: string
  recordingStartAt: string
  scheduleId: string
  scheduleName: string
}

export interface RoomOverview {
  /** Whole for who holds the node; others see of a shared node what is in the room. */
  nodes: Node[]
  recentRecordings: Recording[]
  room: Room
  upcoming: Upcoming[]
}

export interface RosterEntry {
  capabilities: Capability[]
  source: 'manual' | 'calendar'
  sourceScheduleId?: string
  subjectId: string
  subjectName?: string
  subjectType: 'user' | 'group'
}
