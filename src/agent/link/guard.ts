import { isIPv4 } from 'node:net'
import { LinkError } from './link.ts'

/** Names and addresses that never leave this machine. `127.` must be an address: `127.example.org` is a name. */
export function isLoopback(hostname: string): boolean {
  const host = hostname.toLowerCase()
  return host === 'localhost' || host === '[::1]' || host === '::1' || (isIPv4(host) && host.startsWith('127.'))
}

/**
 * Decides before any byte is sent whether a token may travel to this address (decision 25).
 * Throws LinkError with the way out.
 */
export function guardUrl(url: URL, allowInsecure: boolean): void {
  if (url.protocol === 'https:') return
  if (url.protocol !== 'http:') throw new LinkError(`the controller address must be https or http, not ${url.protocol}`)
  if (allowInsecure || isLoopback(url.hostname)) return
  throw new LinkError(
    `refusing plain http to ${url.host}: the token and the audio would be readable on the way. ` +
      'Use an https address, or --allow-insecure-controller on a network for development.',
  )
}
