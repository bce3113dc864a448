import { conflict, Fail, invalid } from '../../../kernel/fail.ts'
import type { AudioDefaults, CaptureBackend, Interface, Node } from '../../../wire/nodes.ts'
import type { ChannelMode, Enhancement, Profile } from '../../../wire/profiles.ts'
import type { ChannelMap, Command, Job, Recording, RecordingStart } from '../../../wire/recordings.ts'
import {
  commandFault,
  fittingChunk,
  isEnhanced,
  modeOfSelection,
  rateFor,
  refusal,
  selectionFault,
} from './capturevalidation.rules.ts'

/** Default capture settings of a job (SVC_AGENT_CAPTURE_*). */
export interface CaptureDefaults {
  channels: number
  device: string
  /** The device was set by the operator of this controller. */
  deviceNamed: boolean
  format: string
  /** Largest file the controller takes, bytes. */
  maxBytes: number
  sampleRate: number
  seconds: number
}

/** What decides the shape of a capture. */
export interface Shape {
  backend: CaptureBackend | undefined
  device: Interface | undefined
  mode: ChannelMode | undefined
  selection: number[] | undefined
}

/** A take a schedule asks for; everything in it was checked when the schedule was written. */
export interface ScheduledTake {
  captureBackend?: CaptureBackend | undefined
  captureChannelSelection?: number[] | undefined
  captureInterfaceId?: string | undefined
  channelMode?: ChannelMode | undefined
  folder: string
  name: string
  node: Node
  recordingProfileId: string
  retentionPolicyId: string
  /** The room the schedule is for. */
  roomId?: string | undefined
  scheduleId: string
  /** Length; undefined for an open-ended take, which gets SVC_AGENT_CAPTURE_SECONDS. */
  seconds: number | undefined
  tags: readonly string[]
  uploadPolicyIds: readonly string[]
  watchdogPolicyId: string
}

/** What a start made. */
export interface Started {
  job: Job
  profile: Profile
  recording: Recording
}

/** What a start would ask of its recorder. */
export interface Foreseen {
  command: Command
  /** Absent when the recorder chooses. */
  device: Interface | undefined
  seconds: number
}

/** 409: the node reported that there is nothing to record from. */
export const noDevice = (): Fail =>
  conflict(
    'no_capture_device',
    'Node has no capture device: connect one to the recorder, or name what it records from in the audio defaults of the node',
  )

/** The interface a take uses: the asked one, the configured one, the node's first (docs/contract/recordings.md: Starting). */
export function effectiveInterface(
  node: Node,
  asked: string | undefined,
  configured: string | undefined,
): Interface | undefined {
  if (asked !== undefined) {
    const found = node.interfaces.find((i) => i.id === asked)
    if (!found) throw new Fail(409, 'recording_interface_not_found', 'Recording interface not found')
    return found
  }
  return (
    node.interfaces.find((i) => i.id === configured) ?? node.interfaces.find((i) => !i.absent) ?? node.interfaces[0]
  )
}

/** @throws Fail 409 for a selection without an interface, 400 for one that does not fit it or its mode. */
export function checkSelection({ device, mode, selection }: Shape): void {
  if (!selection) return
  if (!device) throw new Fail(409, 'recording_interface_not_found', 'Recording interface not found')
  const fault = selectionFault(device, selection, mode)
  if (fault) throw refusal(fault)
}

/** Rooms of the channels a take would use. */
export function roomsOf(node: Node, { device, selection }: Pick<Shape, 'device' | 'selection'>): string[] {
  const channels = device?.channels.filter((c) => !selection || selection.includes(c.index)) ?? []
  return [...new Set(channels.map((c) => c.roomId ?? node.roomId).filter((id) => id !== undefined))]
}

/** The command names channels, the recording a room: whether what would be captured now is still that room. */
export function isInItsRoom(node: Node, { command }: Pick<Job, 'command'>, roomId: string | undefined): boolean {
  const device = node.interfaces.find(({ id }) => id === command.captureInterfaceId)
  const rooms = roomsOf(node, { device, selection: command.captureChannelSelection })
  return roomId === undefined || rooms.length === 0 || (rooms.length === 1 && rooms[0] === roomId)
}

/**
 * The room a take belongs to: the one room of its channels, else the node's default.
 * @throws Fail 400 `channel_selection_cross_room` when the channels lie in several rooms.
 */
export function roomOf(node: Node, shape: Shape): string | undefined {
  const rooms = roomsOf(node, shape)
  if (rooms.length > 1)
    throw invalid(
      'Channel selection spans multiple rooms',
      ['captureChannelSelection'],
      'choose channels of one room',
      'channel_selection_cross_room',
    )
  return rooms[0] ?? node.roomId
}

