import type * as tls from 'node:tls'
import { UserError } from '../../kernel/fail.ts'
import { secureContext, type Trust } from '../../system/host/trust.ts'
import { LinkError } from './link.ts'

/** One context for the life of the link. @throws LinkError naming the file that cannot be used. */
export function trusting(trust: Trust): tls.SecureContext {
  try {
    return secureContext(trust)
  } catch (e) {
    if (e instanceof UserError) throw new LinkError(e.message)
    throw e
  }
}
