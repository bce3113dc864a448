// What the system says of the network and the disk, in words a person can act on. One table for every program and log.

/** Fields that errors of Node, of its HTTP clients and of SQLite carry. */
interface SystemError extends Error {
  address?: string
  code?: string
  dest?: string
  errors?: unknown[]
  host?: string
  hostname?: string
  path?: string
  port?: number
  syscall?: string
}

type Words = (at: string) => string

const SILENT: Words = (at) =>
  `${at} did not answer in time: look whether it is switched on, and whether a firewall stands between`
const NO_WAY: Words = (at) =>
  `there is no way to ${at}: check the cable or Wi-Fi, and the network settings of this machine`
const BROKEN: Words = (at) => `${at} broke the connection off: try again, and look at the log of the other side`
const CROWDED: Words = () => 'too many files are open: raise the limit (LimitNOFILE), or start the program anew'

const NETWORK: Record<string, Words> = {
  EADDRINUSE: (at) => `another program listens on ${at} already: stop it, or choose another port`,
  EADDRNOTAVAIL: (at) => `this machine does not have the address ${at}`,
  EAI_AGAIN: (at) =>
    `the name ${at} could not be looked up: no name server answers. Check the network and the name servers of this machine`,
  EAI_FAIL: (at) =>
    `the name ${at} could not be looked up: the name server failed. Check the name servers of this machine`,
  ECONNABORTED: BROKEN,
  ECONNREFUSED: (at) => `nothing listens at ${at}: look whether the service runs there, and whether the port is right`,
  ECONNRESET: BROKEN,
  EHOSTDOWN: NO_WAY,
  EHOSTUNREACH: NO_WAY,
  ENETDOWN: NO_WAY,
  ENETUNREACH: NO_WAY,
  ENOTFOUND: (at) => `the name ${at} is not known: check its spelling, and the name servers of this machine`,
  EPIPE: BROKEN,
  ERR_SOCKET_CONNECTION_TIMEOUT: SILENT,
  ESOCKETTIMEDOUT: SILENT,
  ETIMEDOUT: SILENT,
  UND_ERR_CONNECT_TIMEOUT: SILENT,
}

const DISK: Record<string, Words> = {
  EACCES: (at) => `${at} may not be used by this user: look at its owner and mode`,
  EBUSY: (at) => `${at} is in use by another program`,
  EDQUOT: (at) => `${at} could not be written: the quota of this user is used up`,
  EEXIST: (at) => `${at} is there already`,
  EFBIG: (at) => `${at} could not be written: it is larger than the file system allows`,
  EIO: (at) => `the disk failed at ${at}: look at the kernel log, and replace the disk if it says so`,
  EISDIR: (at) => `${at} is a directory`,
  ELOOP: (at) => `${at} is a symbolic link, which is not followed here`,
  EMFILE: CROWDED,
  ENFILE: CROWDED,
  ENOENT: (at) => `${at} is not there`,
  ENOSPC: (at) => `${at} could not be written: the disk is full. Make room there`,
  ENOTDIR: (at) => `${at} is no directory`,
  ENOTEMPTY: (at) => `${at} is not empty`,
  EPERM: (at) => `${at} may not be changed by this user: look at its owner and attributes`,
  EROFS: (at) => `${at} could not be written: the disk is read-only. Mount it writable`,
  ETXTBSY: (at) => `${at} is a program that runs right now`,
}

const DATABASE: [code: RegExp, words: string][] = [
  [/^SQLITE_FULL/, 'the disk of the database is full: make room there'],
  [
    /^SQLITE_READONLY/,
    'the database cannot be written: look at the owner of its files, and whether the disk is read-only',
  ],
  [/^SQLITE_CANTOPEN/, 'the database cannot be opened: look at the owner of its files and directory'],
  [/^SQLITE_PERM|^SQLITE_AUTH/, 'the database may not be used by this user: look at the owner of its files'],
  [/^SQLITE_(CORRUPT|NOTADB)/, 'the database is damaged: restore a backup (roomtone restore), and look at the disk'],
  [/^SQLITE_IOERR/, 'the disk of the database failed: look at the kernel log, and replace the disk if it says so'],
  [/^SQLITE_(BUSY|LOCKED)/, 'another program holds the database'],
]

/** An address or a file as people write it; what there is of it. */
function placeOf({ address, dest, host, hostname, path, port }: SystemError): string | undefined {
  if (path !== undefined) return dest ?? path
  const name = hostname ?? host ?? address
  if (name === undefined) return port === undefined ? undefined : `port ${port}`
  return port === undefined ? name : `${name.includes(':') ? `[${name}]` : name}:${port}`
}

const LISTENING = /^(listen|bind)/

function ownWords(e: SystemError, at: string | undefined): string | undefined {
  const { code = '', path, syscall = '' } = e
  if (code === 'EACCES' && LISTENING.test(syscall))
    return `this user may not listen on ${placeOf(e) ?? 'that port'}: choose a port from 1024 on, or allow it (CAP_NET_BIND_SERVICE)`
  if (syscall.startsWith('spawn') && code === 'ENOENT') return `the program ${path ?? ''} is not there: install it`
  if (syscall.startsWith('spawn') && code === 'EACCES') return `the program ${path ?? ''} may not be run by this user`
  if (Object.hasOwn(NETWORK, code)) return NETWORK[code]?.(placeOf(e) ?? at ?? 'the other side')
  // EPERM and the like are also what programs say of themselves: a file or a call of the system has to be named.
  if (Object.hasOwn(DISK, code) && (path !== undefined || syscall !== ''))
    return DISK[code]?.(placeOf(e) ?? at ?? 'a file')
  return DATABASE.find(([pattern]) => pattern.test(code))?.[1]
}

/**
 * What a person can do about an error of the network, the disk or the database, in the middle of a sentence and without its
 * end; undefined for every other one. `at`: the address or file that was meant, where the error does not say.
 */
export function systemWords(e: unknown, at?: string): string | undefined {
  for (let one: unknown = e, depth = 0; one instanceof Error && depth < 5; depth++) {
    const words = ownWords(one, at)
    if (words !== undefined) return words
    // Several addresses of one name failed: what the last one says is as good as any.
    one = one instanceof AggregateError ? one.errors.at(-1) : one.cause
  }
  return undefined
}

/** The same; what it has no words for says so itself. */
export const faultWords = (e: unknown, at?: string): string =>
  systemWords(e, at) ?? (e instanceof Error ? e.message : String(e))
