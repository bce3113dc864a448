import { X509Certificate } from 'node:crypto'
import * as fs from 'node:fs'
import * as tls from 'node:tls'
import { LinkError } from './link.ts'

const PEM = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g

/** Certificates of a PEM bundle. Throws LinkError naming the file when it holds none or an unreadable one. */
export function readCertificates(file: string): string[] {
  let text: string
  try {
    text = fs.readFileSync(file, 'utf8')
  } catch (e) {
    throw new LinkError(`the CA file ${file} cannot be read: ${(e as NodeJS.ErrnoException).code}`)
  }
  const blocks = text.match(PEM) ?? []
  if (blocks.length === 0) throw new LinkError(`the CA file ${file} holds no PEM certificate`)
  for (const block of blocks) {
    try {
      new X509Certificate(block)
    } catch {
      throw new LinkError(`the CA file ${file} holds a damaged certificate`)
    }
  }
  return blocks
}

/**
 * Roots shipped with the runtime, those of the operating system (which Node does not read by itself) and the given
 * file. One context for the life of the link: building it per connection would parse hundreds of certificates.
 */
export function trustedRoots(caFile: string | undefined): tls.SecureContext {
  const own = caFile === undefined ? [] : readCertificates(caFile)
  return tls.createSecureContext({
    ca: [...new Set([...tls.getCACertificates('default'), ...tls.getCACertificates('system'), ...own])],
  })
}