/** The map of an explicit selection: entries in its order, outputs only where the mode keeps channels apart. */
function selectionMap({ device, mode, selection }: Shape, profile: Profile): ChannelMap | undefined {
  if (!selection || !device) return undefined
  const channelMode = mode ?? modeOfSelection(selection, profile)
  const apart = channelMode === 'stereo' || channelMode === 'multichannel'
  return {
    assignmentId: 'inline-channel-selection',
    channelMode,
    entries: selection.map((index, i) => ({
      included: true,
      label: device.channels.find((c) => c.index === index)?.alias ?? `Channel ${index}`,
      ...(apart ? { outputChannelIndex: i + 1 } : {}),
      sourceChannelIndex: index,
    })),
    sourceChannels: Math.max(...selection),
    targetId: device.id,
    targetType: 'interface',
    templateId: 'inline-channel-selection',
    templateName: 'Channel selection',
  }
}

// hw:, plughw: and the built-in test source are opened by their stable ref, anything else by its name.
function deviceName(
  device: Interface | undefined,
  backend: CaptureBackend | undefined,
  d: AudioDefaults,
  fallback: string,
): string {
  if (!device) return d.captureDevice ?? fallback
  const ref = device.systemRef.replace(/^alsa:/, '')
  const direct = (backend ?? 'alsa') === 'alsa' && /^(hw|plughw|test):/.test(ref)
  return direct ? ref : device.systemName
}

// The default must not exceed the channels that the device is known to have.
const channelCount = (device: Interface | undefined, fallback: number): number =>
  device && device.channelCount > 0 ? Math.min(device.channelCount, fallback) : fallback

export interface Planned {
  /**
   * The channel map of the interface or node; an explicit selection wins over it (docs/contract/recordings.md: Channel maps).
   */
  assigned?: ChannelMap | undefined
  captureGroupId: string
  profile: Profile
  recordingId: string
  seconds: number
}

/** The command for the agent (docs/contract/agent.md: The command). @throws Fail 400 when no recorder could carry it out. */
export function command(node: Node, shape: Shape, planned: Planned, fallback: CaptureDefaults): Command {
  const made = draftCommand(node, shape, planned, fallback)
  const fault = commandFault(made, shape.device)
  if (fault) throw refusal(fault)
  return made
}

function draftCommand(node: Node, shape: Shape, planned: Planned, fallback: CaptureDefaults): Command {
  const { backend, device, mode, selection } = shape
  const { profile, recordingId } = planned
  const d = node.audioDefaults ?? {}
  const map = selectionMap(shape, profile) ?? planned.assigned
  const captureChannels = map?.sourceChannels ?? d.captureChannels ?? channelCount(device, fallback.channels)
  const chunkSeconds = profile.chunkSeconds ?? profile.maxTrackSeconds
  const command: Command = {
    ...(backend ? { captureBackend: backend } : {}),
    captureChannels,
    ...(selection ? { captureChannelSelection: selection } : {}),
    captureDevice: deviceName(device, backend, d, fallback.device),
    captureFormat: d.captureFormat ?? fallback.format,
    captureGroupId: planned.captureGroupId,
    ...(device ? { captureInterfaceId: device.id, captureSystemRef: device.systemRef } : {}),
    captureSampleRate: d.captureSampleRate ?? rateFor(device, fallback.sampleRate),
    ...(map ? { channelMap: map } : { channelMode: mode ?? profile.channelMode }),
    ...(chunkSeconds ? { chunkSeconds } : {}),
    durationSeconds: planned.seconds,
    ...(profile.codec === 'mp3' ? { outputBitrateKbps: profile.bitrateKbps, outputVbr: profile.vbr } : {}),
    outputCodec: profile.codec,
    outputFileName: `${recordingId}.${profile.codec}`,
    type: 'alsa_capture',
  }
  const cut = fittingChunk(command, fallback.maxBytes)
  return {
    ...command,
    ...(cut ? { chunkSeconds: cut } : {}),
    ...(isEnhanced(profile, command) ? { enhancement: profile.enhancement as Enhancement } : {}),
  }
}

/** Backend of a capture: the requested one, else the interface's own, else the node's default. */
export function backendOf(
  input: Pick<RecordingStart, 'captureBackend'>,
  node: Node,
  device: Interface | undefined,
): CaptureBackend | undefined {
  const known = device && device.backend !== 'unknown' ? device.backend : undefined
  return input.captureBackend ?? known ?? node.audioDefaults?.captureBackend
}
