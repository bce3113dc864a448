// SMB shares through the system's smbclient: one short-lived child per step, credentials through an unlinked file.
import { randomBytes } from 'node:crypto'
import { accessSync, closeSync, constants, createReadStream, openSync, unlinkSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import * as path from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { firstWords, NotStarted, start } from '../../system/host/run.ts'
import type { ChecksumVerification, SmbOptions } from '../../wire/uploads.ts'
import { cleanText, type Delivery, type Driver, DriverError, type Watch } from './driver.ts'
import { verifyByReading } from './readback.ts'

/** The reason shown for SMB destinations on a machine without smbclient. */
export const NO_SMBCLIENT = 'destination_not_implemented: install smbclient (Debian: apt-get install smbclient)'

/** Bytes kept of smbclient's messages. */
const KEPT = 8192
const CLEANUP_MS = 5_000
const OPERATION_SECONDS = 60

/** Where smbclient is: `command` itself when it is a path, else the first of `dirs` that has it. */
export function findSmbclient(command: string, dirs: readonly string[]): string | undefined {
  const places = command.includes('/') ? [command] : dirs.map((dir) => path.join(dir, command))
  return places.find(isExecutable)
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    // Missing or not executable: try the next place.
    return false
  }
}

interface Share {
  command: string
  /** The reason when smbclient fails without a status. */
  failure: 'smb_fetch_failed' | 'smb_upload_failed'
  options: SmbOptions & { password: string }
}

interface Streams {
  /** Writes the stdin of the child. */
  input?: (stdin: NodeJS.WritableStream) => Promise<void>
  /** Reads the stdout of the child. */
  output?: (stdout: Readable) => Promise<void>
}

/** A driver for one share. The file is written under a temporary name, verified by reading it back, and then renamed. */
export const smbDriver = (where: Omit<Share, 'failure'>): Driver => ({
  deliver: async (delivery, watch) => {
    const share: Share = { ...where, failure: 'smb_upload_failed' }
    const { server, share: name } = share.options
    if (!server || !name) throw new DriverError('smb_config_incomplete')
    const folders = delivery.remote.slice(0, -1)
    const place = quoted(delivery.remote)
    const draft = quoted([...folders, `.${randomBytes(8).toString('hex')}.part`])
    await makeFolders(share, folders, watch.signal)
    try {
      await run(share, `put - ${draft}`, watch.signal, { input: (stdin) => send(delivery, stdin, watch) })
      const verification = await readBack(share, draft, delivery, watch)
      await run(share, `rename ${draft} ${place} -f`, watch.signal)
      return { verification }
    } catch (e) {
      await removeDraft(share, draft)
      throw e
    }
  },
  fetch: async (remote, take, signal) => {
    if (!where.options.server || !where.options.share) throw new DriverError('smb_config_incomplete')
    return fetchFile({ ...where, failure: 'smb_fetch_failed' }, remote, take, signal)
  },
})

async function fetchFile(
  share: Share,
  remote: readonly string[],
  take: (body: Readable) => Promise<void>,
  signal: AbortSignal,
): Promise<boolean> {
  let fault: unknown
  const output = (stdout: Readable): Promise<void> =>
    take(stdout).catch((e: unknown) => {
      fault = e
    })
  try {
    await run(share, `get ${quoted(remote)} -`, signal, { output })
  } catch (e) {
    // If `take` failed first (a full disk), the broken pipe is only a consequence.
    if (fault !== undefined) throw fault
    if (e instanceof DriverError && /^smb_object_(name|path)_not_found$/.test(e.reason)) return false
    throw e
  }
  if (fault !== undefined) throw fault
  return true
}

/** Creates all levels with one command; levels that exist already are fine. */
async function makeFolders(share: Share, folders: readonly string[], signal: AbortSignal): Promise<void> {
  const levels = folders.map((_, i) => `mkdir ${quoted(folders.slice(0, i + 1))}`)
  if (levels.length > 0) await run(share, levels.join(';'), signal, {}, ['OBJECT_NAME_COLLISION'])
}

async function send({ file }: Delivery, stdin: NodeJS.WritableStream, { progress, signal }: Watch): Promise<void> {
  const source = createReadStream(file, { highWaterMark: 256 * 1024 })
  let sent = 0
  source.on('data', (chunk) => {
    sent += chunk.length
    progress(sent)
  })
  await pipeline(source, stdin, { signal })
}

