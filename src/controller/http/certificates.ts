// The certificate the controller serves. It is reloaded while the controller runs: a replaced file needs no restart.
import { createHash, createPrivateKey, X509Certificate } from 'node:crypto'
import * as fs from 'node:fs'
import * as net from 'node:net'
import * as path from 'node:path'
import { createSecureContext, type SecureContextOptions } from 'node:tls'
import { iso } from '../../kernel/clock.ts'
import { Fail } from '../../kernel/fail.ts'
import { faultWords } from '../../kernel/words.ts'

interface PairFiles {
  cert: string
  key: string
}

export interface CertificateFiles extends PairFiles {
  /** Authorities of the certificate: sent along with it. */
  ca?: string | undefined
  /** Authorities of client certificates; default: those of the certificate. */
  clientCa?: string | undefined
  clientCertMode: 'off' | 'optional' | 'required'
  /** Takes the place of the pair from a time on (Unix ms). */
  next?: (PairFiles & { notBefore: number }) | undefined
}

/** The certificate in use, and until when; times are ISO. */
export interface Served {
  expiresAt: string
  /** SHA-256, as browsers show it. */
  fingerprint: string
  notBefore: string
  options: SecureContextOptions
}

export interface Reload {
  /** Whether another certificate is served than before. */
  changed: boolean
  /** Why a pair on disk was refused; the previous one stays in use. */
  fault?: string | undefined
}

// All of TLS 1.3; of 1.2 only suites with forward secrecy.
const CIPHERS = [
  ...['TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256', 'TLS_AES_128_GCM_SHA256'],
  ...['ECDHE-ECDSA-AES256-GCM-SHA384', 'ECDHE-ECDSA-CHACHA20-POLY1305', 'ECDHE-ECDSA-AES128-GCM-SHA256'],
  ...['ECDHE-RSA-AES256-GCM-SHA384', 'ECDHE-RSA-CHACHA20-POLY1305', 'ECDHE-RSA-AES128-GCM-SHA256'],
].join(':')

export class Certificates {
  readonly mode: CertificateFiles['clientCertMode']
  /** Clients accepted by certificate since the start: by name, when the newest one expires, ISO. */
  readonly clients = new Map<string, string>()
  readonly #files: CertificateFiles
  #served: Served
  #listener: ((shown: Served) => void) | undefined

  /** Also serves an expired certificate: recorders may be configured to accept it. @throws Fail for an unusable pair. */
  constructor(files: CertificateFiles, now: number) {
    this.mode = files.clientCertMode
    this.#files = files
    // A fault of the next pair is reported now, while there is time to replace it.
    for (const pair of files.next ? [files, files.next] : [files]) this.#load(pair)
    this.#served = longestLived(this.#due(now).map((pair) => this.#load(pair))) as Served
  }

  get served(): Served {
    return this.#served
  }

  /** Until when a certificate is served without a gap, as far as the files tell: a next one counts from when it takes over. */
  get lastsUntil(): string {
    const { next } = this.#files
    const { expiresAt } = this.#served
    if (!next || iso(next.notBefore) > expiresAt) return expiresAt
    try {
      const after = this.#load(next).expiresAt
      return after > expiresAt ? after : expiresAt
    } catch (e) {
      // What cannot be served follows nothing; `reload` tells why.
      if (e instanceof Fail) return expiresAt
      throw e
    }
  }

  /** `follower` is called with each new certificate. */
  onChange(follower: (shown: Served) => void): void {
    this.#listener = follower
  }

