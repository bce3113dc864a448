import type { Capture, Undelivered, UndeliveredTotal } from '../../../wire/captures.ts'
import type { Command, JobProgress } from '../../../wire/recordings.ts'

/** What a recording tells of its job, as `OF_JOB` (captures.store.ts) reads it. */
export interface OfJob {
  /** As it was stored: of a release long ago it may lack what a new one has. */
  command: Partial<Command>
  completedAt: string | null
  /** What people call the channels of the device, by their index. */
  names: Record<number, string>
  interfaceName: string | null
  progress: (JobProgress & { at: string }) | null
  startedAt: string | null
  stopRequestedAt: string | null
  /** Of the chunks that are stored here. */
  storedSeconds: number
  /** The take is stored here as one file: 1, else 0. */
  whole: number
}

function channelsOf({ captureChannels = 0, captureChannelSelection, channelMap }: Partial<Command>): number[] {
  if (captureChannelSelection) return captureChannelSelection
  const mapped = channelMap?.entries.filter(({ included }) => included).map((entry) => entry.sourceChannelIndex)
  return [...new Set(mapped ?? Array.from({ length: captureChannels }, (_, i) => i + 1))]
}

/** The device and the channels a job captures; undefined when its recorder chooses the device. */
export function captureOf({ command, interfaceName, names }: OfJob): Capture | undefined {
  const { captureInterfaceId: interfaceId } = command
  if (interfaceId === undefined) return undefined
  const channels = channelsOf(command)
  const called = channels.map((index) => names[index] ?? '')
  return {
    ...(called.some(Boolean) ? { channelNames: called } : {}),
    channels,
    interfaceId,
    ...(interfaceName === null ? {} : { interfaceName }),
  }
}

/** What of a take exists on its recorder only; undefined when nothing was captured, or all of it is here. */
export function undeliveredOf(job: OfJob): Undelivered | undefined {
  const { command, completedAt, startedAt: since, stopRequestedAt, storedSeconds, whole } = job
  if (since === null || whole === 1) return undefined
  const planned = new Date(Date.parse(since) + (command.durationSeconds ?? 0) * 1000).toISOString()
  const until = [planned, stopRequestedAt ?? completedAt ?? planned].sort()[0] as string
  return { since, storedSeconds, until }
}

/** Added up at `now`, ISO. */
export function undeliveredTotal(all: readonly Undelivered[], now: string): UndeliveredTotal {
  const seconds = all.map(({ since, storedSeconds, until }) =>
    Math.max(0, (Date.parse(until < now ? until : now) - Date.parse(since)) / 1000 - storedSeconds),
  )
  return {
    at: now,
    growing: all.filter(({ until }) => until > now).length,
    seconds: Math.round(seconds.reduce((sum, n) => sum + n, 0)),
    takes: seconds.filter((n) => n > 0).length,
  }
}
