// Releases that this controller offers to its nodes: a folder per release in one directory, and its own executable.
import type { Stats } from 'node:fs'
import * as fs from 'node:fs/promises'
import * as path from 'node:path'
import type { Log } from '../../../kernel/log.ts'
import { faultWords } from '../../../kernel/words.ts'
import { archiveOf, compareVersions, parseSums, SIGNATURE, SUMS } from '../../../system/host/release.rules.ts'
import { digestOfFile, sumsFault } from '../../../system/host/release.ts'
import { OwnRelease, type Running } from './repository.own.ts'
import { type Held, type HeldFile, offerOf, ownWanted } from './repository.rules.ts'

interface RepositoryParts {
  /** Holds a folder per release, as `npm run release` makes them; one release may also stand in it directly. */
  dir: string
  log: Log
  /** Ed25519 public key (PEM): releases that are not signed with it are not offered. */
  publicKey: string | undefined
  /** The running executable; absent in development. */
  running?: Running | undefined
}

/** The newest release, known without reading or packing anything. */
export interface Newest {
  architectures: string[]
  version: string
}

const MAX_SUMS_BYTES = 64 * 1024

/**
 * Every scan reads the directory again, so that what an operator puts there is offered at once; an archive is hashed once, as
 * long as it is the same file. An archive that does not match its checksum is not offered, which is logged once.
 */
export class ReleaseRepository {
  private readonly parts: RepositoryParts
  private readonly own: OwnRelease | undefined
  private readonly digests = new Map<string, Promise<string>>()
  private readonly warned = new Set<string>()
  private seen: Held[] = []

  constructor(parts: RepositoryParts) {
    this.parts = parts
    this.own = parts.running && new OwnRelease(parts.dir, parts.running)
  }

  get dir(): string {
    return this.parts.dir
  }

  /** The newest version as of the last scan; starts another scan. */
  newest(): Newest | undefined {
    // The scan itself logs a directory that cannot be read.
    void this.scan().catch(() => {})
    const running = this.parts.running
    const archives = [...this.seen.flatMap((held) => held.archives), ...(running ? [running] : [])]
    const [first] = archives.sort((a, b) => compareVersions(b.version, a.version))
    if (!first) return undefined
    const architectures = archives.filter((one) => one.version === first.version).map(({ arch }) => arch)
    return { architectures: [...new Set(architectures)].sort(), version: first.version }
  }

  /** The release of a bare version, or the latest; packs the own executable when no other fits. Rejects when that fails. */
  async offer(version: string): Promise<Held | undefined> {
    const held = await this.scan()
    const { running } = this.parts
    const own = running && ownWanted(held, running, version) ? await this.own?.pack() : undefined
    return offerOf(own ? [...held, own] : held, version)
  }

  /** Whether there is an archive of this version, the own executable not counted. */
  async holds(version: string): Promise<boolean> {
    return (await this.scan()).some((held) => held.version === version)
  }

  /** Aborts packing. */
  async stop(): Promise<void> {
    await this.own?.stop()
  }

  /** Reads the directory. */
  async scan(): Promise<Held[]> {
    const held: Held[] = []
    for (const folder of await this.folders()) held.push(...(await this.readable(folder)))
    this.seen = held
    return held
  }

  private async folders(): Promise<string[]> {
    try {
      const entries = await fs.readdir(this.parts.dir, { withFileTypes: true })
      const visible = entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
      return ['.', ...visible.map(({ name }) => name).sort()]
    } catch (e) {
      // Without the directory there are no releases, which is the usual case.
      if ((e as NodeJS.ErrnoException).code !== 'ENOENT') this.warnOnce(this.parts.dir, faultWords(e))
      return []
    }
  }

  /** The releases of a folder; one that fails its checks is logged and skipped. */
  private async readable(folder: string): Promise<Held[]> {
    try {
      return await this.readFolder(folder)
    } catch (e) {
      this.warnOnce(folder, faultWords(e))
      return []
    }
  }

  private async readFolder(folder: string): Promise<Held[]> {
    const sums = await this.small(folder, SUMS)
    if (!sums) return []
    const signature = await this.small(folder, SIGNATURE)
    const text = sums.toString('utf8')
    const fault = sumsFault({ key: this.parts.publicKey, signature, sums: text })
    if (fault) throw new Error(fault)
    const archives: HeldFile[] = []
    for (const [name, digest] of parseSums(text)) archives.push(...(await this.archive(folder, name, digest)))
    const [first] = archives
    return first ? [{ archives, sums: text, version: first.version, ...(signature ? { signature } : {}) }] : []
  }

  private async archive(folder: string, name: string, sha256: string): Promise<HeldFile[]> {
    const parsed = archiveOf(name)
    const relative = path.join(folder, name)
    const stat = parsed && (await fs.stat(path.join(this.parts.dir, relative)).catch(() => undefined))
    // The list has both architectures, but a site may keep only one archive.
    if (!parsed || !stat?.isFile()) return []
    const found = await this.digest(path.join(this.parts.dir, relative), stat)
    if (found === sha256)
      return [{ ...parsed, at: stat.mtime.toISOString(), name, path: relative, sha256, size: stat.size }]
    this.warnOnce(relative, `its SHA-256 is ${found}, ${SUMS} says ${sha256}`)
    return []
  }

  private digest(file: string, { ino, mtimeMs, size }: Stats): Promise<string> {
    const key = `${file} ${ino} ${size} ${mtimeMs}`
    const known = this.digests.get(key)
    if (known) return known
    const digest = digestOfFile(file)
    this.digests.set(key, digest)
    digest.catch(() => this.digests.delete(key))
    return digest
  }

  private async small(folder: string, name: string): Promise<Buffer | undefined> {
    const file = path.join(this.parts.dir, folder, name)
    const stat = await fs.stat(file).catch(() => undefined)
    if (!stat?.isFile()) return undefined
    if (stat.size > MAX_SUMS_BYTES) throw new Error(`${name} is longer than ${MAX_SUMS_BYTES} bytes`)
    return await fs.readFile(file)
  }

  private warnOnce(place: string, reason: string): void {
    const key = `${place}: ${reason}`
    if (this.warned.has(key)) return
    this.warned.add(key)
    this.parts.log.warn('release not offered: it failed its checks', { place, reason })
  }
}
