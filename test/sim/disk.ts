// A virtual disk over a real folder: what was not synced can be lost, it can be full, and everything on it takes its time.
import * as fs from 'node:fs'
import * as path from 'node:path'
import type { Random } from './random.ts'
import { loseWal, type WalMark, walEnd } from './wal.ts'

// The real ones: what programs load afterwards is ours (files.ts).
export const real = { ...fs }

interface Write {
  at: number
  /** When, ms of true time. */
  when: number
  data: Buffer
  /** What was there before, as far as the file went. */
  old: Buffer
  /** Bytes of the file before it. */
  size: number
}

/** What of a file may not be on the disk yet. */
interface Unsynced {
  /** Kept open, as the file may get another name. */
  fd: number
  file: string
  writes: Write[]
}

interface NameChange {
  when: number
  dirs: string[]
  /** What it replaced or removed; gone for good when the change is on the disk. */
  kept?: string
  undo(): void
}

const SECTOR = 512
/** A kernel writes back by itself what is older: the journal of names, and data. */
const NAMES_KEPT_MS = 10_000
const DATA_KEPT_MS = 60_000

const failure = (code: string, call: string, file: string): NodeJS.ErrnoException =>
  Object.assign(new Error(`${code}: simulated, ${call} '${file}'`), { code, errno: -1, path: file, syscall: call })

/** One per machine. */
export class Disk {
  readonly root: string
  readonly capacity: number
  used = 0
  /** How many times longer than usual everything takes. */
  slowness = 1
  /** Bytes others have taken away. */
  taken = 0
  /** Unix ms by inode, in the time of the simulated world. */
  readonly changed = new Map<number, number>()
  readonly #graves: string
  readonly #names: NameChange[] = []
  readonly #now: () => number
  readonly #random: Random
  readonly #unsynced = new Map<number, Unsynced>()
  readonly #wals = new Map<string, WalMark>()
  #buried = 0

