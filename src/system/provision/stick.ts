// Reads an untrusted file system in a child process with its own mount namespace: no other process sees the mount, and it
// is gone when the child ends.

import * as fs from 'node:fs'
import * as path from 'node:path'
import { inExecutable } from '../../kernel/assets.ts'
import { UserError } from '../../kernel/fail.ts'
import { SETUP_FILE, SETUP_FILE_MAX } from '../../wire/provision.ts'
import { PLACES } from '../host/places.ts'
import { type RunResult, run } from '../host/run.ts'
import { childEnv } from './config.ts'
import { RESULT_FILE, type Report, readDirectory, readFileStrictly, reportInto } from './directory.ts'
import { FILE_SYSTEMS, type FileSystem } from './permits.ts'

/** The hidden verb of the child: `roomtone provision --stick DEVICE`, what to do as one line of JSON on stdin. */
export const STICK_FLAG = '--stick'

/** `fileSystems`: what a stick may be formatted as on this box. */
export type Errand = { fileSystems: readonly FileSystem[] } & ({ task: 'read' } | ({ task: 'report' } & Report))
/** What the child says on stdout, one line of JSON. */
type Errands = { bytes?: string; refused?: string }

/** Options that keep a read-only mount from changing the device: no journal is replayed. */
const QUIETLY: Record<FileSystem, string[]> = { vfat: [], ext4: ['noload'], iso9660: [] }
// Nothing on it is run, opened as a device or followed as a link.
const SAFE = 'nosuid,nodev,noexec,nosymfollow'
const MOUNT_BASE = '/run'
const PROGRAM_MS = 30_000
const CHILD_MS = 90_000

const self = (): string[] => [process.execPath, ...(inExecutable ? [] : [process.argv[1] as string])]

/** Runs the child for a device or image. @throws UserError with its message; NotStarted where `unshare` is missing */
export async function errand(
  device: string,
  what: Errand,
  signal: AbortSignal,
  program: readonly string[] = self(),
): Promise<Uint8Array> {
  const args = ['--mount', '--propagation', 'private', '--', ...program, 'provision', STICK_FLAG, device]
  const input = `${JSON.stringify(what)}\n`
  const limits = { maxOutput: 4 * SETUP_FILE_MAX, signal, timeoutMs: CHILD_MS }
  const done = await run('unshare', args, { env: childEnv(), input, ...limits })
  const { bytes = '', refused } = answered(device, done)
  if (refused !== undefined) throw new UserError(refused)
  return Buffer.from(bytes, 'base64')
}

function answered(device: string, { code, stderr, stdout, timedOut }: RunResult): Errands {
  if (timedOut) throw new UserError(`${device} does not respond. The stick may be damaged: try another one.`)
  if (code !== 0) throw new UserError(`${device} cannot be opened: ${stderr.trim().slice(0, 300)}`)
  return JSON.parse(stdout) as Errands
}

/** The child's half. */
export async function runErrand(device: string, what: Errand): Promise<Errands> {
  try {
    const bytes = what.task === 'read' ? await readStick(device, what) : await reportTo(device, what)
    return bytes ? { bytes: Buffer.from(bytes).toString('base64') } : {}
  } catch (e) {
    if (e instanceof UserError) return { refused: e.message }
    throw e
  }
}

const readStick = async (device: string, { fileSystems }: Errand): Promise<Uint8Array> =>
  await within(device, fileSystems, 'ro', readDirectory, async (dir) => {
    // The kernel limits the size of what is copied.
    const limit = `--fsize=${SETUP_FILE_MAX + 1}`
    await mtools(device, 'prlimit', [limit, 'mcopy', '-n', '-i', device, `::/${SETUP_FILE}`, dir])
    return readFileStrictly(path.join(dir, SETUP_FILE))
  })

const reportTo = async (device: string, report: Errand & Report): Promise<void> =>
  await within(
    device,
    report.fileSystems,
    'rw',
    (dir) => reportInto(dir, report),
    async (dir) => {
      // Fetches an existing result, to append to it.
      await run('mcopy', ['-n', '-i', device, `::/${RESULT_FILE}`, dir], { timeoutMs: PROGRAM_MS })
      reportInto(dir, report)
      const files = fs.readdirSync(dir).map((name) => path.join(dir, name))
      await mtools(device, 'mcopy', ['-o', '-i', device, ...files, '::/'])
      await run('sync', [])
    },
  )

/**
 * Mounts the device for `mounted`. Where the kernel cannot mount FAT, calls `otherwise` with an empty directory, for
 * mtools.
 */
async function within<T>(
  device: string,
  fileSystems: readonly FileSystem[],
  mode: 'ro' | 'rw',
  mounted: (dir: string) => T,
  otherwise: (dir: string) => Promise<T>,
): Promise<T> {
  const kind = await kindOf(device, fileSystems)
  const dir = fs.mkdtempSync(path.join(MOUNT_BASE, 'roomtone-stick-'))
  try {
    if (!(await mount(device, kind, mode, dir))) return await otherwise(dir)
    try {
      return mounted(dir)
    } finally {
      // Flushes as well.
      await run('umount', [dir], { timeoutMs: PROGRAM_MS })
    }
  } finally {
    fs.rmSync(dir, { force: true, recursive: true })
  }
}

async function kindOf(device: string, fileSystems: readonly FileSystem[]): Promise<FileSystem> {
  const { stdout } = await run('blkid', ['-p', '-o', 'value', '-s', 'TYPE', device], { timeoutMs: PROGRAM_MS })
  const kind = stdout.trim()
  const permitted = fileSystems.find((one) => one === kind)
  if (permitted) return permitted
  if (FILE_SYSTEMS.some((one) => one === kind))
    throw new UserError(
      `${device} is formatted as ${kind}, which this box does not permit: format the stick as FAT32 with the label ` +
        `SVC-SETUP, or permit it in ${PLACES.provisionSettings} (SVC_PROVISION_FILE_SYSTEMS="vfat ${kind}").`,
    )
  const what = kind === '' ? 'no known file system' : `a ${kind} file system`
  throw new UserError(`${device} holds ${what}: format the stick as FAT32 and give it the label SVC-SETUP.`)
}

/** False when the kernel does not support FAT. @throws UserError when it cannot be mounted */
async function mount(device: string, kind: FileSystem, mode: 'ro' | 'rw', dir: string): Promise<boolean> {
  const loop = fs.statSync(device).isFile() ? ['loop'] : []
  const own = mode === 'ro' ? QUIETLY[kind] : []
  const options = [mode, ...loop, SAFE, ...own].join(',')
  const { code, stderr } = await run('mount', ['-t', kind, '-o', options, device, dir], { timeoutMs: PROGRAM_MS })
  if (code === 0) return true
  if (kind === 'vfat' && stderr.includes('unknown filesystem type')) return false
  throw new UserError(`${device} cannot be mounted (${stderr.trim().split('\n')[0]}). The stick may be damaged.`)
}

/** @throws UserError when it fails; NotStarted where mtools are missing. */
async function mtools(device: string, command: string, args: string[]): Promise<void> {
  const { code, signal, stderr } = await run(command, args, { timeoutMs: PROGRAM_MS })
  if (code === 0) return
  if (signal === 'SIGXFSZ' || stderr.includes('File too large'))
    throw new UserError(`${SETUP_FILE} is larger than ${SETUP_FILE_MAX / 1024} KiB.`)
  if (stderr.includes('not found')) throw new UserError(`No ${SETUP_FILE} found on ${device}.`)
  throw new UserError(`${device} cannot be read (${stderr.trim().slice(0, 300)}). The stick may be damaged.`)
}
