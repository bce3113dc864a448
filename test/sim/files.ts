// Puts the virtual disks in place of node:fs: real calls on real files, late, refused or forgotten as the disk has it.
import type * as fs from 'node:fs'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import * as path from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Disk, real } from './disk.ts'
import { DiskHandle, pathOfFd, ran, seen } from './handle.ts'
import type { Life, Time } from './time.ts'

const require = createRequire(import.meta.url)

type Name = string | Buffer | URL
type Kind = Parameters<Disk['latency']>[0]

/** Whose disk a program writes to, and what it has open. */
export interface Tenant extends Life {
  disk: Disk
  open: Set<number>
}

export interface World {
  tenant(): Tenant | undefined
  time: Time
}

const text = (name: Name): string => path.resolve(name instanceof URL ? fileURLToPath(name) : String(name))

/** What is not on a virtual disk is read as it is, and is never written. */
function diskOf(world: World, file: string): Disk | undefined {
  const disk = world.tenant()?.disk
  return disk?.holds(file) ? disk : undefined
}

/** The real answer, after the time the disk takes; what is in memory anyway takes none. */
function later<T>(world: World, kind: Kind, run: () => T): Promise<T> {
  const ms = world.tenant()?.disk.latency(kind) ?? 0
  if (ms === 0) return new Promise((resolve, reject) => ran(run, resolve, reject))
  return new Promise((resolve, reject) => world.time.plan(ms, () => ran(run, resolve, reject)))
}

/** The calls that change something, at once. */
function changes(world: World) {
  const owners = new Map<number, Tenant>()
  const touched = (file: string): void => {
    const disk = diskOf(world, file)
    const stat = real.statSync(file, { throwIfNoEntry: false })
    if (stat) disk?.changed.set(stat.ino, world.time.wall())
  }
  const mkdir = (name: Name, options?: fs.MakeDirectoryOptions | number | null): string | undefined => {
    const [file, disk] = [text(name), diskOf(world, text(name))]
    const recursive = typeof options === 'object' && options?.recursive === true
    if (recursive && real.existsSync(file)) return undefined
    if (recursive && !real.existsSync(path.dirname(file))) mkdir(path.dirname(file), options)
    real.mkdirSync(file, typeof options === 'object' ? { ...options, recursive: false } : options)
    disk?.created(file)
    return file
  }
  const rename = (from: Name, to: Name): void => {
    const disk = diskOf(world, text(from))
    if (!disk || !real.existsSync(text(from))) real.renameSync(text(from), text(to))
    else disk.rename(text(from), text(to))
  }
  const rm = (name: Name, options: fs.RmOptions = {}): void => {
    const [file, disk] = [text(name), diskOf(world, text(name))]
    const stat = real.lstatSync(file, { throwIfNoEntry: false })
    if (!stat && options.force) return
    if (!disk || !stat || (stat.isDirectory() && !options.recursive)) real.rmSync(file, options)
    else disk.remove(file)
  }
  const rmdir = (name: Name): void => {
    if (real.readdirSync(text(name)).length > 0) real.rmdirSync(text(name))
    else rm(name, { recursive: true })
  }
  const link = (from: Name, to: Name): void => {
    real.linkSync(text(from), text(to))
    diskOf(world, text(to))?.created(text(to))
  }
  const writeFile = (name: Name | number, data: string | Uint8Array, options?: Options): void => {
    const flag = (typeof options === 'object' && options?.flag) || 'w'
    const fd = typeof name === 'number' ? name : openSync(name, flag, modeOf(options))
    try {
      const bytes = typeof data === 'string' ? Buffer.from(data) : data
      write(fd, bytes, flag.startsWith('a') ? real.fstatSync(fd).size : 0)
      if (typeof options === 'object' && options?.flush) fsync(fd)
    } finally {
      if (typeof name !== 'number') closeSync(fd)
    }
  }
  const openSync = (name: Name, flags: string | number = 'r', mode?: fs.Mode | null): number => {
    const [file, disk] = [text(name), diskOf(world, text(name))]
    const fresh = disk && !real.existsSync(file)
    const truncates = disk && !fresh && String(flags).startsWith('w') && !String(flags).includes('x')
    const fd = real.openSync(file, truncates ? 'r+' : flags, mode ?? undefined)
    const tenant = world.tenant()
    if (tenant) owners.set(fd, tenant)
    tenant?.open.add(fd)
    if (fresh) disk.created(file)
    if (truncates) disk.truncate(fd, file, 0)
    return fd
  }
  const closeSync = (fd: number): void => {
    owners.get(fd)?.open.delete(fd)
    real.closeSync(fd)
  }
  const write = (fd: number, data: Uint8Array, at: number): number => {
    const file = pathOfFd(fd)
    const disk = diskOf(world, file)
    let done = 0
    while (disk && done < data.length) done += disk.write(fd, file, data.subarray(done), at + done)
    if (!disk) done = real.writeSync(fd, data, 0, data.length, at)
    touched(file)
    return done
  }
  const truncate = (name: Name, length = 0): void => {
    const fd = openSync(name, 'r+')
    try {
      ftruncate(fd, length)
    } finally {
      closeSync(fd)
    }
  }
  const ftruncate = (fd: number, length = 0): void => diskOf(world, pathOfFd(fd))?.truncate(fd, pathOfFd(fd), length)
  const fsync = (fd: number): void => diskOf(world, pathOfFd(fd))?.sync(fd, pathOfFd(fd))
  const copyFile = (from: Name, to: Name): void => writeFile(to, real.readFileSync(text(from)))
  return { closeSync, copyFile, fsync, ftruncate, link, mkdir, openSync, rename, rm, rmdir, truncate, write, writeFile }
}
export type Changes = ReturnType<typeof changes>

