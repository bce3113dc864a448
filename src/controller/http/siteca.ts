// What tells a new box, which trusts nobody yet, that this is the controller of its site.
import { createHash, X509Certificate } from 'node:crypto'
import * as fs from 'node:fs'
import * as net from 'node:net'

export interface Introduction {
  /** The site's own authority, PEM. */
  authority: string
  /** SHA-256 of the public key of what is shown, as curl takes it. */
  pin: string
}

/** Introduces what is shown under this address; undefined for another address, and where the site has no authority of its own. */
export function introduction(
  leaf: X509Certificate,
  candidates: readonly string[],
  url: string,
): Introduction | undefined {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '')
  const named = net.isIP(host) ? leaf.checkIP(host) : leaf.checkHost(host)
  const authority = named && candidates.map(certificateIn).find((one) => one && isOwnAuthority(one, leaf))
  if (!authority) return undefined
  const key = leaf.publicKey.export({ format: 'der', type: 'spki' })
  return { authority: authority.toString(), pin: `sha256//${createHash('sha256').update(key).digest('base64')}` }
}

// Nobody vouches for it, and it signed the certificate itself: a public authority signs by others.
const isOwnAuthority = (one: X509Certificate, leaf: X509Certificate): boolean =>
  one.ca && one.checkIssued(one) && leaf.checkIssued(one) && leaf.verify(one.publicKey)

function certificateIn(file: string): X509Certificate | undefined {
  try {
    return new X509Certificate(fs.readFileSync(file))
  } catch {
    // It is not there, or something else: nobody said that it is one.
    return undefined
  }
}
