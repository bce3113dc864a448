import * as z from 'zod'
import { isZone } from '../kernel/zones.ts'
import { AccessPage, clamped } from './access.ts'
import type { ForesightKind } from './foresight.ts'
import { CAPTURE_BACKENDS, CaptureBackend } from './nodes.ts'
import { ChannelMode } from './profiles.ts'
import { clientId, prose, query, someField, text } from './scalars.ts'

export const WEEKDAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const

/** Exceptions a schedule may carry at once. */
export const MAX_EXCEPTIONS = 366
/** Longest `once`, seconds: 31 days. */
export const LONGEST_SECONDS = 2_678_400

const distinct = <T>(list: T[]): T[] => [...new Set(list)]
const Reason = prose(0, 240).optional()

/** The reason of an exception that stands for an occurrence that was moved. */
export type MovedAway = 'moved'

export const Exception = z.discriminatedUnion('action', [
  z.object({
    action: z.literal('skip'),
    date: z.iso.date(),
    /** The schedule its occurrence became, where it was moved. */
    movedTo: text(1, 160).optional(),
    reason: Reason,
  }),
  z
    .object({ action: z.literal('pause'), startDate: z.iso.date(), endDate: z.iso.date(), reason: Reason })
    .refine((pause) => pause.endDate >= pause.startDate, 'endDate lies before startDate'),
])
export type Exception = z.infer<typeof Exception>

const buffer = z.number().int().min(0).max(86_400).optional()
const common = {
  exceptions: z.array(Exception).max(MAX_EXCEPTIONS).optional(),
  /** Recording starts so many seconds before the scheduled start ... */
  startEarlySeconds: buffer,
  /** ... and ends so many after the scheduled end. */
  stopLateSeconds: buffer,
}
const timeOfDay = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'expected a time from 00:00 to 23:59')
const times = { endTime: timeOfDay, startTime: timeOfDay }
const every = (most: number) => z.number().int().min(1).max(most).default(1)
const days = z.array(z.enum(WEEKDAYS)).min(1).max(7).transform(distinct)
/** Any date text; whether it is a date is told apart, with its own reason. */
const dateText = text(1, 64)

/** Local wall times in the schedule's zone; `once` names an instant. */
export const Recurrence = z.discriminatedUnion('mode', [
  z.object({ mode: z.literal('manual'), ...common }),
  z.object({
    mode: z.literal('once'),
    startsAt: dateText,
    durationSeconds: z.number().int().min(1).max(LONGEST_SECONDS).optional(),
    ...common,
  }),
  z.object({ mode: z.literal('daily'), interval: every(366), ...times, ...common }),
  z.object({ mode: z.literal('weekly'), interval: every(104), daysOfWeek: days, ...times, ...common }),
  z.object({
    mode: z.literal('monthly'),
    interval: every(120),
    /** Clamped to the length of the month. */
    dayOfMonth: z.number().int().min(1).max(31),
    ...times,
    ...common,
  }),
  z.object({ mode: z.literal('always_on'), ...common }),
])
export type Recurrence = z.infer<typeof Recurrence>

const ids = (most: number) => z.array(text(1, 160)).max(most).transform(distinct)

const fields = {
  name: text(1, 160),
  enabled: z.boolean(),
  nodeId: text(1, 160),
  captureInterfaceId: text(1, 160).nullable(),
  /** Judged against the interface, with reasons of its own. */
  captureChannelSelection: z
    .array(z.number().int())
    .max(512)
    .refine((list) => new Set(list).size === list.length, 'channels must be unique')
    .nullable(),
  captureBackend: CaptureBackend.nullable(),
  channelMode: ChannelMode.nullable(),
  room: text(1, 160),
  recordingProfileId: text(1, 160),
  watchdogPolicyId: text(1, 160),
  retentionPolicyId: text(1, 160),
  uploadPolicyIds: ids(32),
  assignedUserIds: ids(256),
  assignedGroupIds: ids(128),
  tags: z.array(text(1, 80)).max(64).transform(distinct),
  timezone: text(1, 80).refine(isZone, 'expected an IANA time zone'),
  titleTemplate: text(1, 500),
  folderTemplate: text(1, 500),
  recurrence: Recurrence,
  nextRunAt: dateText,
}

const optional = {
  enabled: true,
  captureInterfaceId: true,
  captureChannelSelection: true,
  captureBackend: true,
  channelMode: true,
  recordingProfileId: true,
  retentionPolicyId: true,
  uploadPolicyIds: true,
  assignedUserIds: true,
  assignedGroupIds: true,
  tags: true,
  recurrence: true,
  nextRunAt: true,
  watchdogPolicyId: true,
} as const

