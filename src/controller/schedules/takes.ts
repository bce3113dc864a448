import { Fail } from '../../kernel/fail.ts'
import type { Segment } from '../../wire/schedules.ts'
import type { FleetApi } from '../fleet/api.ts'
import type { UserPrincipal } from '../http/principal.ts'
import { isCaptureFault } from '../recordings/library/capturevalidation.rules.ts'
import type { ScheduledTake, Started } from '../recordings/library/start.rules.ts'
import type { Stored } from './planning.rules.ts'
import type { ScheduleStore } from './schedules.store.ts'
import { noNode } from './schedulevalidation.ts'
import { labelsOf } from './templates.rules.ts'

interface TakeParts {
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
 * Makes the recording and the job of a schedule. The schedule was valid when it was written, so every refusal is a conflict
 * with the present state: a 409.
 */
export function takeMaker({ nodes, record, schedules }: TakeParts) {
  return (schedule: Stored, { startAt, seconds }: Asked, now: string, principal?: UserPrincipal): Started => {
    const node = schedule.nodeId === undefined ? undefined : nodes.find(schedule.nodeId, now)
    if (!node) throw noNode()
    const zone = schedules.zones(schedule.timezone)
    const { captureBackend, captureChannelSelection, captureInterfaceId, channelMode } = schedule
    const take = {
      ...{ captureBackend, captureChannelSelection, captureInterfaceId, channelMode },
      ...labelsOf(schedule, { startAt, node, room: schedule.room, schedule, zone }),
      ...{ node, scheduleId: schedule.id, seconds, tags: schedule.tags },
      recordingProfileId: schedule.recordingProfileId,
      retentionPolicyId: schedule.retentionPolicyId,
      roomId: schedule.roomId,
      uploadPolicyIds: schedule.uploadPolicyIds,
      watchdogPolicyId: schedule.watchdogPolicyId,
    }
    return asConflict(() => record(take, now, principal))
  }
}
export type TakeMaker = ReturnType<typeof takeMaker>

function asConflict(start: () => Started): Started {
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
