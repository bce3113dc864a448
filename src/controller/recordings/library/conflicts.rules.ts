import { iso } from '../../../kernel/clock.ts'
import { Fail } from '../../../kernel/fail.ts'

/** An active job as far as the device it needs is concerned. */
export interface ActiveCapture {
  captureGroupId: string | null
  /** Interface id; null is the node's default device. */
  interfaceId: string | null
  jobId: string
  recordingId: string
  roomId: string | null
  /** Channels it uses; null = all. */
  selection: number[] | null
  /** Unix ms. */
  from: number
  /** Unix ms. */
  until: number
}

interface CaptureRequest {
  interfaceId: string | undefined
  selection: number[] | undefined
  from: number
  until: number
}

const sameDevice = (a: ActiveCapture, request: CaptureRequest): boolean =>
  a.interfaceId === (request.interfaceId ?? null)
const overlaps = (a: ActiveCapture, request: CaptureRequest): boolean =>
  a.from < request.until && request.from < a.until

/** The channels both use; a side without a selection uses all of them. */
function shared(a: ActiveCapture, request: CaptureRequest): number[] | 'all' | undefined {
  if (!a.selection || !request.selection) return request.selection ?? a.selection ?? 'all'
  const both = request.selection.filter((index) => a.selection?.includes(index))
  return both.length > 0 ? both : undefined
}

/**
 * Checks a request against the active captures of the node; returns the capture group to join, if any
 * (docs/contract/recordings.md: Devices and groups).
 * @throws Fail 409 `capture_channels_busy` or `node_capture_capacity_reached`.
 */
export function admit(active: readonly ActiveCapture[], request: CaptureRequest, capacity: number): string | undefined {
  const rivals = active.filter((a) => sameDevice(a, request) && overlaps(a, request))
  for (const rival of rivals) {
    const busy = shared(rival, request)
    if (busy) throw channelsBusy(rival, request, busy)
  }
  const devices = new Set(active.map((a) => a.interfaceId))
  if (!devices.has(request.interfaceId ?? null) && devices.size >= capacity)
    throw new Fail(409, 'node_capture_capacity_reached', 'Recorder node is at capture capacity', {
      body: { activeSessionCount: devices.size, maxConcurrentRecordings: capacity },
    })
  return rivals.find((a) => a.captureGroupId)?.captureGroupId ?? undefined
}

/**
 * Removes the other take, its job and its room from a conflict for callers who may not see it: a device may serve several
 * rooms.
 */
export function redactForeign<T>(sees: (recordingId: string) => boolean, step: () => T): T {
  try {
    return step()
  } catch (e) {
    if (!(e instanceof Fail) || e.reason !== 'capture_channels_busy') throw e
    const { conflictingJobId: _, conflictingRecordingId, conflictingRoomId: __, ...body } = e.extra.body ?? {}
    if (sees(String(conflictingRecordingId))) throw e
    throw new Fail(e.status, e.reason, e.message, { ...e.extra, body })
  }
}

function channelsBusy(rival: ActiveCapture, request: CaptureRequest, busy: number[] | 'all'): Fail {
  const words = busy === 'all' ? 'Capture interface is already in use' : 'Requested channels are already in use'
  return new Fail(409, 'capture_channels_busy', words, {
    // When the other take will be over, for the retry.
    details: { conflictEndsAt: iso(rival.until) },
    body: {
      busyChannels: busy === 'all' ? [] : busy,
      ...(request.interfaceId ? { captureInterfaceId: request.interfaceId } : {}),
      conflictingJobId: rival.jobId,
      conflictingRecordingId: rival.recordingId,
      ...(rival.roomId ? { conflictingRoomId: rival.roomId } : {}),
    },
  })
}
