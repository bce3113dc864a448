import * as path from 'node:path'
import type { Clock } from '../../kernel/clock.ts'
import type { CaptureBackend } from '../../wire/nodes.ts'
import type { PcmFormat } from '../audio/format.rules.ts'
import { alsaCard } from '../inventory/alsa.rules.ts'
import { ask, childSource } from './child.ts'
import { type CaptureRights, fillWords, PROGRAMS, refusalOf, shellWords } from './rights.rules.ts'
import type { Device } from './source.ts'
import { isTestDevice, toneOptions, toneSource } from './tones.ts'

export interface DeviceRequest {
  argsTemplate?: string
  backend: CaptureBackend
  command: string
  device: string
  /** Environment of child programs: the C locale, because their words are matched, and no secrets. */
  env: NodeJS.ProcessEnv
  /** Where the device is now, if that can be told. */
  locate?: () => Promise<string | undefined>
  /** What may be asked for; without them everything may: who asks is this recorder itself. */
  rights?: CaptureRights | undefined
  /** Planned length, for templates. */
  seconds: number
}

const PROBE_MS = 3000
const DEFAULT_COMMAND = 'arecord'

/** The program behind a setting: the name of the default one stands for the backend's own. */
export const programOf = (backend: CaptureBackend, command: string): string =>
  command === DEFAULT_COMMAND ? PROGRAMS[backend] : command

/** arecord keeps its tongue: with `-q` it would not say that the device runs at another rate than asked. */
const alsaArgs = (device: string, f: PcmFormat): string[] => [
  ...['-t', 'raw', '-D', device, '-f', f.format, '-r', String(f.rate), '-c', String(f.channels)],
  '-',
]

/** PipeWire's names; its s24 is packed, whatever ALSA calls S24_LE. */
const PIPEWIRE_FORMAT: Record<PcmFormat['format'], string> = {
  S16_LE: 's16',
  S24_LE: 's24',
  S24_3LE: 's24',
  S32_LE: 's32',
  FLOAT_LE: 'f32',
}

/**
 * Without these PipeWire mixes what is more than stereo down and up by the names of the channels, and records any other
 * device when the one that was asked for is not there.
 */
const PIPEWIRE_AS_IT_IS = 'stream.dont-remix=true'
const PIPEWIRE_NO_OTHER = 'node.dont-fallback=true node.dont-reconnect=true'

/** `raw`: whether this pw-record has to be asked for samples without a container. Older ones write them to `-` unasked. */
function pipewireArgs(device: string, f: PcmFormat, raw: boolean): string[] {
  const any = device === 'default'
  const properties = any ? PIPEWIRE_AS_IT_IS : `${PIPEWIRE_AS_IT_IS} ${PIPEWIRE_NO_OTHER}`
  return [
    ...['--record', ...(raw ? ['--raw'] : []), ...(any ? [] : ['--target', device])],
    ...['--rate', String(f.rate), '--channels', String(f.channels), '--format', PIPEWIRE_FORMAT[f.format]],
    ...['--properties', `{ ${properties} }`, '-'],
  ]
}

/** Its own default is what goes to the loudspeakers; a recorder wants what comes in. Several ports: with commas. */
const jackArgs = (device: string, f: PcmFormat): string[] => [
  ...['--channels', String(f.channels), '--write-to-stdout', '--disable-console', '--no-stdin'],
  ...(device === 'default' ? 'system:capture_*' : device).split(',').flatMap((port) => ['--port', port]),
]

const ARGS = { alsa: alsaArgs, jack: jackArgs, pipewire: pipewireArgs }

/** jack_capture writes 16 bits at the server's rate, whatever is asked. */
async function jackGives(f: PcmFormat, env: NodeJS.ProcessEnv): Promise<PcmFormat> {
  const said = await ask('jack_samplerate', [], { ...env, JACK_NO_START_SERVER: '1' }, PROBE_MS)
  const rate = /^(\d{4,6})$/m.exec(said)?.[1]
  return { ...f, format: 'S16_LE', ...(rate ? { rate: Number(rate) } : {}) }
}

function templateArgs(template: string, device: string, seconds: number, f: PcmFormat): string[] {
  const values = { channels: f.channels, device, format: f.format, output: '-', output_path: '-', sample_rate: f.rate }
  return fillWords(shellWords(template), { ...values, seconds })
}

/** Throws with a sentence when the request cannot be served on this machine at all. */
export function captureDevice(request: DeviceRequest, clock: Clock): Device {
  const { device } = request
  if (isTestDevice(device)) {
    const options = toneOptions(device)
    return { name: device, open: (f) => toneSource(f, options, clock), test: true }
  }
  const { argsTemplate, backend, command, rights } = request
  if (argsTemplate !== undefined) shellWords(argsTemplate)
  const refusal = rights && refusalOf({ argsTemplate, backend, device, program: programOf(backend, command) }, rights)
  if (refusal) throw new Error(refusal)
  return programDevice(request)
}

function programDevice({ argsTemplate, backend, command: asked, device, env, locate, seconds }: DeviceRequest): Device {
  const alsa = backend === 'alsa'
  const command = programOf(backend, asked)
  let name = device
  let raw = false
  const args = (f: PcmFormat): string[] => {
    if (argsTemplate !== undefined) return templateArgs(argsTemplate, name, seconds, f)
    return ARGS[backend](name, f, raw)
  }
  const gives = async (f: PcmFormat): Promise<PcmFormat> => {
    if (argsTemplate !== undefined || alsa) return f
    if (backend === 'jack') return jackGives(f, env)
    raw = (await ask(command, ['--help'], env, PROBE_MS)).includes('--raw')
    return f
  }
  const relocate = async () => {
    const before = name
    name = (await locate?.()) ?? name
    return name !== before
  }
  const probe = (f: PcmFormat) => ask(command, ['--dump-hw-params', '-d', '1', ...alsaArgs(name, f)], env, PROBE_MS)
  const plain = alsa && argsTemplate === undefined
  return {
    get name() {
      return name
    },
    get tells() {
      return plain && path.basename(command) === DEFAULT_COMMAND && alsaCard(name) !== undefined
    },
    open: (f) => childSource(command, args(f), env),
    relocate,
    ...(plain ? { probe } : {}),
    gives,
    test: false,
  }
}

/** How the stream of this backend is laid out when that differs from what was asked. */
export const streamFormat = (backend: CaptureBackend, f: PcmFormat): PcmFormat =>
  backend === 'pipewire' && f.format === 'S24_LE' ? { ...f, format: 'S24_3LE' } : f