  /** `root`: an empty folder of its own. */
  constructor(root: string, capacity: number, random: Random, now: () => number) {
    this.#now = now
    this.root = path.join(root, 'root')
    this.#graves = path.join(root, 'graves')
    this.capacity = capacity
    this.#random = random
    real.mkdirSync(this.root, { recursive: true })
    real.mkdirSync(this.#graves)
  }

  holds = (file: string): boolean => file === this.root || file.startsWith(`${this.root}/`)

  get free(): number {
    return Math.max(0, this.capacity - this.used - this.taken)
  }

  /** How long an operation takes, ms. */
  latency(kind: 'look' | 'sync' | 'write'): number {
    // Mostly in memory.
    if (kind === 'look' && this.slowness === 1 && this.#random.chance(0.95)) return 0
    const most = kind === 'sync' ? 8 : kind === 'write' ? 1 : 0.3
    return this.#random.skewed(0.05, most) * this.slowness
  }

  /** Writes to an open file; as on a real disk, less than all when it gets full. @throws ENOSPC */
  write(fd: number, file: string, data: Uint8Array, at: number): number {
    const { ino, size } = real.fstatSync(fd)
    const room = Math.max(0, size - at) + this.free
    const count = Math.min(data.length, room)
    if (count === 0 && data.length > 0) throw failure('ENOSPC', 'write', file)
    const bytes = Buffer.from(data.subarray(0, count))
    const unsynced = this.#fileOf(ino, fd, file)
    const old = oldBytes(unsynced, at, Math.min(size, at + count))
    unsynced.writes.push({ at, data: bytes, old, size, when: this.#now() })
    for (let done = 0; done < count; ) done += real.writeSync(fd, bytes, done, count - done, at + done)
    this.used += Math.max(0, at + count - size)
    return count
  }

  truncate(fd: number, file: string, length: number): void {
    const { ino, size } = real.fstatSync(fd)
    if (length > size && length - size > this.free) throw failure('ENOSPC', 'ftruncate', file)
    if (length === size) return
    const unsynced = this.#fileOf(ino, fd, file)
    const old = oldBytes(unsynced, length, size)
    unsynced.writes.push({ at: length, data: Buffer.alloc(0), old, size, when: this.#now() })
    real.ftruncateSync(fd, length)
    this.used += length - size
  }

  /** What was written to the file survives a power cut from now on; its name does not by that. */
  sync(fd: number, file: string): void {
    if (file.endsWith('-wal')) this.#wals.set(file, walEnd(fd, this.#wals.get(file)))
    const stat = real.fstatSync(fd)
    if (stat.isDirectory()) this.#syncNames(file)
    const unsynced = this.#unsynced.get(stat.ino)
    if (!unsynced) return
    real.closeSync(unsynced.fd)
    this.#unsynced.delete(stat.ino)
  }

  /** SQLite synced its journal by itself. */
  walSynced(file: string): void {
    const fd = real.openSync(file, 'r')
    this.#wals.set(file, walEnd(fd, this.#wals.get(file)))
    real.closeSync(fd)
  }

  created(file: string): void {
    this.#renamed({ dirs: [path.dirname(file)], undo: () => real.rmSync(file, { force: true, recursive: true }) })
  }

  rename(from: string, to: string): void {
    const kept = real.existsSync(to) ? this.#bury(to) : undefined
    real.renameSync(from, to)
    const undo = () => {
      real.renameSync(to, from)
      if (kept) real.renameSync(kept, to)
    }
    this.#renamed({ dirs: [path.dirname(from), path.dirname(to)], undo, ...(kept && { kept }) })
  }

  remove(file: string): void {
    const kept = this.#bury(file)
    this.#renamed({ dirs: [path.dirname(file)], kept, undo: () => real.renameSync(kept, file) })
  }

  #renamed(change: Omit<NameChange, 'when'>): void {
    const young = this.#names.findIndex(({ when }) => when > this.#now() - NAMES_KEPT_MS)
    this.#written(this.#names.splice(0, young < 0 ? this.#names.length : young))
    this.#names.push({ ...change, when: this.#now() })
  }

  #written(changes: NameChange[]): void {
    for (const { kept } of changes) if (kept) real.rmSync(kept, { force: true, recursive: true })
  }

  #bury(file: string): string {
    this.used -= sizeBelow(file)
    const kept = path.join(this.#graves, String(this.#buried++))
    real.renameSync(file, kept)
    return kept
  }

  #fileOf(ino: number, fd: number, file: string): Unsynced {
    const known = this.#unsynced.get(ino)
    if (known) return known
    const made = { fd: real.openSync(`/proc/self/fd/${fd}`, 'r+'), file, writes: [] }
    this.#unsynced.set(ino, made)
    return made
  }

  /** The journal keeps its order: what came before a change that is on the disk is there, too. */
  #syncNames(dir: string): void {
    const last = this.#names.findLastIndex(({ dirs }) => dirs.includes(dir))
    this.#written(this.#names.splice(0, last + 1))
  }

  /** The power is gone: of what was not synced, any part may be lost. Nothing may be open any more. */
  powerCut(): void {
    for (const [file, mark] of this.#wals) if (real.existsSync(file)) loseWal(file, mark, this.#random)
    this.#wals.clear()
    for (const unsynced of this.#unsynced.values()) this.#tear(unsynced)
    this.#unsynced.clear()
    const young = this.#names.filter(({ when }) => when > this.#now() - NAMES_KEPT_MS).length
    const lost = this.#random.chance(0.3) ? 0 : this.#random.whole(0, young)
    for (const change of this.#names.splice(this.#names.length - lost).toReversed()) change.undo()
    this.#written(this.#names.splice(0))
    this.used = sizeBelow(this.root)
  }

  #tear({ fd, writes: all }: Unsynced): void {
    const writes = all.filter(({ when }) => when > this.#now() - DATA_KEPT_MS)
    for (const { at, old, size } of writes.toReversed()) {
      if (old.length > 0) real.writeSync(fd, old, 0, old.length, at)
      real.ftruncateSync(fd, size)
    }
    const share = this.#random.pick([0, 0.3, 0.9, 1])
    for (const { at, data } of writes) {
      if (!this.#random.chance(share)) continue
      if (data.length === 0) real.ftruncateSync(fd, at)
      else real.writeSync(fd, this.#torn(data), 0, undefined, at)
    }
    real.closeSync(fd)
  }

  /** Mostly whole; else the sectors up to a point. */
  #torn(data: Buffer): Buffer {
    if (this.#random.chance(0.8)) return data
    return data.subarray(0, this.#random.whole(1, Math.ceil(data.length / SECTOR)) * SECTOR)
  }
}

/** Read by a descriptor of our own: the program's may be for writing only. */
function oldBytes({ fd }: Unsynced, from: number, to: number): Buffer {
  const old = Buffer.alloc(Math.max(0, to - from))
  if (old.length > 0) real.readSync(fd, old, 0, old.length, from)
  return old
}

/** Bytes of a file, or of all files below a folder. */
export function sizeBelow(file: string): number {
  const stat = real.lstatSync(file, { throwIfNoEntry: false })
  if (!stat?.isDirectory()) return stat?.size ?? 0
  return real.readdirSync(file).reduce((sum, name) => sum + sizeBelow(path.join(file, name)), 0)
}
