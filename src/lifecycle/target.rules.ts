// Where a run goes and as whom (docs/contract/lifecycle.md: Runner). Pure.
import { FORCED_COMMAND, MAINTAIN_COMMAND } from '../system/host/places.ts'
import { isHost, type Material, MINTING_ACTIONS, type RunRequest } from '../wire/lifecycle.ts'
import type { MaintainLine } from '../wire/maintain.ts'
import type { RunSettings } from './config.ts'

export interface Target {
  host: string
  port: number | undefined
  user: string
}

type Places = Pick<RunSettings, 'defaultUser' | 'hostOverrides' | 'targets'>

/** The targets, then the overrides, then the request; undefined when none of them names one. */
export function hostOf(places: Places, run: RunRequest): string | undefined {
  const { host: reported, nodeId } = run.target
  const own = lookup(places.targets, nodeId)
  const overridden = lookup(places.hostOverrides, nodeId) ?? lookup(places.hostOverrides, reported)
  const host = (own?.host ?? overridden ?? reported).replace(/^\[(.*)\]$/, '$1')
  return isHost(host) ? host : undefined
}

/** As whom: the request, the credential, the targets, the default. */
export function loginOf(places: Places, run: RunRequest, credential: Material | undefined): Omit<Target, 'host'> {
  const own = lookup(places.targets, run.target.nodeId)
  const user = run.options.sshUser ?? credential?.username ?? own?.sshUser ?? places.defaultUser
  return { port: own?.port, user }
}

/** The operator's own private key for a node, and the setting that names it: of the node, else of all; undefined without any. */
export function operatorKeyOf(
  { sshKeyFile, targets }: Pick<RunSettings, 'sshKeyFile' | 'targets'>,
  nodeId: string,
): { file: string; setting: string } | undefined {
  const file = lookup(targets, nodeId)?.sshKeyFile
  if (file !== undefined) return { file, setting: 'SVC_ANSIBLE_TARGETS' }
  return sshKeyFile === undefined ? undefined : { file: sshKeyFile, setting: 'SVC_ANSIBLE_SSH_KEY_FILE' }
}

const lookup = <T>(map: Record<string, T>, key: string): T | undefined =>
  Object.hasOwn(map, key) ? map[key] : undefined

/** What is run on the node. Our own authorized_keys line runs the same, whatever is asked. */
export const commandFor = (user: string): string => (user === 'root' ? MAINTAIN_COMMAND : FORCED_COMMAND)

interface Known {
  controllerCa: string | undefined
  publicKey: string | undefined
}

/** The line the node reads; undefined for a trust that cannot be told, for there is no key to give. */
export function lineOf({ action, options, target }: RunRequest, known: Known): MaintainLine | undefined {
  const whose = { nodeId: target.nodeId }
  const key = known.publicKey === undefined ? {} : { publicKey: known.publicKey }
  const ca = known.controllerCa === undefined ? {} : { controllerCa: known.controllerCa }
  const force = options.force ? { force: true } : {}
  switch (action) {
    case 'install_dependencies':
      return { action, ...whose, ...key, ...ca, ...force }
    case 'update_binary':
      return {
        action,
        ...whose,
        ...key,
        ...force,
        ...(options.agentVersion ? { agentVersion: options.agentVersion } : {}),
      }
    case 'rotate_trust':
      return known.publicKey === undefined ? undefined : { action, ...whose, publicKey: known.publicKey, ...ca }
    // No force takes audio off a node that nobody else has.
    case 'uninstall':
    case 'smoke_check':
      return { action, ...whose }
    default:
      return { action, ...whose, ...force }
  }
}

/** Late (ADR-0006): when the deploy is done and the node in service, and only with a controller that keeps its key. */
export const mints = ({ action }: RunRequest, credential: Material | undefined): boolean =>
  credential !== undefined && MINTING_ACTIONS.has(action)
