import { isIPv4 } from 'node:net'

/** Names and addresses that never leave this machine. `127.` must be an address: `127.example.org` is a name. */
export function isLoopback(hostname: string): boolean {
  const host = hostname.toLowerCase()
  return host === 'localhost' || host === '[::1]' || host === '::1' || (isIPv4(host) && host.startsWith('127.'))
}
