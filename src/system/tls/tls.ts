// roomtone tls: certificates for a site without an authority of its own.

import * as path from 'node:path'
import { parseArgs } from 'node:util'
import { systemClock } from '../../kernel/clock.ts'
import { misuse } from '../../kernel/fail.ts'
import { groupId } from '../host/accounts.ts'
import { PLACES, USERS } from '../host/places.ts'
import { type Host, hostOf } from './names.ts'
import { initSite, MAX_SERVER_DAYS, makeClient, renewSite, type Shown, showSite, siteFiles } from './site.ts'

const SOON_DAYS = 30
const AUTHORITY_SOON_DAYS = 365
const CLIENT_DAYS = 1095

const HELP = `usage: roomtone tls init --host NAME [--host NAME|IP ...] [--permit DOMAIN ...] [--dir DIR]
       roomtone tls renew [--host NAME|IP ...] [--within DAYS] [--force] [--new-key] [--dir DIR]
       roomtone tls client NAME [--days N] [--force] [--dir DIR]
       roomtone tls show [--dir DIR]

init     creates the site's certificate authority (good for ten years, and only for the names given, --permit domains with their
         subdomains, and private addresses) and the controller's certificate
renew    renews the controller's certificate when less than ${SOON_DAYS} days (--within) are left, or adds a name; the
         controller picks it up without a restart. On an installed controller a timer does this daily
client   creates a client certificate for a recorder, good for ${CLIENT_DAYS} days (--days)
show     shows names, fingerprints and expiry dates; exits with 1 when one expires soon

A server certificate is good for at most ${MAX_SERVER_DAYS} days (--days), starting yesterday.
Files are in ${PLACES.tls} (--dir or --out). Recorders and browsers have to trust ca.pem; keep ca.key secret.
`

const OPTIONS = {
  days: { type: 'string' },
  dir: { type: 'string' },
  force: { type: 'boolean' },
  host: { type: 'string', multiple: true },
  'new-key': { type: 'boolean' },
  out: { type: 'string' },
  permit: { type: 'string', multiple: true },
  within: { type: 'string' },
} as const

type Values = ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>['values']

/** The options of each verb, besides --dir. */
const KNOWN: Record<string, readonly (keyof Values)[]> = {
  client: ['days', 'force'],
  init: ['days', 'host', 'permit'],
  renew: ['days', 'force', 'host', 'new-key', 'within'],
  show: [],
}

/** Resolves to the exit code: 0 done, 1 something expires soon, 2 wrong usage or not possible. */
export async function main(args: string[]): Promise<number> {
  if (args.includes('--help') || args.includes('-h')) return say(HELP)
  const { positionals, values } = parseArgs({ allowPositionals: true, args, options: OPTIONS })
  return run(positionals, values, systemClock.now())
}

function run([verb = '', ...rest]: string[], values: Values, now: number): number {
  const known = Object.hasOwn(KNOWN, verb) ? KNOWN[verb] : undefined
  if (!known || rest.length !== (verb === 'client' ? 1 : 0)) throw misuse(HELP.trimEnd())
  for (const name of Object.keys(values) as (keyof Values)[])
    if (!known.includes(name) && name !== 'dir' && name !== 'out')
      throw misuse(`roomtone tls ${verb} has no --${name}: see roomtone tls --help.`)
  const dir = path.resolve(values.dir ?? values.out ?? PLACES.tls)
  if (verb === 'init') return init(dir, values, now)
  if (verb === 'renew') return renew(dir, values, now)
  return verb === 'client' ? client(dir, rest[0] as string, values, now) : show(dir, now)
}

