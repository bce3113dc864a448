// TLS trust of all programs that talk to the controller, and their client certificates.

import { createPrivateKey, X509Certificate } from 'node:crypto'
import * as fs from 'node:fs'
import * as tls from 'node:tls'
import { systemClock } from '../../kernel/clock.ts'
import { misuse } from '../../kernel/fail.ts'
import { faultWords } from '../../kernel/words.ts'

export interface Trust {
  /** PEM file of certificate authorities to trust besides those of the runtime and the operating system. */
  alsoFile?: string | undefined
  /** PEM text of certificate authorities. */
  ca?: string | undefined
  /** PEM file of the only certificate authorities to trust. */
  caFile?: string | undefined
  /** PEM files of a client certificate and its key; both or neither. */
  clientCertFile?: string | undefined
  clientKeyFile?: string | undefined
}

const PEM = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g

function read(what: string, file: string): string {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch (e) {
    throw misuse(`the ${what} cannot be read: ${faultWords(e, file)}`)
  }
}

/** Certificates of a PEM file, in its order. @throws UserError naming the file when it holds none or a damaged one. */
function readCertificates(file: string, what = 'CA file'): string[] {
  const blocks = read(what, file).match(PEM) ?? []
  if (blocks.length === 0) throw misuse(`the ${what} ${file} contains no PEM certificate`)
  for (const block of blocks) {
    try {
      new X509Certificate(block)
    } catch {
      throw misuse(`the ${what} ${file} contains a damaged certificate`)
    }
  }
  return blocks
}

function identity({ clientCertFile, clientKeyFile }: Trust): tls.SecureContextOptions {
  if (!clientCertFile && !clientKeyFile) return {}
  if (!clientCertFile || !clientKeyFile)
    throw misuse('a client certificate and its key go together: name both files or neither')
  const chain = readCertificates(clientCertFile, 'client certificate')
  const key = read('key of the client certificate', clientKeyFile)
  if (!fits(chain[0] as string, key))
    throw misuse(`the key ${clientKeyFile} does not belong to the client certificate ${clientCertFile}`)
  return { cert: chain.join('\n'), key }
}

function fits(certificate: string, key: string): boolean {
  try {
    return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key))
  } catch {
    // Not a key, or an encrypted one.
    return false
  }
}

/**
 * Trusts only the given authorities; without any, the roots of the runtime and of the operating system (which Node does not
 * read by itself). Contains the client certificate. Expensive, because it parses hundreds of certificates: create it once.
 * @throws UserError
 */
export function secureContext(trust: Trust): tls.SecureContext {
  return tls.createSecureContext({ ...identity(trust), ca: authorities(trust), minVersion: 'TLSv1.2' })
}

/** For a request over https. `allowInsecure`: accepts untrusted certificates. */
export const tlsOptions = (trust: Trust, allowInsecure: boolean) => ({
  rejectUnauthorized: !allowInsecure,
  secureContext: secureContext(trust),
})

function authorities({ alsoFile, ca, caFile }: Trust): string[] {
  if (ca === undefined && caFile === undefined) {
    const also = alsoFile === undefined ? [] : readCertificates(alsoFile)
    return [...new Set([...tls.getCACertificates('default'), ...tls.getCACertificates('system'), ...also])]
  }
  const named = caFile === undefined ? [] : readCertificates(caFile)
  return [...named, ...(ca?.match(PEM) ?? [])]
}

/** Changes when one of the files changes. Reads none of them. */
export const stampOf = ({ caFile, clientCertFile, clientKeyFile }: Trust): string =>
  [caFile, clientCertFile, clientKeyFile]
    .map((file) => file && fs.statSync(file, { throwIfNoEntry: false }))
    .map((stat) => (stat ? `${stat.ino} ${stat.mtimeMs} ${stat.size}` : '-'))
    .join()

const CA_OPTION = '--controller-ca'
const UNKNOWN_ISSUER =
  `no authority this machine trusts has signed its certificate. Name the CA file of the site (${CA_OPTION}); if it is ` +
  'already named, the controller has a new certificate authority: copy its ca.pem to this machine'
const NO_CLIENT =
  'it requires a client certificate, and this machine has none or one it does not accept. Create one on the controller ' +
  '(roomtone tls client NAME), and name its files in SVC_CONTROLLER_CLIENT_CERT_PATH and SVC_CONTROLLER_CLIENT_KEY_PATH'

/** Whether a connection failed because no trusted authority signed the other side's certificate. */
export const isUnknownIssuer = (e: unknown): boolean => {
  const { code = '' } = e as NodeJS.ErrnoException
  return Object.hasOwn(WORDS, code) && WORDS[code] === UNKNOWN_ISSUER
}

const WORDS: Record<string, string> = {
  CERT_HAS_EXPIRED:
    'its certificate has expired: check the clock of this machine, or renew the certificate on the controller (roomtone tls renew)',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet: check the clock of this machine',
  CERT_SIGNATURE_FAILURE: UNKNOWN_ISSUER,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNKNOWN_ISSUER,
  ERR_TLS_CERT_ALTNAME_INVALID:
    'its certificate is for other names. Use an address it contains, or add this one ' +
    '(on the controller: roomtone tls renew --host NAME)',
  INVALID_PURPOSE: 'its certificate is not a server certificate: check SVC_API_TLS_CERT_PATH on the controller',
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_ISSUER,
  UNABLE_TO_GET_ISSUER_CERT: UNKNOWN_ISSUER,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_ISSUER,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_ISSUER,
}

// Handshake errors share codes and differ in their text.
const HANDSHAKE: [text: RegExp, words: string][] = [
  [/alert certificate required|alert handshake failure/, NO_CLIENT],
  [
    /wrong version number|packet length too long/,
    'it answers in plain http, not https: check the address and its port',
  ],
]

/** Whether a certificate is refused because of the time, which may be only a wrong clock. */
export const isWrongTime = (e: unknown): boolean =>
  ['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID'].includes((e as NodeJS.ErrnoException | undefined)?.code ?? '')

/**
 * What to do about a connection that failed because of a certificate; undefined for other failures. `caOption`: the option
 * or setting that names the site's authority. `now`: this machine's time, Unix ms.
 */
export const tlsAdvice = (e: unknown, caOption = CA_OPTION, now = systemClock.now()): string | undefined => {
  const { code = '', message = '' } = (e ?? {}) as NodeJS.ErrnoException
  if (isWrongTime(e))
    return `${WORDS[code]}. Here it is ${new Date(now).toISOString().slice(0, 16).replace('T', ' ')} UTC`
  const words = Object.hasOwn(WORDS, code) ? WORDS[code] : HANDSHAKE.find(([text]) => text.test(message))?.[1]
  return words?.replace(CA_OPTION, () => caOption)
}
