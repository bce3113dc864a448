// roomtone setup: what the installer scripts call, once the program is on the box.

import * as fs from 'node:fs'
import { parseArgs } from 'node:util'
import { inExecutable } from '../../kernel/assets.ts'
import { misuse, UserError } from '../../kernel/fail.ts'
import { readNamedFile } from '../../kernel/settings.ts'
import { version } from '../../kernel/version.ts'
import { UNITS } from '../host/places.ts'
import { prepareAgent, setupAgent } from './agent.ts'
import { FIRST_PASSWORD, setupController } from './controller.ts'
import { credentialFile } from './credentials.ts'
import { RUNNER_SECRETS, setupLifecycle } from './lifecycle.ts'
import type { Role, SetupDone, SetupParts } from './options.ts'
import { ROLES, removeAll } from './remove.ts'

const HELP = `usage: roomtone setup agent --controller-url URL --node-id ID [--bootstrap-token-file FILE|-] [options]
       roomtone setup controller [--public-url URL] [--host ADDRESS] [--port N] [--tls-cert FILE --tls-key FILE]
                                [--with-lifecycle]
       roomtone setup lifecycle --controller-url URL [options]
       roomtone setup stick
       roomtone setup remove [agent|controller|lifecycle] [--purge]

Makes this box what it is to be: packages, users, directories, this program, systemd units, settings; starts the service
and waits until it works. "stick" prepares it only: a setup stick does the rest. A second run changes nothing; one that
fails leaves the box as it was before. Needs root.

agent:
  --controller-url URL         address of the controller
  --node-id ID                 the node, as enrolled on the controller
  --bootstrap-token-file FILE  single-use token, - = standard input; not needed on a box that has joined
  --node-alias, --site, --room TEXT   how people call it and where it is
  --controller-ca FILE         certificate authority of the controller, PEM
  --allow-insecure             accept plain http and certificates nobody vouches for (development only)
  --replace                    make a box that is another node this one
controller:
  --with-lifecycle             it acts on its nodes over SSH itself: a site of one box needs no runner
lifecycle:
  --controller-url URL         address of the controller, which keeps the keys
  --controller-ca FILE, --allow-insecure   as above
  --controller-token-file FILE what the runner shows the controller, - = standard input (default: made, and told where)
  --runner-token-file FILE     what the controller shows the runner (default: made, and told where)
all:
  --no-packages                do not install packages of the system; what is missing is told
  --no-start                   leave the service stopped and not enabled
remove:
  --purge                      also settings, keys, recordings and users: nothing is left
`

/** As a shell tells of SIGINT. */
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

const parse = (args: string[]) => parseArgs({ args, options: OPTIONS, allowPositionals: true })
type Flags = ReturnType<typeof parse>['values']

/** From a file or the standard input; never an argument, which every user of the box could see. */
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

async function agent(flags: Flags, parts: SetupParts): Promise<SetupDone> {
  const ca = flags['controller-ca']
  const token = tokenOf(flags, 'bootstrap-token-file')
  const optional = { alias: flags['node-alias'], bootstrapToken: token, room: flags.room, site: flags.site }
  return await setupAgent(
    {
      ...Object.fromEntries(Object.entries(optional).filter(([, given]) => given !== undefined)),
      ...(ca === undefined ? {} : { controllerCa: readNamedFile('--controller-ca', ca) }),
      allowInsecure: flags['allow-insecure'],
      controllerUrl: needed(flags, 'controller-url'),
      nodeId: needed(flags, 'node-id'),
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
    throw misuse('standard input can hold only one token: give the other one in a file')
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

/** The other side needs the same, and its services look for them under the same names. */
function tellSecrets({ say }: SetupParts): void {
  const files = RUNNER_SECRETS.map(credentialFile).filter((file) => fs.existsSync(file))
  if (files.length === 0) return
  say(`The controller needs the same ${files.join(' and ')} (root's, mode 0600), and this runner's address as`)
  say('SVC_ANSIBLE_RUNNER_URL in its settings; then restart it.')
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
    throw new UserError('this box does not run systemd, which is needed to start and watch the services')
  if (!inExecutable && verb !== 'remove')
    throw new UserError('setup runs from the executable only: npm run build, then dist/roomtone setup')
}

/** Aborted by the first signal; a second one is heard no more while changes are taken back. */
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
    throw signal.aborted ? new UserError('stopped by a signal; the box is as it was before', STOPPED) : e
  } finally {
    forget()
  }
}

function print(words: string): number {
  process.stdout.write(words)
  return 0
}
