// One lifecycle action on one node, from the key to the answer (docs/contract/lifecycle.md: Runner).
import * as fs from 'node:fs'
import { Fail } from '../kernel/fail.ts'
import type { Ids } from '../kernel/ids.ts'
import { Transcript } from '../kernel/redact.ts'
import { type Material, OUTPUT_KEPT, type RunAnswer, type RunRequest, type Stream } from '../wire/lifecycle.ts'
import type { MaintainLine } from '../wire/maintain.ts'
import type { RunSettings } from './config.ts'
import type { MaterialSource } from './material.ts'
import { converse, FILES, HOST_ALIAS, NO_SESSION, previousFile } from './ssh.ts'
import { hostOf, lineOf, loginOf, mints, operatorKeyOf } from './target.rules.ts'
import type { Vault } from './vault.ts'

export interface RunParts {
  ids: Ids
  material: MaterialSource
  /** Our own tokens, removed from all output. */
  secrets: readonly string[]
  settings: RunSettings
  vault: Vault
}

/** Called with redacted output as it arrives. */
export type Tell = (stream: Stream, text: string) => void

interface Keys {
  credential: Material | undefined
  /** Private keys by the names of their files, in the order in which they are tried. */
  files: Record<string, string>
}

/** What has been said in this run, by the node and by us. */
class Output {
  readonly #streams: Record<Stream, Transcript>
  readonly #tell: Tell

  constructor(secrets: readonly string[], tell: Tell) {
    const of = (stream: Stream) => new Transcript(OUTPUT_KEPT[stream], secrets)
    this.#streams = { stderr: of('stderr'), stdout: of('stdout') }
    this.#tell = tell
  }

  readonly add = (piece: string, stream: Stream): void => this.#told(stream, this.#streams[stream].add(piece))

