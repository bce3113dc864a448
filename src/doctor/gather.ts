// Collects what a support file holds, as it is; nothing of it may leave the box before it went through `hide.rules.ts`.
import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import { version } from '../kernel/version.ts'
import { PLACES, UNITS } from '../system/host/places.ts'
import { NotStarted, run, start } from '../system/host/run.ts'
import type { DoctorRole } from '../wire/doctor.ts'

/** Bytes of a unit's journal: the newest ones. */
export const JOURNAL_BYTES = 5 * 1024 * 1024
const SINCE = '-24h'
const JOURNAL_MS = 60_000
const TOOL_MS = 10_000

export interface Part {
  name: string
  text: string
}

const UNITS_OF: Record<DoctorRole, readonly string[]> = {
  agent: [UNITS.agent, UNITS.agentRefresh, UNITS.setup, UNITS.setupBoot],
  controller: [UNITS.controller, UNITS.tlsRenew],
  lifecycle: [UNITS.lifecycle],
}

/** What a program of the system says; a sentence where it does not. */
async function said(command: string, args: readonly string[]): Promise<string> {
  try {
    const { code, stderr, stdout } = await run(command, args, { timeoutMs: TOOL_MS })
    return code === 0 ? stdout : `${stdout}${stderr}(ended with ${code})\n`
  } catch (e) {
    if (e instanceof NotStarted) return '(not installed)\n'
    throw e
  }
}

const fileText = (file: string): string => {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch {
    // Not every machine has it.
    return '(not there)\n'
  }
}

/** The end of a stream, at most so many bytes. */
async function endOf(stream: AsyncIterable<Buffer>, most: number): Promise<Buffer> {
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of stream) {
    pieces.push(piece)
    size += piece.length
    while (size - (pieces[0] as Buffer).length >= most) size -= (pieces.shift() as Buffer).length
  }
  return Buffer.concat(pieces).subarray(-most)
}

/** The journal of a unit; undefined where there is none. Begins with a whole line. */
async function journalOf(unit: string): Promise<string | undefined> {
  const args = ['-u', unit, '--since', SINCE, '-o', 'short-iso', '--no-hostname', '--no-pager', '-q']
  const program = start('journalctl', args, { signal: AbortSignal.timeout(JOURNAL_MS) })
  program.stderr.resume()
  try {
    const [bytes] = await Promise.all([endOf(program.stdout as AsyncIterable<Buffer>, JOURNAL_BYTES), program.ended])
    const text = bytes.toString('utf8')
    if (text.trim() === '') return undefined
    return bytes.length < JOURNAL_BYTES ? text : text.slice(text.indexOf('\n') + 1)
  } catch (e) {
    if (e instanceof NotStarted) return undefined
    // A sick box is what the file is made for: it goes without this part.
    if ((e as Error).name === 'TimeoutError') return `The journal was not read within ${JOURNAL_MS / 1000} s.\n`
    throw e
  }
}

export async function journals(roles: readonly DoctorRole[]): Promise<Part[]> {
  const units = [...new Set(roles.flatMap((role) => UNITS_OF[role]))]
  const texts = await Promise.all(units.map(async (unit) => [unit, await journalOf(unit)] as const))
  return texts.flatMap(([unit, text]) => (text === undefined ? [] : [{ name: `journal-${unit}.log`, text }]))
}

/** Versions of everything that takes part; `packages`: of Debian. */
export async function versions(packages: readonly string[]): Promise<Part> {
  const installed = await said('dpkg-query', ['-W', ...packages])
  const text = [
    `roomtone ${version}, Node ${process.version}, ${process.arch}`,
    `kernel ${os.release()}, ${os.availableParallelism()} processors, ${Math.round(os.totalmem() / 2 ** 20)} MiB of memory`,
    `up for ${Math.round(os.uptime() / 3600)} h`,
    `in ${PLACES.versions}: ${(fs.existsSync(PLACES.versions) ? fs.readdirSync(PLACES.versions) : []).join(', ') || 'nothing'}`,
    fileText('/etc/os-release').trim(),
    installed.trim(),
  ]
  return { name: 'versions.txt', text: `${text.join('\n\n')}\n` }
}

/** Disks, sound, time, network and services as the system shows them. */
export async function machine(roles: readonly DoctorRole[]): Promise<Part> {
  const units = [...new Set(roles.flatMap((role) => UNITS_OF[role]))]
  const asked: [command: string, args: string[]][] = [
    ['df', ['-hT', '-x', 'tmpfs', '-x', 'devtmpfs', '-x', 'overlay']],
    ['timedatectl', ['status']],
    ['arecord', ['-l']],
    ['ip', ['-brief', 'address']],
    ['ip', ['route']],
    ['systemctl', ['show', ...units, '-p', 'Id,ActiveState,SubState,Result,NRestarts,ExecMainStartTimestamp']],
  ]
  const answers = await Promise.all(
    asked.map(async ([command, args]) => `$ ${[command, ...args].join(' ')}\n${await said(command, args)}`),
  )
  const files = ['/proc/asound/cards', '/proc/asound/pcm', '/proc/loadavg', '/etc/resolv.conf']
  const shown = files.map((file) => `$ cat ${file}\n${fileText(file)}`)
  return { name: 'machine.txt', text: [...answers, ...shown].join('\n') }
}

const MOST_SECRET = 64 * 1024

/** The contents of files that hold a secret, as far as they can be read. */
export function contents(files: readonly string[]): string[] {
  return files.flatMap((file) => {
    const found = fs.statSync(file, { throwIfNoEntry: false })
    return found?.isFile() && found.size <= MOST_SECRET ? [fileText(file).trim()] : []
  })
}

/** Files of secrets that systemd gives to our services. */
export function credentialFiles(): string[] {
  const dir = PLACES.credentials
  try {
    return fs
      .readdirSync(dir)
      .filter((name) => name.startsWith('roomtone.'))
      .map((name) => path.join(dir, name))
  } catch {
    // None, or not to be seen by this user, who cannot pack them either.
    return []
  }
}
