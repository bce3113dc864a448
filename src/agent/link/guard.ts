import { isLoopback } from '../../kernel/loopback.ts'
import { LinkError } from './link.ts'

/**
 * Decides before any byte is sent whether a token may travel to this address (ADR-0031).
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
