// Disks that can lose their power or fill up: file systems of their own below an agent's directory. Only root may mount.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import * as path from 'node:path'
import type { Program } from '../kit/whole.ts'

const run = (program: string, ...args: string[]): string =>
  execFileSync(program, args, { encoding: 'utf8', stdio: 'pipe' })

/** Why nothing can be mounted here; false when it can. */
export function cannotMount(scratch: string): string | false {
  const [image, at] = [path.join(scratch, 'probe.img'), path.join(scratch, 'probe')]
  try {
    fs.mkdirSync(at)
    const disk = new PowerDisk(image, at)
    disk.unmount()
    return false
  } catch (e) {
    return `mounting is not allowed here: ${(e as Error).message}`
  } finally {
    fs.rmSync(image, { force: true })
    fs.rmSync(at, { force: true, recursive: true })
  }
}

const SIZE = 96 * 2 ** 20
const SECTOR = 512
const FILLER = 'filler'
const SLOW_GROUPS = '/sys/fs/cgroup/blkio'
const PYTHON = '/usr/bin/python3'
/** Begins to write everything below a directory back, as the kernel does by itself: no sync, no commit of the journal. */
const WRITE_BACK = `
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        fd = os.open(os.path.join(folder, name), os.O_RDONLY)
        if libc.sync_file_range(fd, ctypes.c_int64(0), ctypes.c_int64(0), 7) != 0:
            sys.exit(os.strerror(ctypes.get_errno()))
`

/** An ext4 disk in a file. What the file holds is what a platter would: only what was synced, or written back by chance. */
export class PowerDisk {
  readonly at: string
  #generation = 0
  readonly #image: string

  constructor(image: string, at: string, bytes = SIZE) {
    this.at = at
    this.#image = image
    fs.writeFileSync(image, '')
    fs.truncateSync(image, bytes)
    run('mkfs.ext4', '-q', '-m', '0', image)
    this.#mount()
  }

  /**
   * What a power cut at this moment would leave, mounted there until `unmount`. Nothing may write to the disk meanwhile.
   */
  remembered(at: string): { unmount(): void } {
    const image = `${this.#file}.cut`
    this.#copyTo(image)
    run('mount', '-o', 'loop', image, at)
    return {
      unmount: () => {
        run('umount', at)
        fs.rmSync(image)
      },
    }
  }

  /**
   * The machine's power goes and comes back: the program is dead, its directory is as the platter remembers it. `tear`:
   * what was on its way to the disk, and not synced, is there in some of its sectors and not in others.
   */
  async cut(program: Program, tear?: () => number): Promise<void> {
    // Nothing may be written while it is copied.
    program.child.kill('SIGSTOP')
    const before = this.#file
    const after = `${this.#image}${this.#generation + 1}`
    this.#copyTo(after)
    if (tear) this.#tear(after, tear)
    this.#generation++
    assert.deepEqual(await program.end('SIGKILL'), [null, 'SIGKILL'])
    this.unmount()
    fs.rmSync(before)
    this.#mount()
  }

