import type { AgentJob } from '../../wire/recordings.ts'
import { isSampleFormat } from '../audio/format.rules.ts'
import { captureDevice, streamFormat } from '../capture/devices.ts'
import { refOf } from '../capture/hardware.rules.ts'
import type { Want } from '../capture/slot.ts'
import type { JobContext } from './owned.ts'

type Command = AgentJob['command']

/** The part of a command that says which device is opened, and how. */
export type Opens = Pick<
  Command,
  'captureBackend' | 'captureDevice' | 'captureFormat' | 'captureSampleRate' | 'captureSystemRef'
>

/**
 * How a take opens its device: so many channels, for so many seconds.
 * @throws Error with a sentence when this machine cannot open it so, or may not
 */
export async function wantOf(
  {
    childEnv: env,
    clock,
    feeds,
    locate,
    settings,
  }: Pick<JobContext, 'childEnv' | 'clock' | 'feeds' | 'locate' | 'settings'>,
  command: Opens,
  { channels, seconds }: { channels: number; seconds: number },
): Promise<Want> {
  const { captureBackend, captureDevice: name, captureFormat, captureSampleRate: rate, captureSystemRef: ref } = command
  if (!isSampleFormat(captureFormat)) throw new Error(`capture_format_not_supported: ${captureFormat}`)
  const backend = captureBackend ?? settings.captureBackend
  const { captureArgsTemplate: argsTemplate, captureCommand, captureRights: rights } = settings
  const template = argsTemplate === undefined ? {} : { argsTemplate }
  const request = { ...template, backend, command: captureCommand, device: name, env, rights, seconds }
  const device = captureDevice({ ...request, locate: () => locate(command) }, clock)
  const hardware = await feeds.hardware(backend, ref?.startsWith('hw:') ? ref : name)
  return {
    asked: streamFormat(backend, { channels, format: captureFormat, rate }),
    device,
    hardware,
    how: [backend, captureCommand, argsTemplate].join(' '),
    interfaceRef: ref ?? refOf(hardware) ?? name,
  }
}
