import { Fail } from '../../kernel/fail.ts'
import type { Node } from '../../wire/nodes.ts'
import type { Segment } from '../../wire/schedules.ts'
import type { FleetApi } from '../fleet/api.ts'
import type { UserPrincipal } from '../http/principal.ts'
import { isCaptureFault } from '../recordings/library/capturevalidation.rules.ts'
import type { Foreseen, ScheduledTake, Started } from '../recordings/library/start.rules.ts'
import type { Stored } from './planning.rules.ts'
import type { ScheduleStore } from './schedules.store.ts'
import { noNode } from './schedulevalidation.ts'
import { labelsOf } from './templates.rules.ts'

interface TakeParts {
  foresee: (take: ScheduledTake, now: string) => Foreseen
  nodes: FleetApi['nodes']
  record: (take: ScheduledTake, now: string, principal?: UserPrincipal) => Started
  schedules: ScheduleStore
}

interface Asked {
  /** The start for the templates: the scheduled start of an occurrence, or now. Unix ms. */
  startAt: number
  /** Undefined for an open-ended take. */
  seconds: number | undefined
}

/**
 * Makes the recording and the job of a schedule, or tells what that would come to. The schedule was valid when it was written,
 * so every refusal is a conflict with the present state: a 409.
 */
export function takeMaker({ foresee, nodes, record, schedules }: TakeParts) {
  const askedOf = (schedule: Stored, node: Node, { startAt, seconds }: Asked): ScheduledTake => {
    const zone = schedules.zones(schedule.timezone)
    const { captureBackend, captureChannelSelection, captureInterfaceId, channelMode } = schedule
    return {
      ...{ captureBackend, captureChannelSelection, captureInterfaceId, channelMode },
      ...labelsOf(schedule, { startAt, node, room: schedule.room, schedule, zone }),
      ...{ node, scheduleId: schedule.id, seconds, tags: schedule.tags },
      recordingProfileId: schedule.recordingProfileId,
      retentionPolicyId: schedule.retentionPolicyId,
      roomId: schedule.roomId,
      uploadPolicyIds: schedule.uploadPolicyIds,
      watchdogPolicyId: schedule.watchdogPolicyId,
    }
  }
  return {
    /** What the start would ask of its recorder. @throws Fail as the start would, but for channels in use. */
    foresee: (schedule: Stored, node: Node, asked: Asked, now: string): Foreseen =>
      asConflict(() => foresee(askedOf(schedule, node, asked), now)),
    take(schedule: Stored, asked: Asked, now: string, principal?: UserPrincipal): Started {
      const node = schedule.nodeId === undefined ? undefined : nodes.find(schedule.nodeId, now)
      if (!node) throw noNode()
      return asConflict(() => record(askedOf(schedule, node, asked), now, principal))
    },
  }
}
export type TakeMaker = ReturnType<typeof takeMaker>['take']
export type TakeForesight = ReturnType<typeof takeMaker>['foresee']

function asConflict<T>(start: () => T): T {
  try {
    return start()
  } catch (e) {
    if (!(e instanceof Fail) || (e.status !== 400 && e.status !== 404)) throw e
    const crossRoom = e.reason === 'channel_selection_cross_room'
    throw new Fail(409, e.reason, crossRoom ? 'Schedule channels span multiple rooms' : sentenceOf(e), e.extra)
  }
}

/** What is wrong and what to change, in one sentence. */
function sentenceOf({ extra: { issues = [] }, message, reason }: Fail): string {
  const [issue] = issues as { message?: string }[]
  return isCaptureFault(reason) && issue?.message ? `${message}: ${issue.message}` : message
}

/** The take of a run. */
export function segmentOf({ job, recording }: Started, seconds: number | undefined): Segment {
  const { captureChannelSelection, captureGroupId = '', captureInterfaceId } = job.command
  return {
    ...(captureChannelSelection ? { captureChannelSelection } : {}),
    captureGroupId,
    ...(captureInterfaceId ? { captureInterfaceId } : {}),
    ...(seconds === undefined ? {} : { durationSeconds: seconds }),
    jobId: job.id,
    offsetSeconds: 0,
    recordingId: recording.id,
  }
}
