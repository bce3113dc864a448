import type { Clock } from '../../../kernel/clock.ts'
import type { Ids } from '../../../kernel/ids.ts'
import type { NodeDoctor } from '../../../wire/doctor.ts'

/** How long a recorder has for its report: its own checks end within 12 s. */
export const CALL_SECONDS = 20

interface Call {
  report?: NodeDoctor
  requestId: string
  /** Monotonic ms. */
  until: number
}

/** Recorders that are asked for the doctor's report now, one call each, in memory. */
export interface DoctorCalls {
  /** The call that waits, or a new one: whoever asks meanwhile gets the same report. */
  ask(nodeId: string): Pick<Call, 'requestId' | 'report'>
  /** The recorder has answered. False when nobody waits for this any more. */
  answered(requestId: string, report: NodeDoctor): boolean
  /** Whether this answer is awaited. */
  awaits(nodeId: string, requestId: string): boolean
  /** What the configuration of the node says of it. */
  wanted(nodeId: string): { requestId: string } | undefined
}

/** `changed` is called with a node that is called now. */
export function doctorCalls(clock: Pick<Clock, 'monotonic'>, ids: Ids, changed: (nodeId: string) => void): DoctorCalls {
  const calls = new Map<string, Call>()
  const waiting = (nodeId: string): Call | undefined => {
    const call = calls.get(nodeId)
    return call && !call.report && call.until > clock.monotonic() ? call : undefined
  }
  return {
    answered(requestId, report) {
      const call = waiting(report.nodeId)
      if (call?.requestId !== requestId) return false
      call.report = report
      calls.delete(report.nodeId)
      changed(report.nodeId)
      return true
    },
    ask(nodeId) {
      const before = waiting(nodeId)
      if (before) return before
      const call: Call = { requestId: ids.make('doctor'), until: clock.monotonic() + CALL_SECONDS * 1000 }
      calls.set(nodeId, call)
      changed(nodeId)
      return call
    },
    awaits: (nodeId, requestId) => waiting(nodeId)?.requestId === requestId,
    wanted(nodeId) {
      const call = waiting(nodeId)
      return call && { requestId: call.requestId }
    },
  }
}
