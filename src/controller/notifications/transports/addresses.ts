// Which addresses a message to a receiver on the network may not go to.
import { lookup } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { networkInterfaces } from 'node:os'
import { UserError } from '../../../kernel/fail.ts'

// One list for each family: in a common one `::ffff:0:0/96` would hold every IPv4 address. What they name is no place on the
// internet (the special-purpose registries of IANA), or has an IPv4 address inside.
const INNER = {
  ipv4: blockList([
    ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
    ...['192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24'],
    ...['224.0.0.0/4', '240.0.0.0/4'],
  ]),
  ipv6: blockList([
    ...['::/96', '::ffff:0:0/96', '64:ff9b::/96', '64:ff9b:1::/48', '100::/64', '2001::/23', '2001:db8::/32'],
    ...['2002::/16', '3fff::/20', '5f00::/16', 'fc00::/7', 'fe80::/10', 'fec0::/10', 'ff00::/8'],
  ]),
}

/** Whether the address belongs to a private network, to this machine, or to nobody on the internet. */
export const isInner = (address: string): boolean => INNER[familyOf(address)].check(address, familyOf(address))

interface Limits {
  /** Whether addresses of private networks and of this machine are admitted. */
  allowPrivate: boolean
  /** The controller itself: its origins, and the port it listens on. */
  own: { origins: readonly string[]; port: number }
}

/** An address that is not called; the message says why. */
export class Refused extends UserError {}

/** Resolves names for a request to `url`; admits all addresses of a name or none. */
export function guardedLookup(url: URL, limits: Limits): LookupFunction {
  return (hostname, options, callback) =>
    lookup(hostname, { ...options, all: true }, (e, addresses) => {
      const refusal = e ?? refusedAmong(addresses, url, limits)
      if (refusal) callback(refusal, [])
      else if (options.all) callback(null, addresses)
      else callback(null, addresses[0]?.address ?? '', addresses[0]?.family)
    })
}

/** What can be said before a name is resolved. @throws Refused */
export function mayCall(url: URL, limits: Limits): void {
  if (limits.own.origins.some((origin) => URL.canParse(origin) && sameOrigin(new URL(origin), url)))
    throw new Refused(itself(url))
  const address = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const refusal = isIP(address) ? refusedAmong([{ address }], url, limits) : undefined
  if (refusal) throw refusal
}

function refusedAmong(addresses: { address: string }[], url: URL, { allowPrivate, own }: Limits): Refused | undefined {
  const inner = allowPrivate ? undefined : addresses.find(({ address }) => isInner(address))
  if (inner)
    return new Refused(
      `${url.host} is at ${inner.address}, which is no public address: name a receiver on the internet, or set ` +
        'SVC_WEBHOOK_ALLOW_PRIVATE=1 on the controller',
    )
  const here = portOf(url) === own.port && addresses.some(({ address }) => isHere(address))
  return here ? new Refused(itself(url)) : undefined
}

const itself = (url: URL): string => `${url.host} is this controller itself: name the address of the receiver`

const sameOrigin = (a: URL, b: URL): boolean => a.protocol === b.protocol && hostOf(a) === hostOf(b)

/** With the port, and without the dot that may end a name. */
const hostOf = (url: URL): string => `${url.hostname.replace(/\.$/, '')}:${portOf(url)}`

const portOf = ({ port, protocol }: URL): number => Number(port || (protocol === 'https:' ? 443 : 80))

/** Where a connection ends at this machine: what it listens on for itself, and every address of its own. */
function isHere(address: string): boolean {
  const own = Object.values(networkInterfaces()).flatMap((entries) => entries?.map((entry) => entry.address) ?? [])
  const here = new BlockList()
  for (const one of own) here.addAddress(one.replace(/%.*/, ''), familyOf(one))
  return HERE.check(address, familyOf(address)) || here.check(address, familyOf(address))
}

const HERE = blockList(['0.0.0.0/8', '127.0.0.0/8', '::/127'])

function blockList(networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', bits] = network.split('/')
    list.addSubnet(address, Number(bits), familyOf(address))
  }
  return list
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4'
}
