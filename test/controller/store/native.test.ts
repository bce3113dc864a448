import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import { after, test } from 'node:test'
import { loadAddon, sharedAddon, unpackAddon } from '../../../src/controller/store/native.ts'
import { assetBytes } from '../../../src/kernel/assets.ts'
import { smallDisk } from '../../kit/disk.ts'

const bytes = assetBytes(`node_modules/better-sqlite3/prebuilds/linux-${process.arch}.node`)
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'native-'))
after(() => fs.rmSync(dir, { recursive: true }))

const isAddon = (binding: object): boolean => 'Database' in binding

test('outside the executable the package finds its own addon', () => {
  assert.equal(loadAddon([dir]), undefined)
})

test('the addon loads from a nameless file and leaves nothing behind', () => {
  const addon = unpackAddon(bytes, [dir])
  assert.ok(isAddon(addon.binding))
  assert.match(addon.how, /^(nameless|named):/)
  assert.deepEqual(fs.readdirSync(dir), [])
})

test('a worker that opens the same path gets the same copy', () => {
  const addon = unpackAddon(bytes, [dir])
  assert.ok(isAddon(sharedAddon(addon.path).binding))
  const copies = new Set(fs.readFileSync('/proc/self/maps', 'utf8').match(/\d+ +\S*\(deleted\)$/gm))
  assert.ok(copies.size > 0)
  const before = copies.size
  sharedAddon(addon.path)
  assert.equal(new Set(fs.readFileSync('/proc/self/maps', 'utf8').match(/\d+ +\S*\(deleted\)$/gm)).size, before)
})

test('directories that do not do are passed over', () => {
  const addon = unpackAddon(bytes, ['/nowhere', '/proc', dir])
  assert.ok(addon.how.endsWith(dir))
})

test('when none does, the error names each with its reason and says what to set', () => {
  assert.throws(
    () => unpackAddon(bytes, ['/nowhere', '/proc']),
    /SVC_NATIVE_DIR.*\/nowhere \(nameless\): ENOENT.*\/nowhere \(named\): ENOENT.*\/proc/,
  )
  assert.throws(() => unpackAddon(bytes, []), /no directory/)
})

test('a file system mounted noexec gives a clear error and keeps nothing', (t) => {
  const folder = smallDisk(t, 16 << 20, ['noexec'])
  if (!folder) return
  assert.throws(() => unpackAddon(bytes, [folder]), /not mounted noexec.*failed to map segment/)
  assert.deepEqual(fs.readdirSync(folder), [])
})

test('no descriptor stays open after a failure', () => {
  const open = () => fs.readdirSync('/proc/self/fd').length
  const before = open()
  assert.throws(() => unpackAddon(Buffer.from('no addon at all'), [dir]), /SQLite addon/)
  assert.equal(open(), before)
  assert.deepEqual(fs.readdirSync(dir), [])
})

test('the prebuilt addon asks for no newer glibc than the supported systems have', (t) => {
  let symbols: string
  try {
    symbols = execFileSync(
      'grep',
      [
        '-aoE',
        'GLIBC_2\\.[0-9]+',
        path.join('node_modules', 'better-sqlite3', 'prebuilds', `linux-${process.arch}.node`),
      ],
      { encoding: 'utf8' },
    )
  } catch {
    return t.skip('no GLIBC versions found in the addon')
  }
  const newest = Math.max(
    ...symbols
      .trim()
      .split('\n')
      .map((name) => Number(name.split('.')[1])),
  )
  assert.ok(newest <= 34, `needs glibc 2.${newest}`)
})
