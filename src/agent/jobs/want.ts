import type { AgentJob } from '../../wire/recordings.ts'
import { isSampleFormat } from '../audio/format.rules.ts'
import { refOf } from '../capture/hardware.rules.ts'
import { captureRequest } from '../capture/request.ts'
import type { Want } from '../capture/slot.ts'
import type { JobContext } from './owned.ts'

type Command = AgentJob['command']

/** The part of a command that says which device is opened, and how. */
type Opens = Pick<
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
  const { captureArgsTemplate: argsTemplate, captureCommand, captureRights: rights } = settings
  const request = {
    ...{
      argsTemplate,
      asked: { channels, format: captureFormat, rate },
      backend: captureBackend ?? settings.captureBackend,
    },
    ...{ command: captureCommand, device: name, env, rights, seconds },
    hardware: ref?.startsWith('hw:') ? ref : undefined,
    locate: () => locate(command),
  }
  const want = await captureRequest(request, { clock, feeds })
  return { ...want, interfaceRef: ref ?? refOf(want.hardware) ?? name }
}