/** Unknown keys are dropped; `roomId` is derived from the channels. */
export const ScheduleInput = z.object({ ...z.object(fields).partial(optional).shape, id: clientId.optional() })
export type ScheduleInput = z.infer<typeof ScheduleInput>

/** Null clears; only the four capture fields can be cleared. */
export const SchedulePatch = z.object(fields).partial().refine(someField, 'At least one schedule field is required')
export type SchedulePatch = z.infer<typeof SchedulePatch>

const filters = {
  captureBackend: query(z.enum(CAPTURE_BACKENDS)),
  captureInterfaceId: query(text(1, 160)),
  enabled: query(z.enum(['true', 'false'])),
  nodeId: query(text(1, 160)),
  search: query(text(1, 240)),
}
export const ScheduleFilters = z.object(filters)
export type ScheduleFilters = z.infer<typeof ScheduleFilters>

export const ScheduleList = z.object({ ...filters, ...AccessPage.shape })
export type ScheduleList = z.infer<typeof ScheduleList>

const calendarFilters = {
  ...filters,
  /** Those the caller is assigned to, in person or through a group. */
  mine: query(z.literal('1')),
  roomId: query(text(1, 160)),
  scheduleId: query(text(1, 160)),
  /** Site of its room; where it has none, of its node. */
  site: query(text(1, 160)),
}
export const CalendarFilters = z.object(calendarFilters)
export type CalendarFilters = z.infer<typeof CalendarFilters>

/** The window is judged apart, with reasons of its own. */
export const CalendarQuery = z.object({
  ...calendarFilters,
  end: query(z.string().max(64)),
  start: query(z.string().max(64)),
})
export type CalendarQuery = z.infer<typeof CalendarQuery>

export const OccurrencesQuery = z.object({ limit: clamped(1, 20, 5) })

export const ScheduleExport = z.strictObject({ scheduleIds: z.array(text(1, 160)).min(1).max(200).transform(distinct) })

/** `nextRunAt` as the caller read it: two who skip the same occurrence must not skip two. */
export const OccurrenceSkip = z.strictObject({ nextRunAt: dateText.optional() })

/** Both are starts of the recording, buffers included. */
export const OccurrenceMove = z.strictObject({ newStartAt: dateText, occurrenceStartAt: dateText })
export type OccurrenceMove = z.infer<typeof OccurrenceMove>

/** The schedule an occurrence became, and its `updatedAt` as the caller read it: what somebody changed since is not lost. */
export const MoveUndo = z.strictObject({ movedTo: text(1, 160), updatedAt: dateText })
export type MoveUndo = z.infer<typeof MoveUndo>

export interface Schedule {
  assignedGroupIds: string[]
  assignedUserIds: string[]
  captureBackend?: CaptureBackend
  captureChannelSelection?: number[]
  captureInterfaceId?: string
  channelMode?: ChannelMode
  createdAt: string
  enabled: boolean
  folderTemplate: string
  id: string
  name: string
  /** Start of the next recording, early start included; while its channels are busy, the next try. */
  nextRunAt?: string
  /** Absent when the node is gone. */
  nodeId?: string
  recordingProfileId: string
  recurrence: Recurrence
  retentionPolicyId: string
  room: string
  roomId?: string
  tags: string[]
  timezone: string
  titleTemplate: string
  updatedAt: string
  uploadPolicyIds: string[]
  watchdogPolicyId: string
}

export interface Occurrence {
  /** Absent when the take is open-ended. */
  recordingEndAt?: string
  recordingStartAt: string
  scheduledStartAt: string
}

/** Why a recording that is due may not be made as things stand (docs/contract/scheduling.md: Risks). */
export type Risk = 'channels_missing' | 'clash' | 'device_missing' | 'recorder_missing' | 'recorder_offline'

export interface CalendarItem extends Occurrence {
  enabled: boolean
  /** What health events that the caller may read foresee of this occurrence; absent when there are none. */
  foreseen?: ForesightKind[]
  nodeId?: string
  recurrenceMode: Recurrence['mode']
  /** Of what starts within 24 hours; absent when nothing stands against it. */
  risks?: Risk[]
  /** As it was written for the schedule. */
  room: string
  /** The room it is booked in, when it is one of the list. */
  roomId?: string
  scheduleId: string
  scheduleName: string
  timezone: string
}

/** One physical take of a run. Always one. */
export interface Segment {
  captureChannelSelection?: number[]
  captureGroupId: string
  captureInterfaceId?: string
  durationSeconds?: number
  jobId: string
  offsetSeconds: number
  recordingId: string
}
