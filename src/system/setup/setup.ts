// roomtone setup: called by the installer scripts once the program is on the box.

import * as fs from 'node:fs'
import { parseArgs } from 'node:util'
import { inExecutable } from '../../kernel/assets.ts'
import { misuse, UserError } from '../../kernel/fail.ts'
import { readNamedFile } from '../../kernel/settings.ts'
import { version } from '../../kernel/version.ts'
import { givenCode, pairBox, withAsked } from '../host/pairing.ts'
import { UNITS } from '../host/places.ts'
import { prepareAgent, setupAgent } from './agent.ts'
import { FIRST_PASSWORD, setupController } from './controller.ts'
import { credentialFile } from './credentials.ts'
import { boxTrust } from './join.ts'
import { RUNNER_SECRETS, setupLifecycle } from './lifecycle.ts'
import { addressFault, normalUrl } from './options.rules.ts'
import type { Role, SetupDone, SetupParts } from './options.ts'
import { ROLES, removeAll } from './remove.ts'

const HELP = `usage: roomtone setup agent --controller-url URL --pairing-code [CODE] [options]
       roomtone setup agent --controller-url URL --node-id ID [--bootstrap-token-file FILE|-] [options]
       roomtone setup controller [--public-url URL] [--host ADDRESS] [--port N] [--tls-cert FILE --tls-key FILE]
                                [--with-lifecycle]
       roomtone setup lifecycle --controller-url URL [options]
       roomtone setup stick
       roomtone setup remove [agent|controller|lifecycle] [--purge]

Sets up this box: packages, users, directories, this program, systemd units and settings; then starts the service and
waits until it works. "stick" only prepares the box for a setup stick. A second run changes nothing; a run that fails
leaves the box as it was before. Needs root.

agent:
  --controller-url URL         address of the controller
  --pairing-code [CODE]        the code on the recorder's page in the console, in place of node and token; without one it is
                               asked for
  --node-id ID                 the node, as enrolled on the controller
  --bootstrap-token-file FILE  single-use token, - = standard input; not needed on a box that has already joined
  --node-alias, --site, --room TEXT   its name for people, and where it is
  --controller-ca FILE         certificate authority of the controller, PEM
  --allow-insecure             accept plain http and untrusted certificates (development only)
  --replace                    turn a box that is another node into this one
controller:
  --with-lifecycle             the controller acts on its nodes over SSH itself: no separate runner is needed
lifecycle:
  --controller-url URL         address of the controller, which keeps the keys
  --controller-ca FILE, --allow-insecure   as above
  --controller-token-file FILE the runner's token for the controller, - = standard input (default: generated; its file is printed)
  --runner-token-file FILE     the controller's token for the runner (default: generated; its file is printed)
all:
  --no-packages                do not install Debian packages; only list missing ones
  --no-start                   leave the service stopped and not enabled
remove:
  --purge                      also remove settings, keys, users and all recordings
`

/** As a shell reports SIGINT. */
const STOPPED = 130

const value = { type: 'string' } as const
const toggle = { type: 'boolean', default: false } as const
const OPTIONS = {
  'allow-insecure': toggle,
  'bootstrap-token-file': value,
  'controller-ca': value,
  'controller-token-file': value,
  'controller-url': value,
  help: { ...toggle, short: 'h' },
  host: value,
  'no-packages': toggle,
  'no-start': toggle,
  'node-alias': value,
  'node-id': value,
  'pairing-code': value,
  port: value,
  'public-url': value,
  purge: toggle,
  replace: toggle,
  room: value,
  'runner-token-file': value,
  site: value,
  'tls-cert': value,
  'tls-key': value,
  'with-lifecycle': toggle,
} as const

const parse = (args: string[]) => parseArgs({ args: withAsked(args), options: OPTIONS, allowPositionals: true })
type Flags = ReturnType<typeof parse>['values']

/** From a file or standard input; never an argument, which every user of the box could see. */
function tokenOf(
  flags: Flags,
  flag: 'bootstrap-token-file' | 'controller-token-file' | 'runner-token-file',
): string | undefined {
  const file = flags[flag]
  if (file === undefined) return undefined
  return readNamedFile(`--${flag}`, file).trim()
}

function needed(flags: Flags, name: 'controller-url' | 'node-id'): string {
  const given = flags[name]
  if (!given) throw misuse(`--${name} is missing: see roomtone setup --help`)
  return given
}

/** Which node this box is to be, and the token for it: as given, or traded for a pairing code, which is spent. */
async function identity(flags: Flags, controllerCa: string | undefined, { signal }: SetupParts) {
  const code = flags['pairing-code']
  if (code === undefined) {
    const bootstrapToken = tokenOf(flags, 'bootstrap-token-file')
    return { nodeId: needed(flags, 'node-id'), ...(bootstrapToken === undefined ? {} : { bootstrapToken }) }
  }
  if (flags['node-id'] !== undefined || flags['bootstrap-token-file'] !== undefined)
    throw misuse('--pairing-code stands for the node and its token: leave out --node-id and --bootstrap-token-file')
  const [allowInsecure, url] = [flags['allow-insecure'], normalUrl(needed(flags, 'controller-url'))]
  const fault = addressFault({ allowInsecure, controllerCa, controllerUrl: url })
  if (fault) throw new UserError(fault)
  const { nodeId, token } = await pairBox(
    { allowInsecure, url, ...boxTrust(controllerCa) },
    await givenCode(code),
    signal,
  )
  return { bootstrapToken: token, nodeId }
}

