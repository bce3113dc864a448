import * as z from 'zod'
import { ChannelMode } from './profiles.ts'
import { clientId, prose, someField, text } from './scalars.ts'

/** A source of the device and where it goes; without an output the order of the sources decides. */
export const ChannelMapEntry = z.object({
  included: z.boolean(),
  label: text(1, 160),
  // Beyond 256 outputs no container of ours goes.
  outputChannelIndex: z.number().int().min(1).max(256).optional(),
  sourceChannelIndex: z.number().int().min(1).max(512),
})
export type ChannelMapEntry = z.infer<typeof ChannelMapEntry>

const Entries = z
  .array(ChannelMapEntry)
  .min(1)
  .max(128)
  // A map that includes nothing would make a take without a channel.
  .refine((entries) => entries.some((e) => e.included), 'at least one entry must be included')
const Tags = z.array(text(1, 80)).max(64)

export const TemplateInput = z.object({
  channelMode: ChannelMode.default('mono_to_stereo_mix'),
  entries: Entries,
  id: clientId.optional(),
  name: text(1, 160),
  tags: Tags.default([]),
})
export type TemplateInput = z.infer<typeof TemplateInput>

export const TemplatePatch = z
  .object({
    channelMode: ChannelMode.optional(),
    entries: Entries.optional(),
    name: text(1, 160).optional(),
    tags: Tags.optional(),
  })
  .refine(someField, 'At least one template field is required')
export type TemplatePatch = z.infer<typeof TemplatePatch>

const TARGET_TYPES = ['interface', 'node'] as const
export const MapTarget = z.object({ targetId: text(1, 160), targetType: z.enum(TARGET_TYPES) })
export type MapTarget = z.infer<typeof MapTarget>
const Targets = z.array(MapTarget).min(1).max(128)
const templateId = text(1, 160)

export const AssignmentInput = z.object({ ...MapTarget.shape, templateId })
export const BulkAssignment = z.object({ targets: Targets, templateId })
export const PlanInput = z.object({ note: prose(0, 500).optional(), targets: Targets, templateId })
export type PlanInput = z.infer<typeof PlanInput>

export interface Template {
  channelMode: ChannelMode
  entries: ChannelMapEntry[]
  id: string
  name: string
  promotedAt?: string
  promotedFromTemplateId?: string
  revision: number
  tags: string[]
}

export interface AssignmentEvent {
  actorUserId?: string
  changedAt: string
  id: string
  nextTemplateId: string
  previousTemplateId?: string
  reason: 'assigned' | 'rolled_back'
}

/** The map of one target. `history` is oldest first and ends with the newest hundred changes. */
export interface Assignment extends MapTarget {
  assignedAt: string
  history: AssignmentEvent[]
  id: string
  templateId: string
}

const PLAN_STATUSES = ['pending', 'applied', 'cancelled'] as const
export interface AssignmentPlan {
  appliedAt?: string
  appliedByUserId?: string
  cancelledAt?: string
  createdAt: string
  createdByUserId?: string
  id: string
  note?: string
  status: (typeof PLAN_STATUSES)[number]
  targets: MapTarget[]
  templateId: string
}
