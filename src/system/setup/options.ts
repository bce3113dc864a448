// Options of a setup, from the command line, a setup stick or maintenance.

import { UserError } from '../../kernel/fail.ts'

/** As far as this box knows, the controller did not let it join. */
export class JoinRefused extends UserError {}

/** Where the node belongs; texts are checked as the agent's own settings are. */
export interface AgentSetup {
  alias?: string
  /** Accept plain http and untrusted certificates. */
  allowInsecure: boolean
  /** Single-use, exchanged for the node's own token; absent: the box keeps the token it has. */
  bootstrapToken?: string
  /** PEM text of the controller's certificate authority. */
  controllerCa?: string
  controllerUrl: string
  nodeId: string
  /** Whether missing packages are installed; otherwise they are only listed. */
  packages: boolean
  /** Use the bootstrap token even if the node's own is still valid, so that it is not left behind unused. */
  rejoin?: boolean
  /** Whether a box that is already another node becomes this one. */
  replace?: boolean
  room?: string
  site?: string
  /** Whether to enable and start the service, and wait for it. */
  start: boolean
}

export interface ControllerSetup {
  /** Address to listen on. */
  host?: string
  /** Whether the controller acts on its nodes itself, as on a site of one box. */
  lifecycle?: boolean
  packages: boolean
  port?: number
  /** For people and recorders, for example https://recorder.example */
  publicUrl?: string
  start: boolean
  tlsCert?: string
  tlsKey?: string
}

export interface LifecycleSetup {
  /** Accept plain http and untrusted certificates. */
  allowInsecure?: boolean
  /** PEM text of the controller's certificate authority. */
  controllerCa?: string
  /** The runner's token for the controller; generated when there is none. */
  controllerToken?: string
  controllerUrl?: string
  /** The controller's token for the runner; generated when there is none. */
  runnerToken?: string
  packages: boolean
  start: boolean
}

export interface Removal {
  /** Also removes settings, keys, state, users and recordings, even those that exist nowhere else. */
  purge: boolean
  /** Default: all of them. */
  roles?: readonly Role[]
}

/** One box may have all of them. */
export type Role = 'agent' | 'controller' | 'lifecycle'

export interface SetupParts {
  /** The program to install. Default: the running one. */
  executable?: string
  /** One line for the person at the terminal or the journal; no secrets. */
  say: (line: string) => void
  /** When aborted, what this run did is undone. */
  signal: AbortSignal
}

/** Names of the steps that changed something. */
export interface SetupDone {
  changed: string[]
  /** What is still missing, in sentences. */
  warnings?: string[]
}
