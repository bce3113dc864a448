// Day 0 of a node: makes its key, trades the single-use token for the node token, keeps only the public half.
import * as crypto from 'node:crypto'
import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import { installPublicKey, prepareKeys } from '../host/authorizedkeys.ts'
import { writeEnvFile } from '../host/envfile.ts'
import { NotStarted, run } from '../host/run.ts'
import { makeDir } from '../kernel/dirs.ts'
import type { InterfaceInput } from '../wire/nodes.ts'
import { type Link, LinkError } from './link/link.ts'

/** Why the node could not join, in words for the person at the terminal. Holds no key and no token. */
export class BootstrapFailed extends Error {}

export interface BootstrapOptions {
  authorizedKeysFile: string
  childEnv: NodeJS.ProcessEnv
  envFile: string
  /** What the env file must say beside the token: how this run reached the controller. */
  envSettings: Record<string, string>
  /** What the key may do on this box, where it is not to be everything: see `installPublicKey`. */
  forcedCommand: string | undefined
  /** Public keys of this box's SSH server. */
  hostKeys: string[]
  interfaces: InterfaceInput[]
  link: Pick<Link, 'bootstrap'>
  nodeId: string
  signal: AbortSignal
  sshKeygenCommand: string
  token: string
  username: string
}

export interface Joined {
  fingerprint: string
}

interface KeyPair {
  dir: string
  file: string
}

/** Overwrites the private key with zeros on disk, then removes everything of it. Safe to call twice. */
export function wipeKey({ dir, file }: KeyPair): void {
  try {
    const handle = fs.openSync(file, 'r+')
    try {
      fs.writeSync(handle, Buffer.alloc(fs.fstatSync(handle).size), 0, undefined, 0)
      fs.fsyncSync(handle)
    } finally {
      fs.closeSync(handle)
    }
  } catch (e) {
    if ((e as NodeJS.ErrnoException).code !== 'ENOENT') throw e
  } finally {
    fs.rmSync(dir, { force: true, recursive: true })
  }
}

async function makeKey(options: BootstrapOptions, key: KeyPair): Promise<{ privateKey: string; publicKey: string }> {
  const args = ['-q', '-t', 'ed25519', '-N', '', '-C', `svc-${options.nodeId}`, '-f', key.file]
  const made = await run(options.sshKeygenCommand, args, { env: options.childEnv, signal: options.signal }).catch(
    (e) => {
      if (e instanceof NotStarted) throw new BootstrapFailed(`${e.message}; install openssh-client`)
      throw e
    },
  )
  if (made.code !== 0)
    throw new BootstrapFailed(`${options.sshKeygenCommand} failed: ${made.stderr.trim().slice(0, 300)}`)
  const pair = {
    privateKey: fs.readFileSync(key.file, 'utf8'),
    publicKey: fs.readFileSync(`${key.file}.pub`, 'utf8').trim(),
  }
  // Wiped before the request, not after: a process killed while it waits leaves nothing behind.
  wipeKey(key)
  return pair
}

function inWords(e: LinkError, nodeId: string): string {
  if (e.status === 401)
    return `the controller refused the bootstrap token: it is expired, already used, or made for another node than ${nodeId}. Ask for a new one.`
  if (e.status === 404) return `the controller does not know the node ${nodeId}: enroll it first`
  if (e.status === 400) return `the controller did not accept the request; the token is still good. ${e.message}`
  return e.message
}

/** SHA256 fingerprint as ssh-keygen prints it. */
const fingerprintOf = (publicKey: string): string => {
  const blob = Buffer.from(publicKey.split(' ')[1] as string, 'base64')
  return `SHA256:${crypto.createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')}`
}

/** Both files must be writable before the single-use token is spent: afterwards there is no second chance. */
function checkWritable(options: BootstrapOptions): void {
  for (const file of [options.envFile, options.authorizedKeysFile]) {
    const dir = path.dirname(file)
    try {
      if (file === options.authorizedKeysFile) prepareKeys(file)
      else makeDir(dir, 0o755)
      fs.accessSync(dir, fs.constants.W_OK | fs.constants.X_OK)
    } catch (e) {
      throw new BootstrapFailed(`${dir} cannot be written (${(e as NodeJS.ErrnoException).code}); nothing was sent`)
    }
  }
}

function placeKey({ authorizedKeysFile: file, forcedCommand }: BootstrapOptions, publicKey: string): void {
  try {
    installPublicKey(file, publicKey, forcedCommand)
  } catch (e) {
    throw new BootstrapFailed(`the key cannot be put into ${file} (${(e as Error).message}); nothing was sent`)
  }
}

async function join(options: BootstrapOptions, key: KeyPair): Promise<Joined> {
  const pair = await makeKey(options, key)
  placeKey(options, pair.publicKey)
  options.signal.throwIfAborted()
  const { hostKeys, interfaces, username } = options
  const joined = await options.link.bootstrap(options.token, { hostKeys, interfaces, ...pair, username }).catch((e) => {
    throw e instanceof LinkError ? new BootstrapFailed(inWords(e, options.nodeId)) : e
  })
  // The settings travel with the token: it is worth nothing at another controller or under another node id.
  writeEnvFile(options.envFile, { ...options.envSettings, SVC_CONTROLLER_TOKEN: joined.controllerToken })
  return { fingerprint: joined.fingerprint ?? fingerprintOf(pair.publicKey) }
}

/**
 * One request spends the token; everything that can fail is tried before it. The private key is wiped on every path.
 * Throws BootstrapFailed, or the signal's reason.
 */
export async function bootstrapNode(options: BootstrapOptions): Promise<Joined> {
  checkWritable(options)
  // mkdtemp makes a fresh 0700 directory: no stale or foreign file can be in the way.
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'roomtone-bootstrap-'))
  const key = { dir, file: path.join(dir, 'id_ed25519') }
  try {
    return await join(options, key)
  } finally {
    wipeKey(key)
  }
}
