// What the setup of a box is asked for, and what whoever asks gives it. The stick and maintenance speak this too.

import { UserError } from '../../kernel/fail.ts'

/** The controller did not take the box in, as far as this box knows. */
export class JoinRefused extends UserError {}

/** Where the node belongs; texts are checked as the agent's own settings are. */
export interface AgentSetup {
  alias?: string
  /** Accept plain http and certificates nobody vouches for. */
  allowInsecure: boolean
  /** Trades the single-use token for the node's own; absent: the box keeps the token it has. */
  bootstrapToken?: string
  /** PEM text of the controller's certificate authority. */
  controllerCa?: string
  controllerUrl: string
  nodeId: string
  /** Whether missing packages are installed; otherwise they are only told. */
  packages: boolean
  /** Whether the bootstrap token is traded although the node's own is still good: it must not stay behind unspent. */
  rejoin?: boolean
  /** Whether a box that is another node already becomes this one. */
  replace?: boolean
  room?: string
  site?: string
  /** Whether the service is enabled, started and waited for. */
  start: boolean
}

export interface ControllerSetup {
  /** Address to listen on. */
  host?: string
  /** Whether the controller acts on its nodes itself, as on a site of one box. */
  lifecycle?: boolean
  packages: boolean
  port?: number
  /** How people and recorders reach it: https://recorder.example */
  publicUrl?: string
  start: boolean
  tlsCert?: string
  tlsKey?: string
}

export interface LifecycleSetup {
  /** Accept plain http and certificates nobody vouches for. */
  allowInsecure?: boolean
  /** PEM text of the controller's certificate authority. */
  controllerCa?: string
  /** What the runner shows the controller; made when there is none. */
  controllerToken?: string
  controllerUrl?: string
  /** What whoever asks for a run shows the runner; made when there is none. */
  runnerToken?: string
  packages: boolean
  start: boolean
}

export interface Removal {
  /** Also settings, keys, state, recordings and users: nothing is left, and takes nobody else has are lost. */
  purge: boolean
  /** What the box is no more; default: everything it is. */
  roles?: readonly Role[]
}

/** What a box can be; one box may be all of them. */
export type Role = 'agent' | 'controller' | 'lifecycle'

export interface SetupParts {
  /** The program to install. Default: the one that runs. */
  executable?: string
  /** One line for the person at the terminal or the journal; no secrets. */
  say: (line: string) => void
  /** Aborted: what this run did is undone, in reverse order. */
  signal: AbortSignal
}

/** What a run changed, by the names of its steps; empty when everything was as it should be. */
export interface SetupDone {
  changed: string[]
  /** What the box still lacks, in sentences. */
  warnings?: string[]
}
