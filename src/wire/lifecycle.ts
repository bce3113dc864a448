// What the controller and the lifecycle runner say to each other, and what people see of it.
import * as z from 'zod'
import { text } from './scalars.ts'
import { HostKeys, publicKeyLine } from './sshkeys.ts'

/** All that may be done to a node over SSH. Both sides refuse anything else. */
export const LIFECYCLE_ACTIONS = [
  'install_dependencies',
  'update_binary',
  'restart_service',
  'rotate_trust',
  'smoke_check',
  'uninstall',
] as const
export const LifecycleAction = z.enum(LIFECYCLE_ACTIONS)
export type LifecycleAction = z.infer<typeof LifecycleAction>

/** These rewrite the agent's settings, so they may mint a controller token; minting elsewhere would lock the agent out. */
export const MINTING_ACTIONS: ReadonlySet<LifecycleAction> = new Set(['install_dependencies', 'update_binary'])

/** These put the key of the controller in place: once one has succeeded, the node holds it. */
export const TRUSTING_ACTIONS: ReadonlySet<LifecycleAction> = new Set([...MINTING_ACTIONS, 'rotate_trust'])

// Both end in the arguments of a program on the runner: nothing that reads as an option, nothing that splits.
export const ReleaseTag = z
  .string()
  .trim()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._+-]{0,79}$/, 'expected a release tag')
const sshUser = z
  .string()
  .trim()
  .regex(/^[A-Za-z_][A-Za-z0-9._-]{0,79}$/, 'expected a user name')
const options = { agentVersion: ReleaseTag.optional(), force: z.boolean().optional(), sshUser: sshUser.optional() }

/**
 * What an operator may add to an action. `agentVersion` is a full release tag, for `update_binary`; `force` stops the agent
 * even while it records, but removes no take with it.
 */
export const LifecycleRequest = z.strictObject(options)
export type LifecycleRequest = z.infer<typeof LifecycleRequest>

/** Host names and addresses, IPv6 with or without a zone; nothing that ssh would read as an option. */
export const isHost = (host: string): boolean => /^[A-Za-z0-9:[][A-Za-z0-9.:_%\-\]]{0,254}$/.test(host)

/** The runner tells what it sees while it runs to who accepts this: lines of JSON, the answer is the last of them. */
export const NDJSON = 'application/x-ndjson'

export const RUNNER_PATHS = { health: '/healthz', runs: '/runs' } as const

/** `POST /runs` of the runner, bearer `SVC_ANSIBLE_RUNNER_TOKEN`, JSON. */
export const RunRequest = z.object({
  action: LifecycleAction,
  options: z.object(options).default({}),
  target: z.object({ host: text(0, 255), nodeAlias: text(1, 160), nodeId: text(1, 160) }),
})
export type RunRequest = z.infer<typeof RunRequest>

/** Its answer: 200 whatever the exit code; the run itself took place. */
const RunAnswer = z.object({
  data: z.object({
    exitCode: z.number().int().min(-255).max(255),
    runId: z.string().max(160).optional(),
    stderr: z.string().default(''),
    stdout: z.string().default(''),
    targetHost: z.string().max(255).optional(),
  }),
})
export type RunAnswer = z.infer<typeof RunAnswer>

/** The answer in a body that may be anything; undefined when it is none. */
export const runAnswerOf = (body: unknown): RunAnswer['data'] | undefined => RunAnswer.safeParse(body).data?.data

// When there was no run: 400 `unsupported_lifecycle_action`, `target_host_required`, ...; 401 `unauthorized`.
const RunRefusal = z.object({ error: z.string(), message: z.string().optional().catch(undefined) })
/** What a refusing runner says: a reason, and words if it has some; empty when it says nothing. */
export const runRefusalOf = (body: unknown): { error: string; message?: string | undefined } =>
  RunRefusal.safeParse(body).data ?? { error: '' }

export type Stream = 'stderr' | 'stdout'
const RunProgress = z.object({ output: z.object({ stream: z.enum(['stderr', 'stdout']), text: z.string() }) })
/** Output in a line of a run under way; undefined for a sign of life (`{}`), and for the answer. */
export const runProgressOf = (line: unknown): { stream: Stream; text: string } | undefined =>
  RunProgress.safeParse(line).data?.output

/** What the runner needs of `GET /nodes/:id/ssh-credential/material`; everything else is ignored. */
const keyPair = { privateKey: z.string().min(1).max(20_000), publicKey: publicKeyLine }
export const Material = z.object({
  ...keyPair,
  /** Whether the node is known to hold this key: until then an operator's key is tried, too. */
  confirmed: z.boolean().default(true),
  controllerToken: z.string().min(1).max(4096).optional(),
  /** Of the node's SSH server; none from a node that was set up by hand. */
  hostKeys: HostKeys.default([]),
  /** What the node may still hold, as long as the newer one is not known to be there (ADR-0006). */
  previous: z.array(z.object(keyPair)).max(8).default([]),
  /** How many of those nobody can read any more: the controller's master key changed since. */
  previousUnreadable: z.number().int().min(0).default(0),
  username: sshUser.optional(),
})
export type Material = z.infer<typeof Material>

/** Characters kept of an output: its end, where the reason stands. */
export const OUTPUT_KEPT = { stderr: 12_000, stdout: 20_000 } as const

export interface LifecycleJob {
  action: LifecycleAction
  completedAt?: string
  error?: string
  exitCode?: number
  id: string
  nodeAlias: string
  nodeId: string
  requestedAt: string
  requestedBy: string
  runnerRunId?: string
  startedAt: string
  status: 'running' | 'succeeded' | 'failed'
  stderr?: string
  stdout?: string
  targetHost: string
}
