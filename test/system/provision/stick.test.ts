// Real images of sticks, looked into by the real child: in a mount namespace of its own, as on a box.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { UserError } from '../../../src/kernel/fail.ts'
import { FILE_SYSTEMS, type FileSystem, readPermits } from '../../../src/system/provision/permits.ts'
import { type Errand, errand } from '../../../src/system/provision/stick.ts'
import { SETUP_FILE_MAX } from '../../../src/wire/provision.ts'
import { executable } from '../../kit/executable.ts'

const PROGRAM = [await executable()]
const KINDS = ['vfat', 'ext4'] as const
type Kind = (typeof KINDS)[number]

const skip = unable()
let dir: string
let image: string
beforeEach(() => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'roomtone-stick-'))
  image = path.join(dir, 'stick.img')
})
afterEach(() => fs.rmSync(dir, { force: true, recursive: true }))

/** Why sticks cannot be looked into here; false when they can. */
function unable(): string | false {
  if (process.getuid?.() !== 0) return 'only root can mount'
  if (!fs.existsSync('/dev/loop-control')) return 'no loop devices here'
  const has = (program: string) =>
    ['/usr/bin', '/usr/sbin', '/sbin', '/bin'].some((at) => fs.existsSync(`${at}/${program}`))
  const missing = ['mkfs.vfat', 'mkfs.ext4', 'mcopy', 'unshare'].filter((program) => !has(program))
  return missing.length > 0 && `no ${missing.join(', ')}: run scripts/setup --tests`
}

/** An image with these files on it. */
function imageOf(kind: Kind, files: Record<string, string | Uint8Array>): void {
  const content = path.join(dir, 'content')
  fs.mkdirSync(content)
  for (const [name, bytes] of Object.entries(files)) fs.writeFileSync(path.join(content, name), bytes)
  fs.writeFileSync(image, '')
  fs.truncateSync(image, 4 * 2 ** 20)
  if (kind === 'ext4') execFileSync('mkfs.ext4', ['-q', '-L', 'SVC-SETUP', '-d', content, image])
  else {
    execFileSync('mkfs.vfat', ['-n', 'SVC-SETUP', image])
    for (const name of Object.keys(files)) execFileSync('mcopy', ['-i', image, path.join(content, name), '::/'])
  }
}

type Wanted = { task: 'read' } | { file?: string; task: 'report'; words: string }
const send = (what: Wanted, fileSystems: readonly FileSystem[] = FILE_SYSTEMS) =>
  errand(image, { fileSystems, ...what } as Errand, new AbortController().signal, PROGRAM)
const read = async (): Promise<string> => Buffer.from(await send({ task: 'read' })).toString('latin1')
const fileOn = (kind: Kind, name: string): string =>
  kind === 'ext4'
    ? execFileSync('debugfs', ['-R', `cat /${name}`, image], { stdio: ['ignore', 'pipe', 'ignore'] }).toString()
    : execFileSync('mtype', ['-i', image, `::/${name}`]).toString()
const refused = (why: RegExp) => (e: unknown) => e instanceof UserError && why.test(e.message)
const digest = () => execFileSync('sha256sum', [image]).toString()

for (const kind of KINDS) {
  test(`${kind}: a setup file is read byte for byte, and reading changes nothing on the stick`, { skip }, async () => {
    const bytes = Buffer.from([0x7b, 0xc3, 0xa4, 0xff, 0x00, 0x7d])
    imageOf(kind, { 'roomtone.json': bytes, 'autorun.sh': '#!/bin/sh\ntouch /tmp/never\n' })
    const before = digest()
    assert.equal(await read(), bytes.toString('latin1'))
    assert.equal(digest(), before)
  })

  test(`${kind}: a file that is too large, or not there, is refused in words`, { skip }, async () => {
    imageOf(kind, { 'roomtone.json': Buffer.alloc(SETUP_FILE_MAX + 1, 'x') })
    await assert.rejects(read(), refused(/larger than 64 KiB/))
    fs.rmSync(path.join(dir, 'content'), { recursive: true })
    imageOf(kind, { 'other.txt': 'x' })
    await assert.rejects(read(), refused(/No roomtone\.json found/))
  })

  test(`${kind}: what happened is written back, a line each time, and the file without what was taken`, {
    skip,
  }, async () => {
    imageOf(kind, { 'roomtone.json': 'before' })
    await send({ task: 'report', words: 'first' })
    assert.equal(fileOn(kind, 'roomtone.json'), 'before')
    await send({ file: 'after', task: 'report', words: 'second' })
    assert.equal(fileOn(kind, 'roomtone-result.txt'), 'first\r\nsecond\r\n')
    assert.equal(await read(), 'after')
  })
}