  /** Half of the sectors that are written back without a sync are put into the image of before. */
  #tear(image: string, random: () => number): void {
    const flushed = `${image}.flushed`
    run(PYTHON, '-c', WRITE_BACK, this.at)
    this.#copyTo(flushed)
    const [torn, whole] = [fs.readFileSync(image), fs.readFileSync(flushed)]
    fs.rmSync(flushed)
    const fd = fs.openSync(image, 'r+')
    for (let at = 0; at < whole.length; at += SECTOR) {
      const sector = whole.subarray(at, at + SECTOR)
      if (!sector.equals(torn.subarray(at, at + SECTOR)) && random() < 0.5) fs.writeSync(fd, sector, 0, SECTOR, at)
    }
    fs.closeSync(fd)
  }

  /** The file system finds itself damaged and lets nobody write any more, as Debian's do; until `mend`. */
  abort(): void {
    run('mount', '-o', 'remount,abort', this.at)
  }

  /**
   * After `abort`: what the platter has, mounted by a machine that was started anew. Nobody may use it meanwhile. It is a
   * copy: while anything holds on to the damaged one, the same image would be that again.
   */
  mend(): void {
    const before = this.#file
    this.#copyTo(`${this.#image}${this.#generation + 1}`)
    this.#generation++
    this.unmount()
    fs.rmSync(before)
    this.#mount()
  }

  /** Whatever is written waits until it is thawed. */
  freeze(): void {
    run('fsfreeze', '--freeze', this.at)
  }

  thaw(): void {
    run('fsfreeze', '--unfreeze', this.at)
  }

  /** Not a byte is left, until `free`. */
  fill(): void {
    fill(path.join(this.at, FILLER))
  }

  free(): void {
    fs.rmSync(path.join(this.at, FILLER))
  }

  /** What the program writes goes at so many bytes per second; undefined = as fast as it goes. */
  slow(program: Program, bytesPerSecond: number | undefined): void {
    const group = path.join(SLOW_GROUPS, `roomtone-${program.child.pid}`)
    if (bytesPerSecond === undefined) {
      fs.writeFileSync(path.join(SLOW_GROUPS, 'cgroup.procs'), String(program.child.pid))
      fs.rmdirSync(group)
      return
    }
    fs.mkdirSync(group)
    const device = run('findmnt', '--noheadings', '--output', 'MAJ:MIN', this.at).trim()
    fs.writeFileSync(path.join(group, 'blkio.throttle.write_bps_device'), `${device} ${bytesPerSecond}`)
    fs.writeFileSync(path.join(group, 'cgroup.procs'), String(program.child.pid))
  }

  /** The journal is committed when somebody asks for it, not every five seconds: what is torn lies between two syncs. */
  #mount(): void {
    run('mount', '-o', 'loop,commit=300', this.#file, this.at)
  }

  get #file(): string {
    return `${this.#image}${this.#generation || ''}`
  }

  #copyTo(image: string): void {
    do run('cp', '--sparse=always', this.#file, image)
    while (!same(this.#file, image))
  }

  /** Lazily: a child of a killed program may hold on to it for a moment. */
  unmount(): void {
    run('umount', '-l', this.at)
  }
}

/** Why no disk can be slowed down here; false when one can. */
export const cannotSlow = (): string | false =>
  !fs.existsSync(path.join(SLOW_GROUPS, 'blkio.throttle.write_bps_device')) &&
  'no control group that limits what is written (version 1, blkio)'

/**
 * An ext4 disk on blocks that may have nothing behind them: while it fails, what is written to a new block is lost, and the
 * next sync says so, once.
 */
export class FailingDisk {
  readonly #at: string
  readonly #blocks: SmallDisk
  readonly #dir: string

  /** `at` and its own `blocks` and `disk.img` below an empty directory. */
  constructor(dir: string) {
    this.#dir = dir
    this.#at = path.join(dir, 'at')
    for (const name of ['at', 'blocks']) fs.mkdirSync(path.join(dir, name))
    this.#blocks = new SmallDisk(path.join(dir, 'blocks'), 12 << 20)
    fs.writeFileSync(this.#image, '')
    fs.truncateSync(this.#image, 8 << 20)
    // What it needs to work at all has its blocks; there is no journal that it could miss.
    run('mkfs.ext4', '-q', '-m', '0', '-O', '^has_journal', '-E', 'lazy_itable_init=0', this.#image)
    run('fallocate', '--dig-holes', this.#image)
    run('mount', '-o', 'loop', this.#image, this.#at)
  }

  fail(): void {
    this.#blocks.fill()
  }

  work(): void {
    this.#blocks.free()
  }

  /** A file as the disk has it, whatever the system remembers of it. */
  onDisk(name: string): Buffer {
    const [image, at] = [path.join(this.#dir, 'copy.img'), path.join(this.#dir, 'copy')]
    run('cp', '--sparse=always', this.#image, image)
    fs.mkdirSync(at)
    run('mount', '-o', 'loop,ro', image, at)
    try {
      return fs.readFileSync(path.join(at, name))
    } finally {
      run('umount', at)
      fs.rmdirSync(at)
      fs.rmSync(image)
    }
  }

  unmount(): void {
    run('umount', '-l', this.#at)
    this.#blocks.unmount()
  }

  get #image(): string {
    return path.join(this.#dir, 'blocks', 'disk.img')
  }
}

function same(a: string, b: string): boolean {
  try {
    run('cmp', '-s', a, b)
    return true
  } catch {
    return false
  }
}

/** A file that takes every byte that is left. */
function fill(file: string): void {
  const block = Buffer.alloc(65_536, 1)
  const fd = fs.openSync(file, 'w')
  try {
    for (;;) fs.writeSync(fd, block)
  } catch (e) {
    assert.equal((e as NodeJS.ErrnoException).code, 'ENOSPC')
  } finally {
    fs.closeSync(fd)
  }
}

/** A disk of so many bytes, in memory. */
export class SmallDisk {
  readonly #at: string

  constructor(at: string, bytes: number) {
    this.#at = at
    run('mount', '-t', 'tmpfs', '-o', `size=${bytes}`, 'small', at)
  }

  get #filler(): string {
    return path.join(this.#at, FILLER)
  }

  /** Not a byte is left. */
  fill(): void {
    fill(this.#filler)
  }

  free(): void {
    fs.rmSync(this.#filler)
  }

  unmount(): void {
    run('umount', '-l', this.#at)
  }
}

/**
 * The directory as a copy finds it that is made while everything goes on: each job's state first, what it speaks of after
 * it, in any order. Then the program is dead and has only the copy.
 */
export async function copyAndKill(dir: string, program: Program, random: () => number): Promise<void> {
  const copy = `${dir}-copy`
  const files = fs.readdirSync(dir, { recursive: true, withFileTypes: true }).filter((e) => e.isFile())
  const order = files.map((e) => ({
    at: e.name === 'state.json' ? -1 : random(),
    file: path.join(e.parentPath, e.name),
  }))
  for (const { file } of order.sort((a, b) => a.at - b.at)) {
    const to = path.join(copy, path.relative(dir, file))
    fs.mkdirSync(path.dirname(to), { recursive: true })
    copyIfThere(file, to)
  }
  assert.deepEqual(await program.end('SIGKILL'), [null, 'SIGKILL'])
  fs.rmSync(dir, { recursive: true })
  fs.renameSync(copy, dir)
}

function copyIfThere(from: string, to: string): void {
  try {
    fs.copyFileSync(from, to)
  } catch (e) {
    // What went away in the meantime is not in the copy.
    assert.equal((e as NodeJS.ErrnoException).code, 'ENOENT')
  }
}
