// Checks the options of a setup before anything is changed.
import { isLoopback } from '../../kernel/loopback.ts'
import { isOn } from '../../kernel/settings.ts'
import { clientId, text } from '../../wire/scalars.ts'
import type { AgentSetup, ControllerSetup, LifecycleSetup } from './options.ts'

const LONGEST_LABEL = 160
const TOKEN = /^svc_bs_[\x21-\x7e]{1,4096}$/

/** URL parsers ignore line breaks; a settings file does not. */
const isOneWord = (text: string): boolean => /^\S*$/.test(text)

function urlFault(given: string, allowInsecure: boolean): string | undefined {
  const url = isOneWord(given) && URL.canParse(given) ? new URL(given) : undefined
  if (!url || !/^https?:$/.test(url.protocol))
    return `--controller-url ${given || '""'} is not an http or https address: pass for example https://recorder.example`
  if (url.username || url.password) return '--controller-url contains a user name or password: leave them out'
  if (url.protocol === 'http:' && !allowInsecure && !isLoopback(url.hostname))
    return `${given} is plain http, so anybody on the network could read along: use https, or --allow-insecure for a test`
  return undefined
}

const labelFault = (flag: string, value: string | undefined): string | undefined =>
  value === undefined || (text(1, LONGEST_LABEL).safeParse(value).success && !/[\r\n]/.test(value))
    ? undefined
    : `${flag} must be one line of 1 to ${LONGEST_LABEL} characters`

function tokenWords(given: string): string {
  if (given.startsWith('svc_node_'))
    return 'this is the token of a node: mint a bootstrap token for this node (it begins with svc_bs_)'
  if (given === '' || /\s/.test(given) || given.startsWith('svc_bs_'))
    return 'the bootstrap token is empty or incomplete: copy all of it, or mint a new one'
  return 'this is not a bootstrap token, which begins with svc_bs_: mint one for this node'
}

/** What is wrong with the address of the controller or its authority, in a sentence naming the flag. */
export const addressFault = (options: Pick<AgentSetup, 'allowInsecure' | 'controllerCa' | 'controllerUrl'>) =>
  authorityFault(options.controllerCa) ?? urlFault(options.controllerUrl, options.allowInsecure)

/** What is wrong with the options, in a sentence naming the flag; undefined when nothing is. */
export function agentFault(options: AgentSetup): string | undefined {
  const { bootstrapToken, nodeId } = options
  if (!clientId.safeParse(nodeId).success)
    return `--node-id ${nodeId || '""'} is not a node ID: copy it from the node's page`
  if (bootstrapToken !== undefined && !TOKEN.test(bootstrapToken)) return tokenWords(bootstrapToken)
  return (
    addressFault(options) ??
    labelFault('--node-alias', options.alias) ??
    labelFault('--site', options.site) ??
    labelFault('--room', options.room)
  )
}

/** Addresses are compared as text: `https://host/` and `https://host` are one. */
export const normalUrl = (url: string): string => url.replace(/\/+$/, '')

const AUTHORITY = '-----BEGIN CERTIFICATE-----'
const authorityFault = (pem: string | undefined): string | undefined =>
  pem !== undefined && !pem.includes(AUTHORITY) ? `--controller-ca is not a PEM certificate (${AUTHORITY})` : undefined

const RUNNER_TOKEN = /^[\x21-\x7e]{16,4096}$/
const secretFault = (flag: string, token: string | undefined): string | undefined =>
  token === undefined || RUNNER_TOKEN.test(token)
    ? undefined
    : `${flag} must contain one word of at least 16 characters`

/** What is wrong with the options for a runner, in a sentence; undefined when nothing is. `settings`: the existing ones. */
export function lifecycleFault(
  options: LifecycleSetup,
  settings: Record<string, string | undefined>,
): string | undefined {
  const { controllerUrl: url, controllerToken, runnerToken } = options
  if (url === undefined && !settings.SVC_RUNNER_CONTROLLER_URL && !settings.SVC_ANSIBLE_SSH_KEY_FILE)
    return '--controller-url is missing: the controller keeps the keys of the nodes'
  return (
    (url === undefined ? undefined : urlFault(url, options.allowInsecure ?? false)) ??
    secretFault('--controller-token-file', controllerToken) ??
    secretFault('--runner-token-file', runnerToken) ??
    authorityFault(options.controllerCa)
  )
}

/** The controller would refuse to start with both. */
export const runnerFault = (settings: Record<string, string | undefined>): string | undefined =>
  isOn(settings.SVC_LIFECYCLE_EMBEDDED) && settings.SVC_ANSIBLE_RUNNER_URL
    ? 'the settings of the controller name a runner (SVC_ANSIBLE_RUNNER_URL): remove that line, or leave out --with-lifecycle'
    : undefined

const HIGHEST_PORT = 65_535

/** What is wrong with the options for a controller, in a sentence; undefined when nothing is. */
export function controllerFault({ host, port, publicUrl, tlsCert, tlsKey }: ControllerSetup): string | undefined {
  if (port !== undefined && !(Number.isInteger(port) && port > 0 && port <= HIGHEST_PORT))
    return '--port must be a number from 1 to 65535'
  if (!tlsCert !== !tlsKey) return '--tls-cert and --tls-key belong together: pass both or neither'
  if (
    publicUrl !== undefined &&
    !(isOneWord(publicUrl) && URL.canParse(publicUrl) && /^https?:$/.test(new URL(publicUrl).protocol))
  )
    return `--public-url ${publicUrl} is not an http or https address: pass for example https://recorder.example`
  return host !== undefined && !/^[\w.:%-]{1,255}$/.test(host) ? '--host must be an address to listen on' : undefined
}

/** Why the controller would refuse to start with these settings (others could read along) and what to do, in a sentence. */
export function openFault(settings: Record<string, string | undefined>): string | undefined {
  const { SVC_HOST: host = 'localhost', SVC_ALLOW_PLAIN_HTTP: allowed, SVC_TRUSTED_PROXIES: proxies } = settings
  if (isLoopback(host) || settings.SVC_API_TLS_CERT_PATH || proxies || isOn(allowed)) return undefined
  return (
    `without a certificate the controller does not listen on ${host}, which other machines can reach. Install it without ` +
    '--host, create a certificate with "roomtone tls init --host NAME", and pass it with --tls-cert and --tls-key'
  )
}
