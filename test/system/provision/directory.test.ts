import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { UserError } from '../../../src/kernel/fail.ts'
import { discardFile, RESULT_FILE, readDirectory, reportInto } from '../../../src/system/provision/directory.ts'
import { sourceOf } from '../../../src/system/provision/source.ts'
import { SETUP_FILE, SETUP_FILE_MAX } from '../../../src/wire/provision.ts'

let dir: string
let file: string
const never = new AbortController().signal
beforeEach(() => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'roomtone-setup-'))
  file = path.join(dir, SETUP_FILE)
})
afterEach(() => fs.rmSync(dir, { force: true, recursive: true }))

const refused = (why: RegExp) => (e: unknown) => e instanceof UserError && why.test(e.message)

test('only a plain file of limited size is read: no link, no pipe, no device, no directory', () => {
  assert.throws(() => readDirectory(dir), refused(/No roomtone\.json found/))
  fs.writeFileSync(path.join(dir, 'elsewhere'), '{}')
  fs.symlinkSync('elsewhere', file)
  assert.throws(() => readDirectory(dir), refused(/symbolic link/))
  fs.rmSync(file)
  execFileSync('mkfifo', [file])
  assert.throws(() => readDirectory(dir), refused(/not a regular file/))
  fs.rmSync(file)
  fs.mkdirSync(file)
  assert.throws(() => readDirectory(dir), refused(/not a regular file/))
  fs.rmdirSync(file)
  fs.writeFileSync(file, Buffer.alloc(SETUP_FILE_MAX + 1))
  assert.throws(() => readDirectory(dir), refused(/larger than 64 KiB/))
  fs.writeFileSync(file, Buffer.alloc(SETUP_FILE_MAX, 'x'))
  assert.equal(readDirectory(dir).length, SETUP_FILE_MAX)
})

test('the first place that holds something counts; a large file is told from an image', async () => {
  const permits = { fileSystems: ['vfat'], replace: false } as const
  const empty = path.join(dir, 'empty')
  fs.mkdirSync(empty)
  fs.writeFileSync(file, '{"a":1}')
  const read = async (...places: string[]) => Buffer.from(await sourceOf(places, permits, never).read()).toString()
  assert.equal(await read(path.join(dir, 'none'), empty, dir), '{"a":1}')
  assert.equal(await read(file), '{"a":1}')
  assert.throws(() => sourceOf([empty], permits, never), refused(/No roomtone\.json found in/))
  fs.writeFileSync(file, ` {${' '.repeat(SETUP_FILE_MAX)}`)
  await assert.rejects(read(file), refused(/larger than 64 KiB/))
})

test('a result is gone on with, the setup file replaced, and links are not written through', () => {
  fs.writeFileSync(file, 'before', { mode: 0o600 })
  reportInto(dir, { words: 'first' })
  assert.equal(fs.readFileSync(file, 'utf8'), 'before')
  reportInto(dir, { file: 'after', words: 'second' })
  assert.equal(fs.readFileSync(path.join(dir, RESULT_FILE), 'utf8'), 'first\r\nsecond\r\n')
  assert.equal(fs.readFileSync(file, 'utf8'), 'after')
  assert.deepEqual(fs.readdirSync(dir).sort(), [RESULT_FILE, SETUP_FILE])

  const victim = path.join(dir, 'victim')
  fs.writeFileSync(victim, 'mine')
  fs.rmSync(path.join(dir, RESULT_FILE))
  fs.symlinkSync(victim, path.join(dir, RESULT_FILE))
  assert.throws(() => reportInto(dir, { words: 'third' }), /ELOOP/)
  assert.equal(fs.readFileSync(victim, 'utf8'), 'mine')
})

test('a discarded file is overwritten before it goes', () => {
  fs.writeFileSync(file, 'svc_bs_secret')
  const other = path.join(dir, 'other-name')
  fs.linkSync(file, other)
  discardFile(file)
  assert.equal(fs.existsSync(file), false)
  assert.equal(fs.readFileSync(other, 'utf8').trim(), '')
})
