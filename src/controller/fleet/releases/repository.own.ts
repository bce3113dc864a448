// The running executable as a release, so that a site without internet needs no other.
import * as fs from 'node:fs/promises'
import * as path from 'node:path'
import { type Clock, iso } from '../../../kernel/clock.ts'
import { packFolder } from '../../../system/host/archive.ts'
import { type Arch, archiveName, sumLine } from '../../../system/host/release.rules.ts'
import { digestOfFile } from '../../../system/host/release.ts'
import type { Runner } from '../../scheduler/ticker.ts'
import type { Held } from './repository.rules.ts'

/** The running executable. */
export interface Running {
  arch: Arch
  /** Where its bytes can be read, also after it was replaced. */
  file: string
  /** Further files of the archive: name and text. */
  papers: Record<string, string>
  version: string
}

/** Hidden, so that scans for releases skip it. */
const FOLDER = '.own'
const WORK = '.packing-'

/** How long a controller that has just started is left alone: packing takes seconds of a core. */
const QUIET_MS = 30_000
const HOUR_SECONDS = 3600

/** Has the own executable packed soon after the start: a recorder that asks for it does not wait then. */
export function packingRunner(clock: Clock, pack: (() => Promise<unknown>) | undefined): Runner {
  const from = clock.monotonic() + QUIET_MS
  let tried = false
  return {
    due: () => (tried ? undefined : iso(clock.now() + Math.max(0, from - clock.monotonic()))),
    enabled: pack !== undefined,
    intervalSeconds: HOUR_SECONDS,
    name: 'own-release',
    async tick() {
      if (clock.monotonic() < from) return
      tried = true
      await pack?.()
    },
  }
}

/** Packed at first use, and kept; the archive has the modification time of the executable it was made of. */
export class OwnRelease {
  private readonly dir: string
  private readonly running: Running
  private readonly stopping = new AbortController()
  private held: Held | undefined
  private packing: Promise<Held> | undefined

  constructor(dir: string, running: Running) {
    this.dir = dir
    this.running = running
  }

  /** Packs once for all concurrent callers. Rejects when the archive cannot be made. */
  pack(): Promise<Held> {
    this.packing ??= this.packed().finally(() => {
      this.packing = undefined
    })
    return this.packing
  }

  async stop(): Promise<void> {
    this.stopping.abort(new Error('controller stopping'))
    // The caller has received the error.
    await this.packing?.catch(() => {})
  }

  private async packed(): Promise<Held> {
    const { arch, file, version } = this.running
    const name = archiveName(version, arch)
    const archive = path.join(this.dir, FOLDER, name)
    const { mtime } = await fs.stat(file)
    const kept = await fs.stat(archive).catch(() => undefined)
    const fits = kept?.mtime.getTime() === mtime.getTime()
    if (fits && this.held) return this.held
    if (!fits) await this.make(archive, mtime)
    const { size } = await fs.stat(archive)
    const sha256 = await digestOfFile(archive)
    const at = mtime.toISOString()
    const archives = [{ arch, at, name, path: path.join(FOLDER, name), sha256, size, version }]
    this.held = { archives, sums: sumLine(name, sha256), version }
    return this.held
  }

  private async make(archive: string, mtime: Date): Promise<void> {
    const { file, papers } = this.running
    await fs.mkdir(this.dir, { recursive: true, mode: 0o750 })
    // Leftovers of an interrupted packing are large.
    for (const old of await fs.readdir(this.dir))
      if (old.startsWith(WORK)) await fs.rm(path.join(this.dir, old), { recursive: true, force: true })
    const work = await fs.mkdtemp(path.join(this.dir, WORK))
    try {
      await fs.copyFile(file, path.join(work, 'roomtone'))
      await fs.chmod(path.join(work, 'roomtone'), 0o755)
      for (const [name, text] of Object.entries(papers))
        await fs.writeFile(path.join(work, name), text, { mode: 0o644 })
      const made = path.join(work, '.tar.gz')
      await packFolder(work, [...Object.keys(papers), 'roomtone'], made, this.stopping.signal)
      await fs.utimes(made, mtime, mtime)
      // Archives of earlier versions only take up disk space.
      await fs.rm(path.dirname(archive), { recursive: true, force: true })
      await fs.mkdir(path.dirname(archive))
      await fs.rename(made, archive)
    } finally {
      await fs.rm(work, { recursive: true, force: true })
    }
  }
}
