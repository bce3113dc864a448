import type * as tls from 'node:tls'
import { secureContext, type Trust, TrustError } from '../../system/host/trust.ts'
import { LinkError } from './link.ts'

/** One context for the life of the link. @throws LinkError naming the file that cannot be used. */
export function trusting(trust: Trust): tls.SecureContext {
  try {
    return secureContext(trust)
  } catch (e) {
    if (e instanceof TrustError) throw new LinkError(e.message)
    throw e
  }
}
