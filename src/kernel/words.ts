// Turns errors of the network, the disk and the database into words a person can act on, and numbers into sentences.

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
  `${at} did not answer in time: check that it is switched on and that no firewall is in the way`
const NO_WAY: Words = (at) =>
  `${at} cannot be reached: check the cable or Wi-Fi and the network settings of this machine`
const BROKEN: Words = (at) => `${at} closed the connection: try again, and check the log of the other side`
const CROWDED: Words = () => 'too many open files: raise the limit (LimitNOFILE) or restart the program'

const NETWORK: Record<string, Words> = {
  EADDRINUSE: (at) => `${at} is in use by another program: stop it, or choose another port`,
  EADDRNOTAVAIL: (at) => `this machine does not have the address ${at}`,
  EAI_AGAIN: (at) =>
    `the name ${at} could not be resolved: no name server answers. Check the network and the name servers of this machine`,
  EAI_FAIL: (at) =>
    `the name ${at} could not be resolved: the name server failed. Check the name servers of this machine`,
  ECONNABORTED: BROKEN,
  ECONNREFUSED: (at) => `nothing listens at ${at}: check that the service is running and that the port is right`,
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
  EACCES: (at) => `permission denied for ${at}: check its owner and mode`,
  EBUSY: (at) => `${at} is in use by another program`,
  EDQUOT: (at) => `${at} could not be written: this user's disk quota is used up`,
  EEXIST: (at) => `${at} already exists`,
  EFBIG: (at) => `${at} could not be written: it is larger than the file system allows`,
  EIO: (at) => `the disk failed at ${at}: check the kernel log, and replace the disk if it reports errors`,
  EISDIR: (at) => `${at} is a directory`,
  ELOOP: (at) => `${at} is a symbolic link, which is not followed here`,
  EMFILE: CROWDED,
  ENFILE: CROWDED,
  ENOENT: (at) => `${at} does not exist`,
  ENOSPC: (at) => `${at} could not be written: the disk is full. Make room there`,
  ENOTDIR: (at) => `${at} is not a directory`,
  ENOTEMPTY: (at) => `${at} is not empty`,
  EPERM: (at) => `no permission to change ${at}: check its owner and attributes`,
  EROFS: (at) => `${at} could not be written: the disk is read-only. Mount it writable`,
  ETXTBSY: (at) => `${at} is a program that is running`,
}

const DATABASE: [code: RegExp, words: string][] = [
  [/^SQLITE_FULL/, 'the disk of the database is full: make room there'],
  [
    /^SQLITE_READONLY/,
    'the database cannot be written: check the owner of its files, and that the disk is not read-only',
  ],
  [/^SQLITE_CANTOPEN/, 'the database cannot be opened: check the owner of its files and directory'],
  [/^SQLITE_PERM|^SQLITE_AUTH/, 'permission denied for the database: check the owner of its files'],
  [/^SQLITE_(CORRUPT|NOTADB)/, 'the database is damaged: restore a backup (roomtone restore), and check the disk'],
  [/^SQLITE_IOERR/, 'the disk of the database failed: check the kernel log, and replace the disk if it reports errors'],
  [/^SQLITE_(BUSY|LOCKED)/, 'another program has locked the database'],
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
    return `this user has no permission to listen on ${placeOf(e) ?? 'that port'}: choose a port from 1024 on, or allow it (CAP_NET_BIND_SERVICE)`
  if (syscall.startsWith('spawn') && code === 'ENOENT') return `the program ${path ?? ''} was not found: install it`
  if (syscall.startsWith('spawn') && code === 'EACCES')
    return `the program ${path ?? ''} cannot be run by this user: check its mode`
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

/** A number with what is counted: `1 take`, `2 takes`. */
export const counted = (n: number, one: string, many = `${one}s`): string => `${n} ${n === 1 ? one : many}`
