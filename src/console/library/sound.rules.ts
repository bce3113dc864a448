import type { Interface, Node } from '../../wire/nodes.ts'
import type { Job, Recording, RecordingStart } from '../../wire/recordings.ts'

/** Where the sound of a take is; `missing`: none has come, and nobody is at it any more. */
type Sound = 'coming' | 'deleted' | 'here' | 'missing' | 'queued' | 'running'

const UNDER_WAY: ReadonlySet<Job['status']> = new Set(['queued', 'running', 'stop_requested'])

export const isUnderWay = ({ status }: Pick<Job, 'status'>): boolean => UNDER_WAY.has(status)

/** Whether no recorder has begun with it: a take that was started by hand counts as recording from the start. */
export const isWaiting = ({ status }: Pick<Recording, 'status'>, jobs: readonly Pick<Job, 'status'>[]): boolean =>
  status === 'queued' || (status === 'recording' && jobs.find(isUnderWay)?.status === 'queued')

/** The same without the jobs, as a list has takes. */
export const hasNotBegun = ({ status, undelivered }: Pick<Recording, 'status' | 'undelivered'>): boolean =>
  status === 'queued' || (status === 'recording' && undelivered === undefined)

/** Retention leaves the status `completed` or `uploaded`: that something was there once is told by the job that made it. */
export function soundOf(
  take: Pick<Recording, 'cached' | 'progress' | 'status'>,
  jobs: readonly Pick<Job, 'status'>[],
): Sound {
  const { progress, status } = take
  if (take.cached) return 'here'
  if (isWaiting(take, jobs)) return 'queued'
  if (status === 'recording') return progress && progress.stage !== 'capturing' ? 'coming' : 'running'
  if (progress || jobs.some(isUnderWay)) return 'coming'
  if (status === 'uploaded' || jobs.some((job) => job.status === 'completed')) return 'deleted'
  return status === 'failed' || (status === 'completed' && jobs.length > 0) ? 'missing' : 'coming'
}

/** What of a take is played: the version that is chosen by default, or the one as it was captured. */
export type Version = 'primary' | 'raw'

/** The raw version arrives after the other: until then there is none to be heard. Of a test tone the other is silence. */
export function heardFirst({ rawCachePath, renditions }: Recording, wanted?: Version): Version {
  if (rawCachePath === undefined) return 'primary'
  const isTone = Object.values(renditions ?? {}).some((one) => one?.source === 'test')
  return wanted ?? (isTone ? 'raw' : 'primary')
}

/** Seconds of a take that are stored here: its file, or parts that are not joined yet. */
export const storedSeconds = ({
  cached,
  durationSeconds,
  enhancedCachePath,
  rawCachePath,
  status,
}: Recording): number =>
  cached || rawCachePath !== undefined || enhancedCachePath !== undefined || status === 'partial' ? durationSeconds : 0

/** The start of another take with the settings of this one. */
export function startLike(take: Recording, { command, nodeId }: Pick<Job, 'command' | 'nodeId'>): RecordingStart {
  const { captureBackend, captureChannelSelection, captureInterfaceId, channelMap, durationSeconds } = command
  // Of a selection the map is made anew; a map that was assigned holds without being named.
  const channelMode = captureChannelSelection ? channelMap?.channelMode : command.channelMode
  const { folder, name, recordingProfileId, retentionPolicyId, tags, uploadPolicyIds } = take
  return {
    durationSeconds,
    folder,
    name,
    nodeId,
    tags,
    uploadPolicyIds,
    ...(captureBackend ? { captureBackend } : {}),
    ...(captureChannelSelection ? { captureChannelSelection } : {}),
    ...(captureInterfaceId ? { captureInterfaceId } : {}),
    ...(channelMode ? { channelMode } : {}),
    ...(recordingProfileId ? { recordingProfileId } : {}),
    ...(retentionPolicyId ? { retentionPolicyId } : {}),
  }
}

type Captured = Pick<Recording, 'capture'>
type Commanded = readonly Pick<Job, 'command'>[]

/** The inputs a take is made of; none: all of its device. */
export const inputsOf = ({ capture }: Captured, [job]: Commanded): readonly number[] =>
  capture?.channels ?? job?.command.captureChannelSelection ?? []

/** The device of a take with the channels of it that the take has; `jobs`: the newest first. */
export function capturedBy(
  take: Captured,
  jobs: Commanded,
  { interfaces }: Pick<Node, 'interfaces'>,
): Interface | undefined {
  const id = take.capture?.interfaceId ?? jobs[0]?.command.captureInterfaceId
  const device = interfaces.find((one) => one.id === id)
  const inputs = inputsOf(take, jobs)
  if (!device || inputs.length === 0) return device
  return { ...device, channels: device.channels.filter(({ index }) => inputs.includes(index)) }
}
