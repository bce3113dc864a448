// First contact of a node: generates its key pair, exchanges the single-use token for the node token, and keeps only the
// public key.

import * as fs from 'node:fs'
import * as path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fingerprint, generateSshKey } from '../crypto/sshkey.ts'
import { makeDir } from '../kernel/dirs.ts'
import { UserError } from '../kernel/fail.ts'
import { faultWords } from '../kernel/words.ts'
import { installPublicKey, prepareKeys } from '../system/host/authorizedkeys.ts'
import { writeEnvFile } from '../system/host/envfile.ts'
import { linesOf } from '../system/host/files.ts'
import { refusedCode } from '../system/host/pairing.ts'
import type { InterfaceInput } from '../wire/nodes.ts'
import { type Link, LinkError, WRONG_TIME } from './link/link.ts'

/** Who this machine is to be and the single-use token for it, or a code that stands for both. */
export interface Joiner {
  linkOf(nodeId: string): Pick<Link, 'bootstrap'>
  obtain: { nodeId: string; token: string } | { code: string; link: Pick<Link, 'pair'> }
}

interface BootstrapOptions {
  authorizedKeysFile: string
  envFile: string
  /** Further settings for the env file: how this run reached the controller, and as which node. */
  envSettings(nodeId: string): Record<string, string>
  /** The only command the key may run on this machine, if restricted: see `installPublicKey`. */
  forcedCommand: string | undefined
  /** Public keys of this machine's SSH server. */
  hostKeys: string[]
  interfaces: InterfaceInput[]
  joiner: Joiner
  /** Says what it is waiting for. */
  say(words: string): void
  signal: AbortSignal
  username: string
}

interface Joined {
  fingerprint: string
  nodeId: string
}

function inWords(e: LinkError, nodeId: string, paired: boolean): string {
  // The token it was traded for is gone with this run.
  if (paired) return `the code was accepted, but the box could not join as ${nodeId}: ${e.message}. Get a new code.`
  if (e.status === 401)
    return `the controller refused the bootstrap token: it has expired, was already used, or belongs to another node than ${nodeId}. Create a new one on the controller.`
  if (e.status === 404) return `the controller does not know the node ${nodeId}: enroll it there first`
  if (e.status === 400) return `the controller rejected the request, and the token is still good. ${e.message}`
  if (e.status === undefined)
    return e.reason === WRONG_TIME
      ? `${e.message}. The token is still good.`
      : `${e.message}. Try again; if the token is refused then, it was already accepted: create a new one.`
  return e.message
}

/** Both files must be writable before the single-use token is spent: there is no second chance. */
function checkWritable(options: BootstrapOptions): void {
  for (const file of [options.envFile, options.authorizedKeysFile]) {
    const dir = path.dirname(file)
    try {
      if (file === options.authorizedKeysFile) prepareKeys(file)
      else makeDir(dir, 0o755)
      fs.accessSync(dir, fs.constants.W_OK | fs.constants.X_OK)
    } catch (e) {
      throw new UserError(
        `cannot write to ${dir} (${faultWords(e, dir)}): nothing was sent and the token is still good`,
      )
    }
  }
}

/**
 * Key first: the first use of the node token tells the controller that the key is in place, and retires the previous key.
 * @throws UserError
 */
function settle(options: BootstrapOptions, publicKey: string, settings: Record<string, string>): void {
  const { authorizedKeysFile, envFile, forcedCommand } = options
  let file = authorizedKeysFile
  try {
    installPublicKey(authorizedKeysFile, publicKey, forcedCommand)
    file = envFile
    // The settings go with the token: it is useless with another controller or another node ID.
    writeEnvFile(envFile, settings)
  } catch (e) {
    throw new UserError(
      `the controller accepted the node, but ${file} cannot be written (${(e as Error).message}). The token is spent: ` +
        'free some space or repair the disk, then join again with a new token or code.',
    )
  }
}

/** A machine without a clock battery gets its time soon after power-on. */
const CLOCK_WAIT_MS = 300_000
const CLOCK_LOOK_MS = 2000

/** Tries again while only this machine's clock is the obstacle: nothing was sent then, and the token is still good. */
async function inTime<T>(ask: () => Promise<T>, { say, signal }: BootstrapOptions): Promise<T> {
  let told = false
  for (const end = performance.now() + CLOCK_WAIT_MS; ; ) {
    try {
      return await ask()
    } catch (e) {
      if (!(e instanceof LinkError) || e.reason !== WRONG_TIME || performance.now() > end) throw e
      if (!told) say(`${e.message}. Waiting up to ${CLOCK_WAIT_MS / 60_000} minutes for the clock to be set.`)
      told = true
      await sleep(CLOCK_LOOK_MS, undefined, { signal })
    }
  }
}

/** The token as it was given, or traded for a code. @throws UserError */
async function obtained(options: BootstrapOptions): Promise<{ nodeId: string; token: string }> {
  const { obtain } = options.joiner
  if (!('code' in obtain)) return obtain
  return await inTime(() => obtain.link.pair(obtain.code), options).catch((e) => {
    throw e instanceof LinkError ? new UserError(pairingInWords(e)) : e
  })
}

function pairingInWords(e: LinkError): string {
  if (e.status !== undefined) return refusedCode(e.status) ?? e.message
  return e.reason === WRONG_TIME
    ? `${e.message}. The code is still good.`
    : `${e.message}. Try again; if the code is refused then, it was already accepted: get a new one.`
}

/**
 * One request spends the token. Whatever can fail is checked before it, and nothing on this machine changes until the
 * controller has accepted. The private key is only ever in memory. Throws UserError, or the signal's reason.
 */
export async function bootstrapNode(options: BootstrapOptions): Promise<Joined> {
  checkWritable(options)
  const { hostKeys, interfaces, joiner, signal, username } = options
  const { nodeId, token } = await obtained(options)
  const pair = generateSshKey(`svc-${nodeId}`)
  signal.throwIfAborted()
  const ask = () => joiner.linkOf(nodeId).bootstrap(token, { hostKeys, interfaces, ...pair, username })
  const joined = await inTime(ask, options).catch((e) => {
    throw e instanceof LinkError ? new UserError(inWords(e, nodeId, 'code' in joiner.obtain)) : e
  })
  settle(options, pair.publicKey, { ...options.envSettings(nodeId), SVC_CONTROLLER_TOKEN: joined.controllerToken })
  return { fingerprint: joined.fingerprint ?? fingerprint(pair.publicKey), nodeId }
}

// Strongest first. No current server offers others (dsa).
const TYPES = ['ed25519', 'ecdsa', 'rsa']

/**
 * Public keys of this machine's SSH server, one line each; empty without a server. Unreadable keys are left out: the node
 * joins without them, and the lifecycle runner refuses it until an operator provides its keys.
 */
export const readHostKeys = (dir: string): string[] =>
  TYPES.flatMap((type) => {
    try {
      const line = linesOf(path.join(dir, `ssh_host_${type}_key.pub`))[0]?.trim() ?? ''
      return fingerprint(line) ? [line] : []
    } catch {
      return [] // see above; the controller shows which key is missing
    }
  })