  hide(secret: string): void {
    for (const transcript of Object.values(this.#streams)) transcript.hide(secret)
  }

  end(): Record<Stream, string> {
    for (const stream of ['stderr', 'stdout'] as const) this.#told(stream, this.#streams[stream].end())
    return { stderr: this.#streams.stderr.text, stdout: this.#streams.stdout.text }
  }

  #told(stream: Stream, text: string): void {
    if (text) this.#tell(stream, text)
  }
}

/**
 * Performs the action. Whatever becomes of it on the node is an exit code; afterwards neither key nor token is anywhere.
 * @throws Fail when there was no run, with the reason that docs/lifecycle.md lists; the signal's reason when it was given
 * up.
 */
export async function perform(
  parts: RunParts,
  run: RunRequest,
  tell: Tell,
  signal: AbortSignal,
): Promise<RunAnswer['data']> {
  const { ids, settings, vault } = parts
  const host = hostOf(settings, run)
  if (!host) throw new Fail(400, 'target_host_required', 'Neither the request nor the targets name a usable host.')
  const keys = await keysOf(parts, run, signal)
  const { credential } = keys
  const line = lineOf(run, { controllerCa: settings.controllerCa, publicKey: credential?.publicKey })
  if (!line)
    throw new Fail(400, 'ssh_credential_required', 'The node has no managed key yet: rotate its SSH credential.')
  const output = new Output([...parts.secrets, ...secretsOf(keys)], tell)
  const answer = (exitCode: number) => ({ exitCode, runId: ids.make('ansible'), ...output.end(), targetHost: host })
  const hosts = knownHosts(settings, credential)
  if (!hosts) return answer(unknownHost(output))
  const session = {
    env: settings.env,
    keys: Object.keys(keys.files),
    pinned: hosts.pinned,
    signal,
    silenceMs: settings.silenceMs,
    target: { host, ...loginOf(settings, run, credential) },
    tell: output.add,
  }
  const exitCode = await vault.lend({ ...keys.files, [FILES.knownHosts]: hosts.text }, async (dir) => {
    const speak = (words: MaintainLine) => converse({ ...session, dir }, `${JSON.stringify(words)}\n`)
    const code = await speak(line)
    if (code === NO_SESSION && credential?.previousUnreadable) output.add(UNREADABLE, 'stderr')
    return code === 0 && mints(run, credential) ? await activate(parts, run, output, signal, speak) : code
  })
  return answer(exitCode)
}

/** A token once the deploy is in service: a failed one never sees any (ADR-0006). */
async function activate(
  parts: RunParts,
  run: RunRequest,
  output: Output,
  signal: AbortSignal,
  speak: (line: MaintainLine) => Promise<number>,
): Promise<number> {
  const token = await minted(parts, run, output, signal)
  if (typeof token === 'number') return token
  output.hide(token)
  return await speak({ action: 'activate_token', controllerToken: token, nodeId: run.target.nodeId, ...forced(run) })
}

const forced = ({ options }: RunRequest) => (options.force ? { force: true } : {})

/**
 * The token; without one, the exit code, with the reason told: the node keeps its current token. A controller that
 * answers and mints none is no failure (docs/contract/lifecycle.md: Material), one that does not answer is.
 */
async function minted({ material }: RunParts, run: RunRequest, output: Output, signal: AbortSignal) {
  const goesOn = 'The deploy is done and the node keeps its current token'
  try {
    const credential = await material.fetch(run.target.nodeId, true, signal)
    if (credential?.controllerToken) return credential.controllerToken
    output.add(`${goesOn}: the controller minted no new one.\n`, 'stderr')
    return 0
  } catch (e) {
    if (!(e instanceof Fail)) throw e
    output.add(`${goesOn}: a new one could not be fetched. ${e.message}\n`, 'stderr')
    return 1
  }
}

/**
 * The managed key, and beside it what the node may hold until that one is known to be there: earlier ones, and the
 * operator's own. Without a managed key the operator's alone. @throws Fail without any.
 */
async function keysOf({ material, settings }: RunParts, run: RunRequest, signal: AbortSignal): Promise<Keys> {
  const credential = await material.fetch(run.target.nodeId, false, signal)
  if (credential?.confirmed) return { credential, files: { [FILES.key]: credential.privateKey } }
  const own = operatorKeyOf(settings, run.target.nodeId)
  const operators: Record<string, string> = own ? { [FILES.operatorKey]: textOf(own.setting, own.file) } : {}
  if (!credential) {
    if (own) return { credential, files: operators }
    throw new Fail(
      400,
      'ssh_key_required',
      'The node has no managed key, and neither SVC_ANSIBLE_TARGETS nor SVC_ANSIBLE_SSH_KEY_FILE names one.',
    )
  }
  const previous = credential.previous.map(({ privateKey }, at) => [previousFile(at), privateKey])
  return { credential, files: { [FILES.key]: credential.privateKey, ...Object.fromEntries(previous), ...operators } }
}

/** The keys, and each of their lines: a program that fails may quote a part. */
const secretsOf = ({ files }: Keys): string[] =>
  Object.values(files).flatMap((key) => [
    key,
    ...key.split('\n').filter((line) => line.length > 30 && !line.startsWith('-')),
  ])

const UNREADABLE =
  'The node may hold an earlier key that the controller cannot read any more, because its master key was changed. Put the ' +
  'present public key into authorized_keys on the node, or bootstrap the node again.\n'

/** What the node sent at its bootstrap, else the operator's file; undefined when nothing is known. */
function knownHosts(
  settings: RunSettings,
  credential: Material | undefined,
): { pinned: boolean; text: string } | undefined {
  const sent = credential?.hostKeys ?? []
  if (sent.length > 0) return { pinned: true, text: `${sent.map((key) => `${HOST_ALIAS} ${key}`).join('\n')}\n` }
  if (settings.knownHostsFile === undefined) return undefined
  return { pinned: false, text: textOf('SVC_ANSIBLE_KNOWN_HOSTS_FILE', settings.knownHostsFile) }
}

/** Read for each run, because operators replace these files. @throws Fail */
function textOf(setting: string, file: string): string {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch (e) {
    throw new Fail(400, 'file_unreadable', `${setting} names ${file}, which cannot be read: ${(e as Error).message}.`)
  }
}

function unknownHost(output: Output): number {
  const words =
    'The host key of the node is not known, and nobody is trusted on sight: bootstrap the node, or add its line to the ' +
    'file of SVC_ANSIBLE_KNOWN_HOSTS_FILE (ssh-keyscan, compared with what the node shows at its console).\n'
  output.add(words, 'stderr')
  return NO_SESSION
}
