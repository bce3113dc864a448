import * as z from 'zod'
import { choice, count, type SettingsTable, secret, webUrl } from '../../kernel/settings.ts'
import { isReleaseKey } from '../../system/host/release.ts'

/** Nodes, their releases and lifecycle, and switchers. */
export const FLEET_SETTINGS = {
  SVC_SWITCHER_ROUTING_RUNNER_ENABLED: [choice(true), 'whether live meetings are routed to switchers'],
  SVC_SWITCHER_ROUTING_RUNNER_INTERVAL_SECONDS: [count(20), 'pause between routing passes'],
  SVC_SWITCHER_ROUTING_RUNNER_BATCH_SIZE: [count(100), 'maximum number of switchers per routing pass'],
  SVC_NODE_OFFLINE_AFTER_SECONDS: [count(120, 0), 'silence after which a node is offline, 0 = never'],
  SVC_AGENT_RELEASE_REPO: [
    z
      .string()
      .regex(/^[\w.-]+\/[\w.-]+$/, 'expected owner/name')
      .optional(),
    'repository (owner/name) whose releases are offered as agent updates; unset = no update check',
  ],
  SVC_AGENT_RELEASE_TTL_MS: [count(1_800_000, 1000), 'how long a checked release counts as fresh, ms'],
  SVC_AGENT_RELEASE_TIMEOUT_MS: [count(10_000), 'longest duration of a release check, ms'],
  SVC_AGENT_RELEASE_DIR: [
    z.string().optional(),
    'releases that nodes get from here, a folder each (default: releases below the data directory)',
  ],
  SVC_AGENT_RELEASE_FETCH: [choice(true), 'whether a new release is fetched from the release host, about 100 MB'],
  SVC_AGENT_RELEASE_PUBLIC_KEY: [
    z.string().refine(isReleaseKey, 'expected an Ed25519 public key (PEM)').optional(),
    'Ed25519 public key (PEM) that releases must be signed with; unset = checksums alone',
  ],
  SVC_GITHUB_API_URL: [webUrl.default('https://api.github.com'), 'base URL of the release list'],
  SVC_GITHUB_TOKEN: [z.string().min(1).optional(), 'token for the release list'],
  SVC_ANSIBLE_RUNNER_URL: [webUrl.optional(), 'base URL of the lifecycle runner; unset = lifecycle actions fail'],
  SVC_ANSIBLE_RUNNER_TOKEN: [secret.optional(), 'token the lifecycle runner asks for'],
  SVC_ANSIBLE_RUNNER_TIMEOUT_MS: [count(120_000), 'longest silence of the lifecycle runner during an action, ms'],
  SVC_LIFECYCLE_EMBEDDED: [
    choice(false),
    'whether this process acts on nodes itself, without a runner; with the settings of its runs',
  ],
} as const satisfies SettingsTable
