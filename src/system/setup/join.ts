// Joins the node to its controller by running `roomtone agent --bootstrap`, with the token on its standard input.

import * as path from 'node:path'
import { UserError } from '../../kernel/fail.ts'
import { NoAnswer } from '../../kernel/http.ts'
import { wouldTake } from '../host/ask.ts'
import { readEnvFile } from '../host/envfile.ts'
import { FORCED_COMMAND, PLACES, USERS } from '../host/places.ts'
import { run } from '../host/run.ts'
import type { Trust } from '../host/trust.ts'
import { ownEnv } from './config.ts'
import type { Step } from './journal.ts'
import { type AgentSetup, JoinRefused } from './options.ts'
import { lastWords } from './system.ts'

const JOIN_MS = 120_000

/**
 * Runs as root, so nothing the agent's user can write may count: `.asoundrc` in a home, for example, names libraries to
 * load.
 */
const agent = (args: string[], input = '') =>
  run(PLACES.executable, ['agent', '--env-file', PLACES.agentSettings, ...args], {
    cwd: PLACES.agentHome,
    env: ownEnv(PLACES.agentLogin),
    input,
    timeoutMs: JOIN_MS,
  })

const hasToken = (): boolean => readEnvFile(PLACES.agentSettings).SVC_CONTROLLER_TOKEN !== undefined

/** Whether the controller refuses the token of this box: it was revoked, or the node was enrolled again. */
async function refused(): Promise<boolean> {
  const asked = await agent(['--print-channel-map-assignments'])
  // An unreachable controller says nothing about the token.
  return asked.code !== 0 && /\b40[134]\b/.test(lastWords(asked))
}

const NO_TOKEN = (nodeId: string): string =>
  `this box has no token for ${nodeId} yet: mint a bootstrap token for that node and pass it with --bootstrap-token-file`

/** How this box recognises its controller: by the authority given, else as its settings say. */
export function boxTrust(ca: string | undefined): Trust {
  const settings = readEnvFile(PLACES.agentSettings)
  return {
    ca,
    caFile: ca === undefined ? settings.SVC_CONTROLLER_CA_CERT_PATH : undefined,
    clientCertFile: settings.SVC_CONTROLLER_CLIENT_CERT_PATH,
    clientKeyFile: settings.SVC_CONTROLLER_CLIENT_KEY_PATH,
  }
}

/**
 * Before anything is installed: checks that there is a token if one is needed, that the controller answers, and that it
 * would accept the token, without using it up. @throws JoinRefused when it would not, UserError; the signal's reason when
 * aborted
 */
export async function checkJoining(options: AgentSetup, signal: AbortSignal): Promise<void> {
  const { allowInsecure, bootstrapToken: token, controllerCa: ca, controllerUrl: url, nodeId } = options
  const before = readEnvFile(PLACES.agentSettings)
  const same = before.SVC_NODE_ID === nodeId && before.SVC_CONTROLLER_URL === url
  if (same && before.SVC_CONTROLLER_TOKEN !== undefined) return
  if (token === undefined) throw new UserError(NO_TOKEN(nodeId))
  const good = await wouldTake({ allowInsecure, url, ...boxTrust(ca) }, { nodeId, signal, token }).catch((e) => {
    throw e instanceof NoAnswer ? new UserError(e.message) : e
  })
  if (!good)
    throw new JoinRefused(
      `the node could not join: the controller refused the bootstrap token. It has expired, was already used, or is for another node than ${nodeId}: mint a new one`,
    )
}

/**
 * A box that has joined needs no token; a new one is used only where the controller refuses the old credential. Using it
 * takes one request; everything else that can fail is tried before.
 */
export function joinStep({ bootstrapToken, nodeId, rejoin }: AgentSetup): Step {
  return {
    name: `joining the fleet as ${nodeId}`,
    done: async () => hasToken() && !(bootstrapToken !== undefined && (rejoin || (await refused()))),
    async apply(journal) {
      if (bootstrapToken === undefined) throw new UserError(NO_TOKEN(nodeId))
      const before = hasToken()
      journal.keepDirectory(path.dirname(PLACES.agentKeys))
      journal.keep(PLACES.agentKeys)
      journal.keep(PLACES.agentSettings)
      const joined = await agent(
        [
          '--bootstrap',
          ...['--bootstrap-token-file', '-', '--bootstrap-env-file', PLACES.agentSettings],
          ...['--bootstrap-authorized-keys', PLACES.agentKeys, '--bootstrap-user', USERS.agent],
          ...['--bootstrap-forced-command', FORCED_COMMAND],
        ],
        bootstrapToken,
      )
      if (joined.code !== 0) throw new JoinRefused(`the node could not join: ${lastWords(joined)}`)
      // The controller has revoked the node's old credentials: restoring them would cut it off.
      if (before) journal.settle(PLACES.agentKeys, PLACES.agentSettings, PLACES.controllerCa)
    },
  }
}
