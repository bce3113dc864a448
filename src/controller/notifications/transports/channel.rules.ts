// What is wrong with a channel before anything is sent: for the form that sets it up, and once more for each attempt.

import { isLoopback } from '../../../kernel/loopback.ts'
import type { EmailOptions, NtfyOptions, WebhookOptions } from '../../../wire/notifications.ts'

const SIGNING_KEY = /^whsec_([A-Za-z0-9+/]+={0,2})$/
const KEY_BYTES = { most: 64, least: 24 }
/** What a header may hold. */
const TOKEN = /^[\x21-\x7e]{1,1000}$/
const TOPIC = /^[-_A-Za-z0-9]{1,64}$/

/** A login goes over TLS only, but for a mail server on this machine. Undefined when nothing is wrong, as below. */
export function emailFault({ host, security, to, username }: EmailOptions, secret?: string): string | undefined {
  if (to.length === 0) return 'the channel has no recipients: enter at least one address'
  if (username === undefined) return undefined
  if (security === 'none' && !isLoopback(host))
    return 'the password would go over the network readable: choose STARTTLS or TLS, or leave out the user name'
  return secret ? undefined : `the channel has the user name ${username} but no password: enter it`
}

export function webhookFault({ url }: WebhookOptions, secret?: string): string | undefined {
  if (secret !== undefined && signingKey(secret) === undefined)
    return `the signing key has to be whsec_ and ${KEY_BYTES.least} to ${KEY_BYTES.most} bytes in base64`
  return urlFault(url)
}

export function ntfyFault({ topic, url }: NtfyOptions, secret?: string): string | undefined {
  if (!TOPIC.test(topic)) return 'the topic has to be 1 to 64 letters, digits, hyphens or underscores'
  if (secret !== undefined && !TOKEN.test(secret))
    return 'the access token has characters that no token has: enter it again'
  return urlFault(url)
}

const urlFault = (url: string): string | undefined =>
  URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)
    ? undefined
    : 'the address has to begin with https:// or http://'

/** The bytes of `whsec_...`; undefined when it is no signing key. */
export function signingKey(secret: string): Uint8Array | undefined {
  const [, base64 = ''] = SIGNING_KEY.exec(secret) ?? []
  const key = Buffer.from(base64, 'base64')
  return key.length >= KEY_BYTES.least && key.length <= KEY_BYTES.most ? key : undefined
}