test('a link on a stick is not followed, a device on it is not opened', { skip }, async () => {
  imageOf('ext4', { 'real.json': '{}' })
  execFileSync('debugfs', ['-w', '-R', 'symlink roomtone.json real.json', image], { stdio: 'ignore' })
  await assert.rejects(read(), refused(/symbolic link|cannot be read/))
  execFileSync('debugfs', ['-w', '-R', 'rm roomtone.json', image], { stdio: 'ignore' })
  execFileSync('debugfs', ['-w', '-R', 'mknod roomtone.json c 1 3', image], { stdio: 'ignore' })
  await assert.rejects(read(), refused(/cannot be read|not a regular file/))
})

test('a stick without a file system, or with another one, says what to do', { skip }, async () => {
  fs.writeFileSync(image, Buffer.alloc(2 ** 20, 7))
  await assert.rejects(read(), refused(/no known file system: format the stick as FAT32/))
  execFileSync('mkfs.ext2', ['-q', image])
  await assert.rejects(read(), refused(/a ext2 file system: format/))
})

test('unless root permits more, a stick is FAT and no other file system is ever mounted', { skip }, async () => {
  imageOf('ext4', { 'roomtone.json': '{}' })
  const before = digest()
  const { fileSystems } = readPermits(path.join(dir, 'absent.env'))
  for (const what of [{ task: 'read' }, { task: 'report', words: 'x' }] as const)
    await assert.rejects(
      send(what, fileSystems),
      refused(/formatted as ext4.*FAT32.*SVC_PROVISION_FILE_SYSTEMS="vfat ext4"/),
    )
  assert.equal(digest(), before)
})

test('what root permits stands in a file of root alone', { skip }, () => {
  const file = path.join(dir, 'provision.env')
  const put = (text: string, mode = 0o644) => {
    fs.writeFileSync(file, text)
    fs.chmodSync(file, mode)
    return () => readPermits(file)
  }
  assert.deepEqual(put('')(), { fileSystems: ['vfat'], replace: false })
  const all = put('# ours\nSVC_PROVISION_FILE_SYSTEMS="vfat, ext4"\nSVC_PROVISION_REPLACE=true\n')
  assert.deepEqual(all(), { fileSystems: ['vfat', 'ext4'], replace: true })
  assert.throws(put('SVC_PROVISION_FILE_SYSTEMS=ntfs\n'), refused(/expected some of vfat, ext4, iso9660/))
  assert.throws(put('SVC_PROVISION_REPLACE=perhaps\n'), refused(/expected true or false/))
  const root = /belongs to root and that nobody else can write/
  for (const mode of [0o664, 0o646]) assert.throws(put('SVC_PROVISION_REPLACE=true\n', mode), refused(root))
  put('SVC_PROVISION_REPLACE=true\n')
  fs.chownSync(file, 65_534, 65_534)
  assert.throws(() => readPermits(file), refused(root))
  const link = path.join(dir, 'link.env')
  fs.symlinkSync(file, link)
  assert.throws(() => readPermits(link), refused(root))
})

test('a stick that was pulled half way through being written is refused, not believed', { skip }, async () => {
  imageOf('ext4', { 'roomtone.json': '{}' })
  fs.truncateSync(image, 600_000)
  await assert.rejects(read(), refused(/damaged|cannot be/))
})

test('nobody but the child sees the mount, and nothing is left of it', { skip }, async () => {
  imageOf('ext4', { 'roomtone.json': '{}' })
  await read()
  assert.ok(!fs.readFileSync('/proc/mounts', 'utf8').includes('roomtone-stick-'))
  assert.deepEqual(
    fs.readdirSync('/run').filter((name) => name.startsWith('roomtone-stick-')),
    [],
  )
  assert.ok(!execFileSync('losetup', ['-a']).toString().includes(image))
})
