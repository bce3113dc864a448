import { isLoopback } from '../../kernel/loopback.ts'
import type { Incoming } from './route.ts'

// What proxies add: behind one on this machine everybody has a loopback address.
const FORWARDED = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip']

/** Whether a request was made on this machine, to an address of this machine: not through a proxy, nor by a rebound name. */
export function isLocal({ address, header }: Pick<Incoming, 'address' | 'header'>): boolean {
  const asked = `http://${header('host') ?? ''}`
  if (!isLoopback(address) || !URL.canParse(asked) || !isLoopback(new URL(asked).hostname)) return false
  return FORWARDED.every((name) => header(name) === undefined)
}
