// The certificates of a site, in one directory: its authority, the controller's certificate and those of clients.

import { createPrivateKey, randomBytes, X509Certificate } from 'node:crypto'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { makeDir } from '../../kernel/dirs.ts'
import { misuse } from '../../kernel/fail.ts'
import { groupId } from '../host/accounts.ts'
import { replaceFile } from '../host/files.ts'
import { USERS } from '../host/places.ts'
import { issue, makeAuthority, type Pair, permittedBy, type Span } from './authority.x509.ts'
import { HERE, type Host, hostsIn, isPermitted, permittedFor, together } from './names.ts'

export const DAY_MS = 86_400_000
const AUTHORITY_DAYS = 3650
/** Browsers refuse server certificates that last longer. */
export const MAX_SERVER_DAYS = 397
/** A recorder without a clock battery may be some hours behind when it connects for the first time. */
const EARLIER_MS = DAY_MS

export const siteFiles = (dir: string) => ({
  ca: path.join(dir, 'ca.pem'),
  caKey: path.join(dir, 'ca.key'),
  cert: path.join(dir, 'server.pem'),
  clients: path.join(dir, 'clients'),
  key: path.join(dir, 'server.key'),
})

/** `days` in total, starting a day ago; ends with its issuer at the latest. */
const spanOf = (now: number, days: number, until = Number.POSITIVE_INFINITY): Span => ({
  from: now - EARLIER_MS,
  until: Math.min(now - EARLIER_MS + days * DAY_MS, until),
})

const endOf = (cert: string): number => Date.parse(new X509Certificate(cert).validTo)

/** Everybody may read certificates, only the owner keys; the controller reads its key through its group. */
function writePair(certFile: string, keyFile: string, { cert, key }: Pair, group?: string): void {
  const gid = group !== undefined && process.getuid?.() === 0 ? groupId(group) : undefined
  replaceFile(keyFile, key, gid === undefined ? 0o600 : 0o640)
  if (gid !== undefined) fs.chownSync(keyFile, 0, gid)
  replaceFile(certFile, cert, 0o644)
}

function openDir(dir: string, mode: number): void {
  if (fs.existsSync(dir)) return
  makeDir(dir, mode)
  // Whatever the umask.
  fs.chmodSync(dir, mode)
}

/**
 * Creates an authority and the controller's first certificate.
 * @throws UserError where there is one already: clients that trust it would be locked out
 */
export function initSite(
  dir: string,
  hosts: readonly Host[],
  domains: readonly Host[],
  days: number,
  now: number,
): void {
  const files = siteFiles(dir)
  const { ca, caKey, cert, key } = files
  const there = [ca, caKey, cert, key].find((file) => fs.existsSync(file))
  if (there)
    throw misuse(
      `${there} already exists, and nothing was changed. To renew the certificate, run roomtone tls renew. To start over with ` +
        'a new authority, which every recorder then has to trust, move the old files away or name another --dir.',
    )
  const name = `Roomtone site CA ${randomBytes(4).toString('hex')}`
  const authority = makeAuthority(name, permittedFor(hosts, domains), spanOf(now, AUTHORITY_DAYS))
  const server = issue(authority, serverRequest(together(hosts, HERE), spanOf(now, days)))
  openDir(dir, 0o755)
  try {
    writePair(ca, caKey, authority)
    writePair(cert, key, server, USERS.controller)
  } catch (e) {
    // Leave nothing half made: the next try would refuse to replace it.
    for (const file of [ca, caKey, cert, key]) fs.rmSync(file, { force: true })
    throw e
  }
}

// A common name has at most 64 characters; clients check the alternative names.
const serverRequest = (hosts: readonly Host[], span: Span) => ({
  hosts,
  name: (hosts[0] as Host).name.slice(0, 64),
  span,
})

export interface Renewal {
  days: number
  /** Renew although it is not due. */
  force: boolean
  /** Names to add. */
  hosts: readonly Host[]
  newKey: boolean
  /** Due this many days before it expires. */
  withinDays: number
}

/**
 * Issues a new certificate for the same names and, unless a new key is asked for, the same key: then only one file is
 * replaced, and certificate and key match at every moment. Returns whether it was due. @throws UserError
 */
