// The doctor of a recorder: the same checks from the command line and within the running agent.
import { jsonOf } from '../../kernel/http.ts'
import { version } from '../../kernel/version.ts'
import { clockOf, programOf, spaceOf, syncOf, unitOf } from '../../system/checks/box.ts'
import { askController, judgeToken, type Reached, reaching } from '../../system/checks/controller.ts'
import { examine, fail, ok, type Probe, skipped, warn } from '../../system/checks/examine.ts'
import { pairOf } from '../../system/checks/pair.ts'
import { PLACES, UNITS, USERS } from '../../system/host/places.ts'
import { compareVersions } from '../../system/host/release.rules.ts'
import { servingOf } from '../../system/host/serving.ts'
import { tlsOptions } from '../../system/host/trust.ts'
import { advice, command, type DeviceFindings, type DoctorReport, type Finding, type Fix } from '../../wire/doctor.ts'
import { API_PREFIX, HEADERS } from '../../wire/headers.ts'
import { shellWord } from '../../wire/install.ts'
import type { AgentConfig } from '../config.ts'
import type { InventoryOptions } from '../inventory/inventory.ts'
import { devicePresent } from './devices.ts'
import { takesWaiting } from './takes.ts'

interface AgentDoctor {
  config: AgentConfig
  /** How the device does. */
  hear(signal: AbortSignal): DeviceFindings | Promise<DeviceFindings>
  inventory: InventoryOptions
  sshKey: Probe['look']
  token: () => string | undefined
}

const ROOM = advice(
  'Takes wait here until the controller has them: let it be reached (controller.tls). Copies of delivered takes go by a retention policy for recorders (Settings in the console). What is large here:',
  'sudo du -xh / | sort -h | tail',
)
const FFMPEG = command('sudo apt-get install ffmpeg')

/** Never rejects for what it finds. @throws the signal's AbortError */
export async function examineAgent(
  { config, hear, inventory, sshKey, token }: AgentDoctor,
  stop?: AbortSignal,
): Promise<DoctorReport> {
  const { childEnv, settings } = config
  const { agentDir, diskPath, renderCommand } = settings
  const reached = reachedBy(config)
  const way = reaching(reached)
  const asking = async (signal: AbortSignal): Promise<Asking> => {
    const at = { ...reached, url: await servingUrl(config, reached, signal) }
    const { answers } = at.url === reached.url ? way : reaching(at)
    return { answers, nodeId: settings.nodeId, reached: at, token: token() }
  }
  let heard: Promise<DeviceFindings> | undefined
  const device = (which: keyof DeviceFindings): Probe => ({
    limitMs: DEVICE_MS,
    async look(signal) {
      heard ??= (async () => await hear(signal))()
      return (await heard)[which]
    },
  })
  const probes: Parameters<typeof examine<'agent'>>[1] = {
    'clock.synced': clockOf(way.ahead),
    'controller.pair': (signal) =>
      pairOf(reached, { name: 'SVC_CONTROLLER_STANDBY_URL', url: settings.standbyUrl }, signal),
    'controller.resolve': way.resolve,
    'controller.tls': way.tls,
    'controller.token': async (signal) => tokenOf(await asking(signal), signal),
    'device.level': device('level'),
    'device.opens': device('opens'),
    'device.present': () => devicePresent(config, inventory),
    'disk.space': () => spaceOf([agentDir, diskPath], ROOM),
    'disk.sync': syncOf(agentDir, { owner: USERS.agent, room: ROOM }),
    ffmpeg: (signal) => programOf(renderCommand, ['-version'], { env: childEnv, fix: FFMPEG, signal }),
    'service.unit': unitOf(UNITS.agent),
    'ssh.key': sshKey,
    'takes.waiting': () => takesWaiting(agentDir),
    'version.newer': async (signal) => newer(await asking(signal), signal),
  }
  return await examine('agent', probes, stop)
}

/** It opens, and listens for three seconds. */
const DEVICE_MS = 12_000

const reachedBy = ({ settings }: AgentConfig): Reached => ({
  allowInsecure: settings.allowInsecure,
  names: {
    ca: 'SVC_CONTROLLER_CA_CERT_PATH',
    file: PLACES.agentSettings,
    insecure: 'SVC_ALLOW_INSECURE_CONTROLLER',
    unit: UNITS.agent,
    url: 'SVC_CONTROLLER_URL',
  },
  trust: {
    caFile: settings.controllerCa,
    clientCertFile: settings.clientCertFile,
    clientKeyFile: settings.clientKeyFile,
  },
  url: settings.controllerUrl,
})

/** The address of the box that is the controller now. */
function servingUrl({ settings }: AgentConfig, { allowInsecure, trust, url }: Reached, signal: AbortSignal) {
  const { standbyUrl } = settings
  if (standbyUrl === undefined) return url
  return servingOf([url, standbyUrl], { signal, termHeader: HEADERS.term, tls: tlsOptions(trust, allowInsecure) })
}

const SILENT = skipped('No controller answers (controller.tls)')
const joinAnew = (url: string): Fix =>
  advice(
    "It asks for a pairing code, which the recorder's page in the console gives:",
    `sudo roomtone setup agent --controller-url ${shellWord(url)} --pairing-code`,
  )

/** What is asked of the controller, in the name of this recorder. */
interface Asking {
  answers: () => Promise<boolean>
  nodeId: string
  reached: Reached
  token: string | undefined
}

async function tokenOf({ answers, nodeId, reached, token }: Asking, signal: AbortSignal): Promise<Finding> {
  if (token === undefined)
    return fail('This recorder has no token: it has not joined a controller', joinAnew(reached.url))
  if (!(await answers())) return SILENT
  const path = `${API_PREFIX}/nodes/${encodeURIComponent(nodeId)}/config`
  return judgeToken(await askController(reached, path, { signal, token }), joinAnew(reached.url))
}

async function newer({ answers, nodeId, reached, token }: Asking, signal: AbortSignal): Promise<Finding> {
  if (token === undefined || !(await answers())) return SILENT
  const path = `${API_PREFIX}/nodes/${encodeURIComponent(nodeId)}/agent-release/latest`
  const { status, text } = await askController(reached, path, { signal, token })
  if (status !== 200) return skipped(`The controller has no release for recorders (status ${status})`)
  const latest = (jsonOf(text) as { data?: { version?: unknown } } | undefined)?.data?.version
  if (typeof latest !== 'string') return skipped('What the controller says of its release cannot be read')
  if (compareVersions(version, latest) >= 0) return ok(`${version}; the controller has none that is newer`)
  return warn(
    `${version} runs here, the controller has ${latest.slice(0, 80)}`,
    advice('On its page in the console: Maintenance, Update'),
  )
}
