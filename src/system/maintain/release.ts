// Fetches a release from the controller, verifies it and unpacks it beside the others. What is in service is not touched.
import * as fs from 'node:fs'
import * as path from 'node:path'
import { syncPath } from '../host/files.ts'
import { PLACES } from '../host/places.ts'
import { type Arch, archiveName, SIGNATURE, SUMS } from '../host/release.rules.ts'
import { releaseFault } from '../host/release.ts'
import { run } from '../host/run.ts'
import type { Box } from './box.ts'
import type { Depot } from './controller.ts'
import { maintenanceError } from './error.ts'

const UNPACK_MS = 300_000

/** The version a tag, a version or `latest` stands for on this machine. @throws UserError */
export async function resolve(depot: Depot, asked: string): Promise<string> {
  const facts = parse((await depot.read(asked)).toString('utf8'))
  const own = facts.find(({ arch }) => arch === process.arch)
  if (own) return own.version
  throw maintenanceError('failed', `The controller has no build of ${asked} for this machine (${process.arch}).`)
}

/** The answer may have the usual `data` envelope. */
function parse(text: string): { arch: string; version: string }[] {
  try {
    const { data, ...bare } = JSON.parse(text)
    const { files } = data ?? bare
    if (files.every(({ version }: { version: unknown }) => isVersion(version))) return files
  } catch {
    // Reported below.
  }
  throw maintenanceError('failed', 'The controller did not answer with a release: is it older than this agent?')
}

/** Used as the name of a directory. */
const isVersion = (v: unknown): boolean => typeof v === 'string' && /^[A-Za-z0-9][A-Za-z0-9._+-]{0,79}$/.test(v)

/** Downloads, verifies, tries and installs a version beside the others. @throws UserError; nothing of it is left then */
export async function fetchVersion(depot: Depot, version: string, { say }: Box): Promise<void> {
  const work = fs.mkdtempSync(path.join(PLACES.versions, '.incoming-'))
  try {
    const archive = await proved(depot, version, work)
    say(`Downloaded and verified ${path.basename(archive)}.`)
    place(await unpacked(archive, version, work), version)
  } finally {
    fs.rmSync(work, { force: true, recursive: true })
  }
}

/** Downloads the archive of a version into `work`. @throws UserError for a wrong checksum or a missing signature */
export async function proved(depot: Depot, version: string, work: string): Promise<string> {
  const name = archiveName(version, process.arch as Arch)
  const archive = path.join(work, name)
  const key = fs.existsSync(PLACES.releaseKey) ? fs.readFileSync(PLACES.releaseKey, 'utf8') : undefined
  const sums = (await depot.read(`${version}.${SUMS}`)).toString('utf8')
  const signature = key === undefined ? undefined : await depot.read(`${version}.${SIGNATURE}`)
  await depot.save(name, archive)
  const fault = await releaseFault(archive, name, { key, signature, sums }).catch((e: Error) => e.message)
  if (fault) throw maintenanceError('failed', fault)
  return archive
}

/** The program in an archive, once it runs and reports the expected version. */
async function unpacked(archive: string, version: string, work: string): Promise<string> {
  const dir = path.join(work, 'unpacked')
  fs.mkdirSync(dir)
  const args = ['--extract', '--gzip', '--no-same-owner', '--file', archive, '--directory', dir]
  const tar = await run('tar', args, { timeoutMs: UNPACK_MS })
  if (tar.code !== 0)
    throw maintenanceError('failed', `${path.basename(archive)} cannot be unpacked: ${tar.stderr.trim()}`)
  const names = fs.readdirSync(dir, { encoding: 'utf8', recursive: true })
  const program = names.map((name) => path.join(dir, name)).find(isProgram)
  if (!program) throw maintenanceError('failed', `${path.basename(archive)} does not contain roomtone.`)
  fs.chmodSync(program, 0o755)
  const said = await run(program, ['version'], { env: {}, timeoutMs: 60_000 }).catch((e: Error) => ({
    ...FAILED,
    stderr: e.message,
  }))
  if (said.stdout.trim() !== version || said.code !== 0)
    throw maintenanceError(
      'failed',
      `The program in it does not run on this box as ${version}: ${said.stderr.trim() || said.stdout.trim()}`,
    )
  return program
}

const FAILED = { code: null, stdout: '' }
const isProgram = (file: string): boolean => path.basename(file) === 'roomtone' && fs.lstatSync(file).isFile()

/** Atomic, also over the same version. */
function place(program: string, version: string): void {
  const dir = path.join(PLACES.versions, version)
  fs.mkdirSync(dir, { recursive: true })
  // The services' users start it, whatever the umask says.
  fs.chmodSync(dir, 0o755)
  syncPath(program)
  fs.renameSync(program, path.join(dir, 'roomtone'))
  syncPath(dir)
  syncPath(PLACES.versions)
}

/** Removes a version that does not work here. */
export const drop = (version: string): void =>
  fs.rmSync(path.join(PLACES.versions, version), { force: true, recursive: true })

/** Removes all versions but these, and the leftovers of interrupted updates. */
export function prune(keep: readonly string[]): void {
  for (const name of fs.readdirSync(PLACES.versions)) if (!keep.includes(name)) drop(name)
}