export function renewSite(dir: string, renewal: Renewal, now: number): boolean {
  const { cert, key } = siteFiles(dir)
  const authority = readAuthority(dir, now)
  const old = new X509Certificate(readPem(cert))
  const known = hostsIn(old.subjectAltName)
  const hosts = together(known, renewal.hosts)
  const due = Date.parse(old.validTo) - now <= renewal.withinDays * DAY_MS || hosts.length > known.length
  if (!due && !renewal.force && !renewal.newKey) return false
  refuseForeign(hosts, authority.cert)
  const span = spanOf(now, renewal.days, endOf(authority.cert))
  const kept = renewal.newKey ? {} : { key: readPem(key) }
  writePair(cert, key, issue(authority, { ...serverRequest(hosts, span), ...kept }), USERS.controller)
  return true
}

function refuseForeign(hosts: readonly Host[], ca: string): void {
  const permitted = permittedBy(ca)
  const foreign = permitted && hosts.find((host) => !isPermitted(host, permitted))
  if (foreign)
    throw misuse(
      `The authority of this site may not sign for ${foreign.name}, only for ${permitted.dns.join(', ')}, their ` +
        'subdomains and private addresses. Create a new one with roomtone tls init --dir, and copy its ca.pem to every recorder.',
    )
}

/** Creates a client certificate in `clients/`. @throws UserError when there is one already, unless `replace` */
export function makeClient(
  dir: string,
  name: string,
  days: number,
  replace: boolean,
  now: number,
): Pair & { file: string } {
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(name))
    throw misuse(`"${name}" is not a valid client name: use at most 64 letters, digits, _ and -, as in a node ID.`)
  const authority = readAuthority(dir, now)
  const { clients } = siteFiles(dir)
  const file = path.join(clients, `${name}.pem`)
  if (fs.existsSync(file) && !replace)
    throw misuse(`${file} already exists, and nothing was changed: pass --force to replace it.`)
  const pair = issue(authority, { hosts: [], name, span: spanOf(now, days, endOf(authority.cert)) })
  openDir(clients, 0o700)
  writePair(file, path.join(clients, `${name}.key`), pair)
  return { ...pair, file }
}

function readAuthority(dir: string, now: number): Pair {
  const { ca, caKey } = siteFiles(dir)
  const pair = { cert: readPem(ca), key: readPem(caKey) }
  if (!new X509Certificate(pair.cert).checkPrivateKey(createPrivateKey(pair.key)))
    throw misuse(`${caKey} is not the key of ${ca}: restore both from the same backup.`)
  if (endOf(pair.cert) <= now)
    throw misuse(
      `The authority ${ca} has expired: create a new one with roomtone tls init --dir, and copy its ca.pem to every recorder.`,
    )
  return pair
}

function readPem(file: string): string {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch (e) {
    const { code } = e as NodeJS.ErrnoException
    if (code !== 'ENOENT') throw misuse(`${file} cannot be read: ${code}. Run this as root.`)
    throw misuse(`${file} does not exist: create it with roomtone tls init, or name its directory with --dir.`)
  }
}

export interface Shown {
  /** Whole days until it expires; negative afterwards. */
  daysLeft: number
  file: string
  /** SHA-256, as browsers and openssl show it. */
  fingerprint: string
  names: string[]
  until: string
}

/** Every certificate of the site. @throws UserError when there is no site */
export function showSite(dir: string, now: number): Shown[] {
  const { ca, cert, clients } = siteFiles(dir)
  const known = fs.existsSync(clients) ? fs.readdirSync(clients).filter((name) => name.endsWith('.pem')) : []
  return [ca, cert, ...known.sort().map((name) => path.join(clients, name))].map((file) => {
    const pem = readPem(file)
    const { fingerprint256, subject, subjectAltName } = new X509Certificate(pem)
    const hosts = hostsIn(subjectAltName).map(({ name }) => name)
    return {
      daysLeft: Math.floor((endOf(pem) - now) / DAY_MS),
      file,
      fingerprint: fingerprint256,
      names: hosts.length > 0 ? hosts : [subject.replace(/^CN=/, '')],
      until: new Date(endOf(pem)).toISOString(),
    }
  })
}
