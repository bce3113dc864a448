import type { SecureContext } from 'node:tls'
import type { Clock } from '../../../kernel/clock.ts'
import { secureContext } from '../../../system/host/trust.ts'
import type { Config } from '../../config.ts'
import type { TransportBase } from './transport.ts'

type Reached = Pick<Config, 'SVC_PORT' | 'SVC_PUBLIC_URL' | 'SVC_TRUSTED_CA_FILE' | 'SVC_WEBHOOK_ALLOW_PRIVATE'>

/** What all transports of a controller share. The authorities are read at the first use: that parses hundreds of certificates. */
export function transportBase(config: Reached, clock: Clock): TransportBase {
  let context: SecureContext | undefined
  const { SVC_PORT: port, SVC_PUBLIC_URL: url, SVC_TRUSTED_CA_FILE: alsoFile } = config
  return {
    allowPrivate: config.SVC_WEBHOOK_ALLOW_PRIVATE,
    now: () => clock.now(),
    own: { origins: url === undefined ? [] : [new URL(url).origin], port },
    get tls() {
      context ??= secureContext({ alsoFile })
      return { secureContext: context }
    },
  }
}