type Options = { flag?: string; flush?: boolean; mode?: fs.Mode } | string | null
const modeOf = (options: Options | undefined) => (typeof options === 'object' ? options?.mode : undefined)

const LOOKS = ['access', 'chmod', 'lstat', 'readFile', 'readdir', 'readlink', 'realpath', 'stat', 'utimes'] as const

function promised(world: World, change: Changes) {
  const sync = real as unknown as Record<string, (...args: unknown[]) => unknown>
  const looks = LOOKS.map((name) => {
    const call = sync[`${name}Sync`]!
    const look = (...args: unknown[]) => {
      if (name === 'readFile' && args[0] instanceof DiskHandle) return args[0].readFile(args[1] as BufferEncoding)
      const file = special(world, args)
      return later(world, 'look', () => seen(world, file ?? call(...args)))
    }
    return [name, look]
  })
  const late =
    <A extends unknown[], R>(kind: Kind, run: (...args: A) => R) =>
    (...args: A) =>
      later(world, kind, () => run(...args))
  return {
    ...Object.fromEntries(looks),
    appendFile: late('write', (name: Name, data: string) => change.writeFile(name, data, { flag: 'a' })),
    copyFile: late('write', change.copyFile),
    link: late('write', change.link),
    mkdir: late('write', change.mkdir),
    open: (name: Name, flags?: string, mode?: fs.Mode) =>
      later(
        world,
        'look',
        () => new DiskHandle(world, change, change.openSync(name, flags, mode), flags?.startsWith('a')),
      ),
    opendir: (name: Name) => later(world, 'look', () => entries(real.readdirSync(text(name), { withFileTypes: true }))),
    rename: late('write', change.rename),
    rm: late('write', change.rm),
    rmdir: late('write', change.rmdir),
    statfs: (name: Name) => later(world, 'look', () => statfs(diskOf(world, text(name)), text(name))),
    truncate: late('write', change.truncate),
    unlink: late('write', (name: Name) => change.rm(name)),
    writeFile: (name: Name | DiskHandle, data: string | Uint8Array, options?: Options) =>
      name instanceof DiskHandle
        ? name.writeFile(data)
        : later(world, 'write', () => change.writeFile(name, data, options)),
  }
}

async function* entries(list: fs.Dirent[]) {
  yield* list
}

const BOOT_ID = '/proc/sys/kernel/random/boot_id'

/** Files of the kernel that tell of the machine. */
function special(world: World, [name]: unknown[]): string | undefined {
  const machine = world.tenant()?.machine
  return name === BOOT_ID && machine ? `${machine.name}-${machine.boot}\n` : undefined
}

function statfs(disk: Disk | undefined, file: string): fs.StatsFs {
  if (!disk) return real.statfsSync(file)
  const free = Math.floor(disk.free / 4096)
  const blocks = Math.floor(disk.capacity / 4096)
  return { ...real.statfsSync('/'), bavail: free, bfree: free, blocks, bsize: 4096 } as fs.StatsFs
}

type Callback = (e: unknown, ...values: unknown[]) => void

/** What streams of files are made of. */
function called(world: World, change: Changes) {
  const back =
    (kind: Kind, run: (...args: never[]) => unknown) =>
    (...args: unknown[]): void => {
      const done = args.pop() as Callback
      const answer = later(world, kind, () => run(...(args as never[])))
      // A call of its own: what it throws is nobody's rejected promise.
      answer.then(
        (value) => process.nextTick(done, null, ...(Array.isArray(value) ? value : [value])),
        (e) => process.nextTick(done, e),
      )
    }
  return {
    close: back('look', (fd: number) => change.closeSync(fd)),
    open: back('look', (name: Name, flags: string, mode?: fs.Mode) => change.openSync(name, flags, mode)),
    read: back('look', (fd: number, bytes: Buffer, from: number, length: number, at: number) => [
      real.readSync(fd, bytes, from, length, at),
      bytes,
    ]),
  }
}

function atOnce(world: World, change: Changes) {
  return {
    closeSync: change.closeSync,
    fdatasyncSync: change.fsync,
    fsyncSync: change.fsync,
    mkdirSync: change.mkdir,
    openSync: change.openSync,
    readFileSync: (name: Name | number, options: BufferEncoding | null = null) =>
      special(world, [name]) ?? real.readFileSync(name, options as BufferEncoding),
    renameSync: change.rename,
    rmSync: change.rm,
    unlinkSync: (name: Name) => change.rm(name),
    writeFileSync: change.writeFile,
  }
}

/** For good: this process has no other disks any more. */
export function installDisks(world: World): void {
  const change = changes(world)
  const promises = promised(world, change)
  const whole = require('node:fs')
  Object.assign(whole.promises, promises)
  Object.assign(whole, atOnce(world, change), called(world, change))
  syncBuiltinESMExports()
}