  /**
   * What a new box checks before it trusts the controller at this address. Needs a private authority: the configured one, or
   * `ca.pem` next to the certificate.
   */
  siteAuthority(url: string): SiteAuthority | undefined {
    const { ca, cert } = this.#files
    const leaf = new X509Certificate(String(this.#served.options.cert))
    return siteAuthority(leaf, [...(ca === undefined ? [] : [ca]), path.join(path.dirname(cert), 'ca.pem')], url)
  }

  /** Notes a client whose certificate was accepted. */
  noteClient({ subject, validTo }: Pick<X509Certificate, 'subject' | 'validTo'>): void {
    const name = /^CN=(.+)$/m.exec(subject)?.[1] ?? subject
    const until = iso(Date.parse(validTo))
    // A recorder that got a new certificate may still have connections with the old one.
    if (until > (this.clients.get(name) ?? '')) this.clients.set(name, until)
  }

  /** Reads the files again; a pair that does not match, or is not valid now, is refused. `now`: Unix ms. */
  reload(now: number): Reload {
    const faults: string[] = []
    const orFault = <T>(step: () => T): T | undefined => {
      try {
        return step()
      } catch (e) {
        if (!(e instanceof Fail)) throw e
        faults.push(e.message)
        return undefined
      }
    }
    const found = longestLived(this.#due(now).flatMap((pair) => orFault(() => this.#load(pair)) ?? []))
    const changed = found !== undefined && orFault(() => this.#take(found, now)) === true
    return { changed, fault: faults[0] }
  }

  #take(found: Served, now: number): boolean {
    const { cert, key, ca } = this.#served.options
    const { options } = found
    if (options.cert === cert && options.key === key && options.ca === ca) return false
    if (found.expiresAt <= iso(now)) throw unusable(`The new certificate has expired at ${found.expiresAt}`)
    if (found.notBefore > iso(now)) throw unusable(`The new certificate is not valid before ${found.notBefore}`)
    this.#served = found
    this.#listener?.(found)
    return true
  }

  /** The pairs that may be served now. */
  #due(now: number): PairFiles[] {
    const { next } = this.#files
    return next && now >= next.notBefore ? [this.#files, next] : [this.#files]
  }

  #load(pair: PairFiles): Served {
    const cert = read(pair.cert)
    const key = read(pair.key)
    const leaf = certificateIn(cert, pair.cert)
    if (!leaf.checkPrivateKey(keyIn(key, pair.key)))
      throw unusable(`The key ${pair.key} does not belong to the certificate ${pair.cert}: put both in place`)
    const { ca, clientCa = ca, clientCertMode } = this.#files
    const chain = ca === undefined ? '' : `\n${read(ca)}`
    const options = {
      ciphers: CIPHERS,
      honorCipherOrder: true,
      minVersion: 'TLSv1.2' as const,
      cert: cert + chain,
      key,
      ...(clientCertMode === 'off' || clientCa === undefined ? {} : { ca: authorities(clientCa) }),
    }
    refuseUnservable(options, pair.cert)
    return {
      expiresAt: iso(Date.parse(leaf.validTo)),
      fingerprint: leaf.fingerprint256,
      notBefore: iso(Date.parse(leaf.validFrom)),
      options,
    }
  }
}

/** What else makes a pair unusable: a damaged certificate further down the chain, a key that is too short. */
function refuseUnservable(options: SecureContextOptions, file: string): void {
  try {
    createSecureContext(options)
  } catch (e) {
    throw unusable(`${file} cannot be served: ${faultWords(e, file)}`)
  }
}

const longestLived = (all: Served[]): Served | undefined =>
  all.sort((a, b) => b.expiresAt.localeCompare(a.expiresAt))[0]

const unusable = (why: string): Fail => new Fail(503, 'certificate_unusable', `${why}.`)

function read(file: string): string {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch (e) {
    throw unusable(`${file} cannot be read: ${faultWords(e, file)}`)
  }
}

function certificateIn(text: string, file: string): X509Certificate {
  try {
    return new X509Certificate(text)
  } catch {
    throw unusable(`${file} holds no certificate that can be read (PEM is expected)`)
  }
}

function keyIn(text: string, file: string) {
  try {
    return createPrivateKey(text)
  } catch {
    throw unusable(`${file} holds no private key that can be read (PEM without a password is expected)`)
  }
}

function authorities(file: string): string {
  const text = read(file)
  certificateIn(text, file)
  return text
}

/** How a new box, which trusts no authority yet, recognizes the controller of its site. */
export interface SiteAuthority {
  /** The site's own authority, PEM. */
  authority: string
  /** SHA-256 of the served certificate's public key, in curl's format. */
  pin: string
}

/** undefined when the certificate does not name the host of `url`, or no private authority signed it. */
function siteAuthority(leaf: X509Certificate, candidates: readonly string[], url: string): SiteAuthority | undefined {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '')
  const named = net.isIP(host) ? leaf.checkIP(host) : leaf.checkHost(host)
  const authority = named && candidates.map(readableCertificate).find((one) => one && isOwnAuthority(one, leaf))
  if (!authority) return undefined
  const key = leaf.publicKey.export({ format: 'der', type: 'spki' })
  return { authority: authority.toString(), pin: `sha256//${createHash('sha256').update(key).digest('base64')}` }
}

// Self-issued, and it signed the leaf directly: public authorities sign through intermediates.
const isOwnAuthority = (one: X509Certificate, leaf: X509Certificate): boolean =>
  one.ca && one.checkIssued(one) && leaf.checkIssued(one) && leaf.verify(one.publicKey)

function readableCertificate(file: string): X509Certificate | undefined {
  try {
    return new X509Certificate(fs.readFileSync(file))
  } catch {
    // A missing or unusable file: a candidate need not be a certificate.
    return undefined
  }
}