function init(dir: string, values: Values, now: number): number {
  const hosts = hostsOf('host', values.host)
  if (hosts.length === 0)
    throw misuse('--host is missing: the name or address under which recorders reach this controller.')
  const domains = hostsOf('permit', values.permit)
  const address = domains.find(({ kind }) => kind === 'ip')
  if (address) throw misuse(`--permit takes a domain, not the address ${address.name}.`)
  initSite(dir, hosts, domains, daysOf(values.days, MAX_SERVER_DAYS, MAX_SERVER_DAYS), now)
  const { ca, cert, key } = siteFiles(dir)
  return say(
    `${showSite(dir, now).map(lineOf).join('')}\n` +
      `To serve HTTPS, set for the controller:\n  SVC_API_TLS_CERT_PATH=${cert}\n  SVC_API_TLS_KEY_PATH=${key}\n` +
      `Recorders and browsers have to trust ${ca} (installer and stick: --controller-ca).\n` +
      'Keep a copy of ca.key in a safe place: without it nothing can be renewed, and whoever has it can impersonate the controller.\n' +
      (forController()
        ? ''
        : `There is no group ${USERS.controller} yet, so the controller cannot read ${key}: install the controller first, or change the group of that file.\n`),
  )
}

/** Whether the controller can read a key that root creates. */
const forController = (): boolean => process.getuid?.() !== 0 || groupId(USERS.controller) !== undefined

function renew(dir: string, values: Values, now: number): number {
  const renewal = {
    days: daysOf(values.days, MAX_SERVER_DAYS, MAX_SERVER_DAYS),
    force: values.force ?? false,
    hosts: hostsOf('host', values.host),
    newKey: values['new-key'] ?? false,
    withinDays: daysOf(values.within, SOON_DAYS, MAX_SERVER_DAYS),
  }
  const renewed = renewSite(dir, renewal, now)
  const [authority, server] = showSite(dir, now) as [Shown, Shown]
  say(renewed ? `Renewed: ${lineOf(server)}` : `Not due: ${lineOf(server)}`)
  if (authority.daysLeft > AUTHORITY_SOON_DAYS) return 0
  return say(
    `The authority expires in ${authority.daysLeft} days: create a new one (roomtone tls init --dir), and add its ca.pem to the ` +
      'old one on every recorder before the controller switches over.\n',
  )
}

function client(dir: string, name: string, values: Values, now: number): number {
  const { file } = makeClient(dir, name, daysOf(values.days, CLIENT_DAYS, 3650), values.force ?? false, now)
  const key = file.replace(/\.pem$/, '.key')
  return say(
    `${file}\n${key}\nCopy both to the recorder, readable only by its agent, and name them in its settings:\n` +
      '  SVC_CONTROLLER_CLIENT_CERT_PATH=...\n  SVC_CONTROLLER_CLIENT_KEY_PATH=...\n' +
      `The controller asks for them with SVC_API_TLS_CLIENT_CERT_MODE=required and SVC_API_TLS_CLIENT_CA_PATH=${siteFiles(dir).ca}\n`,
  )
}

function show(dir: string, now: number): number {
  const all = showSite(dir, now)
  say(all.map(lineOf).join(''))
  return all.some(({ daysLeft }) => daysLeft < SOON_DAYS) ? 1 : 0
}

const lineOf = ({ daysLeft, file, fingerprint, names, until }: Shown): string =>
  `${file}\n  for      ${names.join(', ')}\n  until    ${until} (${daysLeft < 0 ? 'expired' : `${daysLeft} days`})\n` +
  `  SHA-256  ${fingerprint}\n`

const hostsOf = (option: string, texts: string[] = []): Host[] =>
  texts.map((text) => {
    const host = hostOf(text)
    if (!host) throw misuse(`--${option} ${text} is neither a host name nor an address (no wildcards, no URL).`)
    return host
  })

function daysOf(text: string | undefined, fallback: number, most: number): number {
  const days = text === undefined ? fallback : Number(text)
  if (!Number.isInteger(days) || days < 1 || days > most)
    throw misuse(`"${text}" is not a number of days: expected a whole number from 1 to ${most}.`)
  return days
}

function say(text: string): 0 {
  process.stdout.write(text)
  return 0
}