/** Verifies the file by reading it back. @throws DriverError `checksum_mismatch` when it is not what was sent. */
async function readBack(share: Share, draft: string, delivery: Delivery, watch: Watch): Promise<ChecksumVerification> {
  let result: ChecksumVerification | undefined
  let fault: unknown
  const output = (stdout: Readable): Promise<void> =>
    verifyByReading(stdout, delivery, watch).then(
      (verification) => {
        result = verification
      },
      (e: unknown) => {
        fault = e
      },
    )
  await run(share, `get ${draft} -`, watch.signal, { output }).catch((e: unknown) => {
    // An error of the share counts; smbclient failing because reading was stopped does not.
    if (fault === undefined || !(e instanceof DriverError) || e.reason !== share.failure) throw e
  })
  if (result === undefined) throw fault
  return result
}

/** Best effort: the share itself may have failed, and a leftover temporary file does no harm. */
async function removeDraft(share: Share, draft: string): Promise<void> {
  await run(share, `del ${draft}`, AbortSignal.timeout(CLEANUP_MS)).catch(() => {})
}

/**
 * A quoted path for smbclient's command line, which has no escapes: characters that cannot be quoted are refused, and names
 * that would look like one of its errors.
 */
export function quoted(parts: readonly string[]): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: refusing them is the point
  const bad = parts.find((part) => /["\\/;:*?<>|\u0000-\u001f\u007f]|NT_STATUS_|^\.+$/.test(part))
  if (bad !== undefined) throw new DriverError('smb_path_invalid', `a share takes no folder or file called ${bad}`)
  return `"${parts.join('/')}"`
}

/**
 * Runs one command line on the share. smbclient's exit code does not cover every failure, so its output is read too.
 * @throws DriverError `smb_<code>` by the first NT status that is not among `fine`.
 */
async function run(
  share: Share,
  line: string,
  signal: AbortSignal,
  streams: Streams = {},
  fine: readonly string[] = [],
): Promise<void> {
  signal.throwIfAborted()
  const { failure, options } = share
  const { code, said } = await child(share, argsOf(options, line), signal, streams)
  const statuses = [...said.matchAll(/NT_STATUS_([A-Z0-9_]+)/g)].map((match) => match[1] as string)
  const bad = statuses.find((status) => !fine.includes(status))
  if (bad) throw new DriverError(`smb_${bad.toLowerCase()}`)
  if (code !== 0 && statuses.length === 0) throw new DriverError(failure, cleanText(said, [options.password]))
}

// No configuration of the machine, messages to stderr, and nothing of the credentials.
function argsOf({ port, server, share }: SmbOptions, line: string): string[] {
  const where = [`//${server}/${share}`, ...(port ? ['-p', String(port)] : [])]
  return [
    ...where,
    '-s',
    '/dev/null',
    '-A',
    '/proc/self/fd/3',
    '-E',
    '-d',
    '1',
    '-t',
    String(OPERATION_SECONDS),
    '-c',
    line,
  ]
}

async function child(
  { command, failure, options }: Share,
  args: string[],
  signal: AbortSignal,
  { input, output }: Streams,
): Promise<{ code: number | null; said: string }> {
  const program = withCredentials(options, (credentials) =>
    start(command, args, {
      env: { LANG: 'C.UTF-8' },
      more: [credentials],
      signal,
      stdin: input ? 'pipe' : 'ignore',
    }),
  )
  const said = firstWords(program.stderr, KEPT)
  // A program that ends early breaks the pipe; its own message counts, not the broken pipe.
  const sending = input?.(program.stdin).catch(() => {})
  const reading = output ? output(program.stdout).catch(() => {}) : program.stdout.resume()
  try {
    const { code } = await program.ended
    return { code, said: said() }
  } catch (e) {
    throw e instanceof NotStarted ? new DriverError(failure, cleanText(e.message, [])) : e
  } finally {
    await sending
    await reading
  }
}

function withCredentials<T>(options: Share['options'], use: (descriptor: number) => T): T {
  const descriptor = credentialsFile(options)
  try {
    return use(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/**
 * Descriptor of an unlinked file with the credentials: it cannot be opened by others or left behind, however this process
 * ends. Arguments and environment could be read by other users of the machine.
 */
function credentialsFile({ domain, password, username }: SmbOptions & { password: string }): number {
  const fields = { username, password, domain }
  const lines = Object.entries(fields).flatMap(([name, value]) => (value ? [`${name}=${value}\n`] : []))
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a line break would begin another field
  if (lines.some((line) => /[\u0000-\u001f]/.test(line.slice(0, -1)))) throw new DriverError('smb_config_incomplete')
  const name = path.join(tmpdir(), `.roomtone-${randomBytes(12).toString('hex')}`)
  const file = openSync(name, 'wx+', 0o600)
  try {
    unlinkSync(name)
    writeSync(file, lines.join(''))
    return file
  } catch (e) {
    closeSync(file)
    throw e
  }
}
