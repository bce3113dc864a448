// Whether the options of a setup make sense, before anything is touched.
import { isLoopback } from '../../kernel/loopback.ts'
import { isOn } from '../../kernel/settings.ts'
import { clientId, text } from '../../wire/scalars.ts'
import type { AgentSetup, ControllerSetup, LifecycleSetup } from './options.ts'

const LONGEST_LABEL = 160
const TOKEN = /^svc_bs_[\x21-\x7e]{1,4096}$/

/** Parsers of addresses pass over line breaks, and a file of settings does not. */
const isOneWord = (text: string): boolean => /^\S*$/.test(text)

function urlFault(given: string, allowInsecure: boolean): string | undefined {
  const url = isOneWord(given) && URL.canParse(given) ? new URL(given) : undefined
  if (!url || !/^https?:$/.test(url.protocol))
    return `--controller-url ${given || '""'} is not an http or https address: give for example https://recorder.example`
  if (url.username || url.password) return '--controller-url holds a password: leave it out'
  if (url.protocol === 'http:' && !allowInsecure && !isLoopback(url.hostname))
    return `${given} is plain http, and everything that is sent could be read on the way: use https, or --allow-insecure while you try things out`
  return undefined
}

const labelFault = (flag: string, value: string | undefined): string | undefined =>
  value === undefined || (text(1, LONGEST_LABEL).safeParse(value).success && !/[\r\n]/.test(value))
    ? undefined
    : `${flag} has to be one line of 1 to ${LONGEST_LABEL} characters`

function tokenWords(given: string): string {
  if (given.startsWith('svc_node_'))
    return 'the token belongs to a node: mint a bootstrap token for this node (it begins with svc_bs_)'
  if (given === '' || /\s/.test(given) || given.startsWith('svc_bs_'))
    return 'the bootstrap token is empty, or not one word: copy it whole, or mint a new one'
  return 'the token is not a bootstrap token: those begin with svc_bs_. Mint one for this node'
}

/** What is wrong with the options, in a sentence that names the flag; undefined when nothing is. */
export function agentFault(options: AgentSetup): string | undefined {
  const { bootstrapToken, controllerCa, nodeId } = options
  if (!clientId.safeParse(nodeId).success)
    return `--node-id ${nodeId || '""'} is not a node ID: copy it from the node's page`
  if (bootstrapToken !== undefined && !TOKEN.test(bootstrapToken)) return tokenWords(bootstrapToken)
  return (
    authorityFault(controllerCa) ??
    urlFault(options.controllerUrl, options.allowInsecure) ??
    labelFault('--node-alias', options.alias) ??
    labelFault('--site', options.site) ??
    labelFault('--room', options.room)
  )
}

/** Addresses are compared as text: `https://host/` and `https://host` are one. */
export const normalUrl = (url: string): string => url.replace(/\/+$/, '')

const AUTHORITY = '-----BEGIN CERTIFICATE-----'
const authorityFault = (pem: string | undefined): string | undefined =>
  pem !== undefined && !pem.includes(AUTHORITY)
    ? `--controller-ca holds no certificate in PEM form (${AUTHORITY})`
    : undefined

const RUNNER_TOKEN = /^[\x21-\x7e]{16,4096}$/
const secretFault = (flag: string, token: string | undefined): string | undefined =>
  token === undefined || RUNNER_TOKEN.test(token) ? undefined : `${flag} has to hold one word of 16 characters or more`

/** What is wrong with the options for a runner, in a sentence; undefined when nothing is. `settings`: those there are. */
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
    return '--port has to be a number from 1 to 65535'
  if (!tlsCert !== !tlsKey) return '--tls-cert and --tls-key go together: give both or neither'
  if (
    publicUrl !== undefined &&
    !(isOneWord(publicUrl) && URL.canParse(publicUrl) && /^https?:$/.test(new URL(publicUrl).protocol))
  )
    return `--public-url ${publicUrl} is not an http or https address: give for example https://recorder.example`
  return host !== undefined && !/^[\w.:%-]{1,255}$/.test(host) ? '--host has to be an address to listen on' : undefined
}

/** The controller would refuse to start with these settings: others could read along. What to do instead, in a sentence. */
export function openFault(settings: Record<string, string | undefined>): string | undefined {
  const { SVC_HOST: host = 'localhost', SVC_ALLOW_PLAIN_HTTP: allowed, SVC_TRUSTED_PROXIES: proxies } = settings
  if (isLoopback(host) || settings.SVC_API_TLS_CERT_PATH || proxies || isOn(allowed)) return undefined
  return (
    `without a certificate the controller does not listen on ${host}, where other machines reach it. Install it without --host, ` +
    'make one with "roomtone tls init --host NAME", and give it as --tls-cert and --tls-key'
  )
}
