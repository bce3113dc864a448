// Names a certificate may carry, and those a site's authority may sign.
import { BlockList, isIP } from 'node:net'

/** A name or address of the controller, as it stands in a certificate. */
export interface Host {
  kind: 'dns' | 'ip'
  name: string
}

/** What an authority may sign: domains with their subdomains, and networks (`10.0.0.0/8`). */
export interface Permitted {
  dns: string[]
  ip: string[]
}

/** Addresses with no meaning beyond their site: an authority for them can be misused nowhere else. */
const PRIVATE = [
  ...['127.0.0.0/8', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '169.254.0.0/16', '100.64.0.0/10'],
  ...['::1/128', 'fc00::/7', 'fe80::/10'],
]
/** In every server certificate, for use on the machine itself. */
export const HERE: readonly Host[] = [
  { kind: 'dns', name: 'localhost' },
  { kind: 'ip', name: '127.0.0.1' },
  { kind: 'ip', name: '::1' },
]

const LABEL = '[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?'
const DNS = new RegExp(`^(?=.{1,253}$)(${LABEL}\\.)*${LABEL}$`)
const LAST_IS_NUMBER = /(^|\.)\d+$/

/** Undefined for what is neither a host name nor an address: wildcards, addresses with a zone, URLs. */
export function hostOf(text: string): Host | undefined {
  const name = text.trim().toLowerCase().replace(/\.$/, '')
  const address = name.replace(/^\[(.*)\]$/, '$1')
  if (isIP(address) && !address.includes('%'))
    return { kind: 'ip', name: isIP(address) === 6 ? shortest(address) : address }
  return DNS.test(name) && !LAST_IS_NUMBER.test(name) ? { kind: 'dns', name } : undefined
}

// One address has many spellings; the URL parser knows the shortest.
const shortest = (address: string): string => new URL(`http://[${address}]`).hostname.slice(1, -1)

/** Without duplicates. */
export const together = (...lists: (readonly Host[])[]): Host[] => [
  ...new Map(lists.flat().map((host) => [host.name, host])).values(),
]

/** Limits for an authority of these hosts, of `domains` that may come later, and of private addresses. */
export const permittedFor = (hosts: readonly Host[], domains: readonly Host[]): Permitted => {
  const all = together(hosts, HERE, domains)
  const own = all.filter((host) => host.kind === 'ip' && !isPermitted(host, { dns: [], ip: PRIVATE }))
  return {
    dns: all.filter(({ kind }) => kind === 'dns').map(({ name }) => name),
    ip: [...PRIVATE, ...own.map(({ name }) => `${name}/${isIP(name) === 6 ? 128 : 32}`)],
  }
}

/** Whether an authority with these limits may vouch for the host. */
export function isPermitted({ kind, name }: Host, { dns, ip }: Permitted): boolean {
  if (kind === 'dns') return dns.some((domain) => name === domain || name.endsWith(`.${domain}`))
  const networks = new BlockList()
  for (const network of ip) {
    const [address = '', bits] = network.split('/')
    networks.addSubnet(address, Number(bits), isIP(address) === 6 ? 'ipv6' : 'ipv4')
  }
  return networks.check(name, isIP(name) === 6 ? 'ipv6' : 'ipv4')
}

/** The hosts of a certificate's subject alternative names as the runtime prints them. */
export const hostsIn = (subjectAltName = ''): Host[] =>
  [...subjectAltName.matchAll(/(DNS|IP Address):([^,\s]+)/g)].flatMap(([, , name]) => hostOf(name as string) ?? [])