async function agent(flags: Flags, parts: SetupParts): Promise<SetupDone> {
  const ca = flags['controller-ca']
  const controllerUrl = needed(flags, 'controller-url')
  const controllerCa = ca === undefined ? undefined : readNamedFile('--controller-ca', ca)
  const optional = { alias: flags['node-alias'], controllerCa, room: flags.room, site: flags.site }
  return await setupAgent(
    {
      ...Object.fromEntries(Object.entries(optional).filter(([, given]) => given !== undefined)),
      ...(await identity(flags, controllerCa, parts)),
      allowInsecure: flags['allow-insecure'],
      controllerUrl,
      packages: !flags['no-packages'],
      replace: flags.replace,
      start: !flags['no-start'],
    },
    parts,
  )
}

async function controller(flags: Flags, parts: SetupParts): Promise<SetupDone> {
  const done = await setupController(
    {
      ...(flags.host === undefined ? {} : { host: flags.host }),
      ...(flags.port === undefined ? {} : { port: Number(flags.port) }),
      ...(flags['public-url'] === undefined ? {} : { publicUrl: flags['public-url'] }),
      ...(flags['tls-cert'] === undefined ? {} : { tlsCert: flags['tls-cert'] }),
      ...(flags['tls-key'] === undefined ? {} : { tlsKey: flags['tls-key'] }),
      lifecycle: flags['with-lifecycle'],
      packages: !flags['no-packages'],
      start: !flags['no-start'],
    },
    parts,
  )
  if (fs.existsSync(FIRST_PASSWORD))
    parts.say(
      `The password of the first admin is in ${FIRST_PASSWORD} (readable by root), unless it has been changed since.`,
    )
  return done
}

async function lifecycle(flags: Flags, parts: SetupParts): Promise<SetupDone> {
  const ca = flags['controller-ca']
  if (flags['controller-token-file'] === '-' && flags['runner-token-file'] === '-')
    throw misuse('standard input can hold only one token: pass the other one as a file')
  const optional = {
    controllerCa: ca === undefined ? undefined : readNamedFile('--controller-ca', ca),
    controllerToken: tokenOf(flags, 'controller-token-file'),
    controllerUrl: flags['controller-url'],
    runnerToken: tokenOf(flags, 'runner-token-file'),
  }
  const done = await setupLifecycle(
    {
      ...Object.fromEntries(Object.entries(optional).filter(([, given]) => given !== undefined)),
      allowInsecure: flags['allow-insecure'],
      packages: !flags['no-packages'],
      start: !flags['no-start'],
    },
    parts,
  )
  tellSecrets(parts)
  return done
}

/** The controller looks for them under the same names. */
function tellSecrets({ say }: SetupParts): void {
  const files = RUNNER_SECRETS.map(credentialFile).filter((file) => fs.existsSync(file))
  if (files.length === 0) return
  say(`The controller needs the same ${files.join(' and ')} (owner root, mode 0600), and this runner's address as`)
  say('SVC_ANSIBLE_RUNNER_URL in its settings. Then restart it.')
}

function remove(flags: Flags, parts: SetupParts, [role]: string[]): Promise<SetupDone> {
  if (role !== undefined && !ROLES.includes(role as Role))
    throw misuse(`unknown role "${role}": expected ${ROLES.join(', ')}`)
  return removeAll({ purge: flags.purge, ...(role === undefined ? {} : { roles: [role as Role] }) }, parts)
}

type Verb = (flags: Flags, parts: SetupParts, rest: string[]) => Promise<SetupDone>
const stick: Verb = (flags, parts) => prepareAgent(!flags['no-packages'], parts)

const VERBS: Record<string, Verb> = { agent, controller, lifecycle, remove, stick }

const ending = (verb: string, { changed }: SetupDone): string => {
  if (changed.length === 0) return 'Nothing to do: everything is already in place.'
  if (verb === 'remove') return `Removed: ${changed.join(', ')}.`
  return verb === 'agent' && changed.includes(`the service ${UNITS.agent}`)
    ? `Done: this box runs Roomtone ${version} and is connected to its controller.`
    : `Done: this box runs Roomtone ${version}.`
}

function prerequisites(verb: string): void {
  if (process.getuid?.() !== 0) throw new UserError('only root can do this: run it with sudo')
  if (!fs.existsSync('/run/systemd/system'))
    throw new UserError('this box does not run systemd, which Roomtone needs to run its services')
  if (!inExecutable && verb !== 'remove')
    throw new UserError('setup needs the executable: npm run build, then dist/roomtone setup')
}

/** Aborted by the first signal; later ones are ignored while changes are undone. */
function stopping(): { forget(): void; signal: AbortSignal } {
  const aborting = new AbortController()
  const heard = () => aborting.abort(new UserError('stopped by a signal'))
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const name of signals) process.on(name, heard)
  return {
    forget: () => {
      for (const name of signals) process.off(name, heard)
    },
    signal: aborting.signal,
  }
}

/** The program `roomtone setup`. Resolves to the exit code. */
export async function main(args: string[]): Promise<number> {
  const { values: flags, positionals } = parse(args)
  const [verb = '', ...rest] = positionals
  if (flags.help) return print(HELP)
  const does = Object.hasOwn(VERBS, verb) ? VERBS[verb] : undefined
  if (!does || (verb !== 'remove' && rest.length > 0)) throw misuse(HELP.trimEnd())
  prerequisites(verb)
  const { forget, signal } = stopping()
  const say = (line: string) => void process.stdout.write(`${line}\n`)
  try {
    const done = await does(flags, { say, signal }, rest)
    for (const line of [ending(verb, done), ...(done.warnings ?? [])]) say(line)
    return 0
  } catch (e) {
    throw signal.aborted ? new UserError('interrupted by a signal; all changes were undone', STOPPED) : e
  } finally {
    forget()
  }
}

function print(words: string): number {
  process.stdout.write(words)
  return 0
}
