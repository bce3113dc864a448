// An open file of a virtual disk: what `fs.promises.open` gives.
import type * as fs from 'node:fs'
import { Readable } from 'node:stream'
import { type Disk, real } from './disk.ts'
import type { Changes, World } from './files.ts'

export const pathOfFd = (fd: number): string => real.readlinkSync(`/proc/self/fd/${fd}`)

/** Settles a promise with what a call returns or throws. */
export function ran<T>(run: () => T, resolve: (value: T) => void, reject: (e: unknown) => void): void {
  try {
    resolve(run())
  } catch (e) {
    reject(e)
  }
}

/** Files are as old as the simulated world has it. */
export function seen<T>(world: World, answer: T): T {
  const stat = answer as fs.Stats
  if (typeof stat?.ino !== 'number') return answer
  const at = world.tenant()?.disk.changed.get(stat.ino) ?? world.time.epoch
  return Object.assign(answer as object, { birthtimeMs: at, ctimeMs: at, mtime: new Date(at), mtimeMs: at }) as T
}

interface ReadStreamOptions {
  autoClose?: boolean
  end?: number
  highWaterMark?: number
  start?: number
}

export class DiskHandle {
  readonly fd: number
  readonly #change: Changes
  readonly #disk: Disk | undefined
  readonly #world: World
  /** Where the next read or write without a place goes. */
  #at = 0
  readonly #appends: boolean
  #closed = false

  constructor(world: World, change: Changes, fd: number, appends = false) {
    this.fd = fd
    this.#appends = appends
    this.#change = change
    this.#disk = world.tenant()?.disk
    this.#world = world
  }

  #later<T>(kind: Parameters<Disk['latency']>[0], run: () => T): Promise<T> {
    if (this.#world.tenant()?.disk !== this.#disk) throw new Error('one machine uses the disk of another')
    const ms = this.#disk?.latency(kind) ?? 0
    if (ms === 0) return new Promise((resolve, reject) => ran(run, resolve, reject))
    return new Promise((resolve, reject) =>
      this.#world.time.plan(ms, () => {
        if (this.#closed) reject(Object.assign(new Error('file closed'), { code: 'EBADF' }))
        else ran(run, resolve, reject)
      }),
    )
  }

  read(
    given: Buffer | { buffer?: Buffer; length?: number; position?: number },
    from = 0,
    most?: number,
    at?: number | null,
  ): Promise<{ buffer: Buffer; bytesRead: number }> {
    if (!Buffer.isBuffer(given)) return this.read(given.buffer ?? Buffer.alloc(16_384), 0, given.length, given.position)
    const length = most ?? given.byteLength - from
    return this.#later('look', () => {
      const bytesRead = real.readSync(this.fd, given, from, length, at ?? this.#at)
      if (typeof at !== 'number') this.#at += bytesRead
      return { buffer: given, bytesRead }
    })
  }

  write(
    data: Uint8Array | string,
    from = 0,
    most?: number | null,
    at?: number | null,
  ): Promise<{ bytesWritten: number }> {
    const bytes =
      typeof data === 'string' ? Buffer.from(data) : data.subarray(from, from + (most ?? data.length - from))
    return this.#later('write', () => ({ bytesWritten: this.#put(bytes, at) }))
  }

  writev(list: Uint8Array[], at?: number): Promise<{ bytesWritten: number }> {
    return this.#later('write', () => ({ bytesWritten: this.#put(Buffer.concat(list), at) }))
  }

  /** May be less than all, as with a disk that is nearly full. */
  #put(bytes: Uint8Array, at?: number | null): number {
    const file = pathOfFd(this.fd)
    if (this.#appends) this.#at = real.fstatSync(this.fd).size
    const done = this.#disk?.holds(file)
      ? this.#disk.write(this.fd, file, bytes, at ?? this.#at)
      : real.writeSync(this.fd, bytes, 0, bytes.length, at ?? this.#at)
    if (typeof at !== 'number') this.#at += done
    this.#disk?.changed.set(real.fstatSync(this.fd).ino, this.#world.time.wall())
    return done
  }

  writeFile(data: string | Uint8Array): Promise<void> {
    const bytes = typeof data === 'string' ? Buffer.from(data) : data
    return this.#later('write', () => {
      for (let done = 0; done < bytes.length; ) done += this.#put(bytes.subarray(done))
    })
  }

  async appendFile(data: string | Uint8Array): Promise<void> {
    this.#at = real.fstatSync(this.fd).size
    await this.writeFile(data)
  }

  readFile(options: BufferEncoding | { encoding: BufferEncoding } | null = null): Promise<Buffer | string> {
    return this.#later('look', () => real.readFileSync(`/proc/self/fd/${this.fd}`, options as BufferEncoding))
  }

  stat = (): Promise<fs.Stats> => this.#later('look', () => seen(this.#world, real.fstatSync(this.fd)))
  sync = (): Promise<void> => this.#later('sync', () => this.#change.fsync(this.fd))
  datasync = (): Promise<void> => this.sync()
  truncate = (length?: number): Promise<void> => this.#later('write', () => this.#change.ftruncate(this.fd, length))
  chmod = (mode: fs.Mode): Promise<void> => this.#later('look', () => real.fchmodSync(this.fd, mode))

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#change.closeSync(this.fd)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  createReadStream(options: ReadStreamOptions = {}): Readable {
    return Readable.from(this.#pieces(options), { objectMode: false })
  }

  async *#pieces({
    autoClose = true,
    end = Number.POSITIVE_INFINITY,
    highWaterMark = 65_536,
    start,
  }: ReadStreamOptions) {
    let at = start ?? this.#at
    try {
      for (;;) {
        const most = Math.min(highWaterMark, end - at + 1)
        if (most <= 0) return
        const { buffer, bytesRead } = await this.read(Buffer.alloc(most), 0, most, at)
        if (bytesRead === 0) return
        at += bytesRead
        yield buffer.subarray(0, bytesRead)
      }
    } finally {
      if (autoClose) await this.close()
    }
  }
}
