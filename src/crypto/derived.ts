import { createHmac } from 'node:crypto'

/**
 * A token of 256 bits that follows from the installation's secret, so that it can be told again and is stored nowhere. Each
 * purpose has a key of its own: what one is worth says nothing about what else the secret protects.
 */
export function derivedToken(secret: Uint8Array, purpose: string, name: string): string {
  const key = createHmac('sha256', secret).update(purpose).digest()
  return createHmac('sha256', key).update(name).digest('base64url')
}
