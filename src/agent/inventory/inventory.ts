import { type Clock, iso } from '../../kernel/clock.ts'
import { version } from '../../kernel/version.ts'
import { isInstalled } from '../../system/host/ffmpeg.ts'
import type { Denoiser, Runtime } from '../../wire/runtime.ts'
import { type AlsaOptions, channelList, discoverAlsa, type LocalInterface } from './alsa.ts'
import { hostname, ipAddresses, runtime } from './host.ts'

export interface InventoryOptions extends AlsaOptions {
  clock: Clock
  /** A device named by the operator, used where there is no card. */
  configured?: () => LocalInterface | undefined
  /** Bytes of the disk that takes to come may have; undefined when unknown. */
  room?: () => Promise<number | undefined>
  /** What the deep engine of the enhancement runs. */
  denoiser?: () => Denoiser | undefined
  /** The program that encodes. */
  renderCommand?: string
  nodeAlias: string
  nodeId: string
  nodeRoom: string
  nodeSite: string
  /** Whether the clock follows a time server; undefined when nobody can tell. */
  synced?: () => Promise<boolean | undefined>
  /** Offer a test tone when the machine has no capture device. */
  testSource: boolean
}

/** Everything the agent knows about its machine: what `--print-inventory` prints. */
export interface Inventory {
  agentVersion: string
  alias: string
  hostname: string
  id: string
  interfaces: LocalInterface[]
  ipAddresses: string[]
  lastSeenAt: string
  location: { room: string; site: string }
  runtime: Runtime
  status: 'online'
  tags: string[]
}

const testTone: LocalInterface = {
  alias: 'Test source (no microphone)',
  backend: 'unknown',
  channelCount: 2,
  channels: channelList(2),
  id: 'iface_test_tone',
  sampleRates: [48_000],
  systemName: 'test:tone',
  systemRef: 'test:tone',
}

/** Without a card: the operator's device, else the test source where it is enabled, else nothing. */
function standIn({ configured, testSource }: InventoryOptions): LocalInterface[] {
  const named = configured?.()
  if (named) return [named]
  return testSource ? [testTone] : []
}

/** Whether takes can be encoded; undefined when the encoder is unknown. */
async function encoderOf({ childEnv, renderCommand }: InventoryOptions): Promise<Pick<Runtime, 'encoder'>> {
  if (renderCommand === undefined) return {}
  return { encoder: (await isInstalled(renderCommand, childEnv.PATH ?? '')) ? 'ready' : 'missing' }
}

/** The state of the machine that takes depend on. */
async function machine({ room, synced: ask }: InventoryOptions): Promise<Pick<Runtime, 'clock' | 'disk'>> {
  const [synced, roomBytes] = [await ask?.(), await room?.()]
  return {
    ...(synced === undefined ? {} : { clock: { synced } }),
    ...(roomBytes === undefined ? {} : { disk: { roomBytes } }),
  }
}

/** Never throws for a missing tool or device. `mayProbe` false: no device is opened, because a take is running. */
export async function collectInventory(options: InventoryOptions, mayProbe = true): Promise<Inventory> {
  const devices = await discoverAlsa(options, mayProbe)
  const interfaces = devices.length > 0 ? devices : standIn(options)
  const denoiser = options.denoiser?.()
  const host = await runtime(
    interfaces.map((i) => i.backend),
    options.childEnv.PATH ?? '',
  )
  return {
    agentVersion: version,
    alias: options.nodeAlias,
    hostname: hostname(),
    id: options.nodeId,
    interfaces,
    ipAddresses: ipAddresses(),
    lastSeenAt: iso(options.clock.now()),
    location: { room: options.nodeRoom, site: options.nodeSite },
    runtime: { ...host, ...(denoiser && { denoiser }), ...(await encoderOf(options)), ...(await machine(options)) },
    status: 'online',
    tags: ['recorder-agent'],
  }
}
