// Webhooks as Standard Webhooks has them: an id that stays, the time of the attempt, and a signature over both and the body.

import { createHmac } from 'node:crypto'
import type { WebhookOptions } from '../../../wire/notifications.ts'
import { signingKey, webhookFault } from './channel.rules.ts'
import { post } from './receiver.ts'
import { type Transport, type TransportBase, TransportError } from './transport.ts'

/** `secret`: the signing key, `whsec_...`; without one, messages go unsigned. */
export function webhookTransport(
  options: WebhookOptions,
  secret: string | undefined,
  base: TransportBase,
  wholeMs?: number,
): Transport {
  return {
    async send(message, signal) {
      const fault = webhookFault(options, secret)
      if (fault !== undefined) throw new TransportError(fault)
      const body = JSON.stringify(message.body)
      const timestamp = Math.floor(base.now() / 1000)
      const key = secret === undefined ? undefined : signingKey(secret)
      const headers = {
        'webhook-id': message.id,
        'webhook-timestamp': String(timestamp),
        ...(key ? { 'webhook-signature': signatureOf(`${message.id}.${timestamp}.${body}`, key) } : {}),
      }
      await post({ body, headers, url: options.url }, base, signal, wholeMs)
      return {}
    },
  }
}

const signatureOf = (content: string, key: Uint8Array): string =>
  `v1,${createHmac('sha256', key).update(content).digest('base64')}`
