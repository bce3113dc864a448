/**
 * The network an address is counted under: IPv4 addresses one by one, of IPv6 the first 64 bits, for the rest of it is its
 * owner's to choose at every request.
 */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address
  const [plain = ''] = address.toLowerCase().split('%')
  const [head = '', tail] = plain.split('::')
  const groups = head === '' ? [] : head.split(':')
  // What `::` stands for is at least as many zeros as are missing; groups behind it are beyond the first four or known.
  const behind = tail ? tail.split(':') : []
  const missing = tail === undefined ? 0 : 8 - groups.length - behind.length
  const all = [...groups, ...Array.from({ length: Math.max(0, missing) }, () => '0'), ...behind]
  return `${all
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':')}::/64`
}
