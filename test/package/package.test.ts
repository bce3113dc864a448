// The Debian package as a file: the same bytes from the same commit, and nothing in it that is anybody's but root's.
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { gunzipSync } from 'node:zlib'

const ROOT = path.resolve(import.meta.dirname, '..', '..')
const SCRIPT = path.join(ROOT, 'scripts', 'package.mjs')
const has = (program: string): boolean => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0
const dpkg = (...args: string[]): string => execFileSync('dpkg-deb', args, { encoding: 'utf8' })

describe('the Debian package', { skip: has('dpkg-deb') ? false : 'no package without dpkg-deb' }, () => {
  let dir = ''
  const make = (out: string, version = '2026.11.21-3') => {
    const args = [SCRIPT, '--arch', 'x64,arm64', '--from', path.join(dir, 'built'), '--out', path.join(dir, out)]
    return spawnSync(process.execPath, args, {
      cwd: dir,
      encoding: 'utf8',
      env: { PATH: process.env.PATH, ROOMTONE_VERSION: version, SOURCE_DATE_EPOCH: '1790000000' },
    })
  }
  const deb = (out: string, arch: string): string => path.join(dir, out, `roomtone_2026.11.21-3_${arch}.deb`)

  before(() => {
    dir = fs.mkdtempSync(path.join(os.tmpdir(), 'roomtone-deb-'))
    fs.mkdirSync(path.join(dir, 'built'))
    for (const name of ['roomtone', 'roomtone-linux-arm64'])
      fs.writeFileSync(path.join(dir, 'built', name), `#!/bin/sh\necho ${name}\n`, { mode: 0o755 })
    const { status, stderr } = make('first')
    assert.equal(status, 0, stderr)
  })
  after(() => fs.rmSync(dir, { force: true, recursive: true }))

  test('is the same again under another umask', () => {
    const before = process.umask(0o077)
    const { status, stderr } = make('second')
    process.umask(before)
    assert.equal(status, 0, stderr)
    for (const arch of ['amd64', 'arm64'])
      assert.ok(fs.readFileSync(deb('first', arch)).equals(fs.readFileSync(deb('second', arch))), arch)
  })

  test('holds what systemd and sudo are to find, as root’s', () => {
    const rows = dpkg('-c', deb('first', 'amd64')).trimEnd().split('\n')
    for (const row of rows) assert.match(row, / root\/root /)
    const mode = (file: string) => rows.find((row) => row.includes(` ./${file}`))?.slice(0, 10)
    assert.equal(mode('opt/roomtone/versions/2026.11.21-3/roomtone'), '-rwxr-xr-x')
    assert.equal(mode('etc/sudoers.d/roomtone'), '-r--r-----')
    assert.equal(mode('usr/lib/sysusers.d/roomtone.conf'), '-rw-r--r--')
    assert.equal(mode('usr/lib/tmpfiles.d/roomtone.conf'), '-rw-r--r--')
    const units = fs.readdirSync(path.join(ROOT, 'systemd')).filter((name) => name.endsWith('.service'))
    assert.ok(units.length >= 4)
    for (const unit of units) assert.equal(mode(`usr/lib/systemd/system/${unit}`), '-rw-r--r--', unit)
  })

  test('brings papers and examples, packed alike on every processor', () => {
    const tree = path.join(dir, 'tree')
    dpkg('-x', deb('first', 'amd64'), tree)
    const docs = path.join(tree, 'usr/share/doc/roomtone')
    const packed = fs.readdirSync(docs).filter((name) => name.endsWith('.gz'))
    assert.deepEqual(packed.sort(), ['CHANGELOG.md.gz', 'changelog.Debian.gz'])
    for (const name of packed) {
      const bytes = fs.readFileSync(path.join(docs, name))
      assert.ok(execFileSync('gzip', ['-9n'], { input: gunzipSync(bytes) }).equals(bytes), name)
    }
    for (const name of [
      'cloud-init/user-data.yaml',
      'grafana/fleet.json',
      'litestream/litestream-0.3.yml',
      'litestream/litestream-0.5.yml',
      'litestream/roomtone-litestream.service',
      'prometheus/roomtone.rules.yml',
    ])
      assert.equal(
        fs.readFileSync(path.join(docs, 'examples', name), 'utf8'),
        fs.readFileSync(path.join(ROOT, 'deploy', name), 'utf8'),
      )
  })

  test('says for which machine it is and what it needs', () => {
    const field = (arch: string, name: string) => dpkg('-f', deb('first', arch), name).trim()
    assert.equal(field('arm64', 'Architecture'), 'arm64')
    assert.equal(field('amd64', 'Version'), '2026.11.21-3')
    const needs = field('amd64', 'Depends')
    for (const name of ['ffmpeg', 'alsa-utils', 'openssh-server', 'sudo', 'ca-certificates', 'curl'])
      assert.match(needs, new RegExp(`\\b${name}\\b`))
  })

  test('has maintainer scripts that every shell understands', { skip: !has('shellcheck') }, () => {
    const control = path.join(dir, 'control')
    dpkg('-e', deb('first', 'amd64'), control)
    for (const name of ['postinst', 'prerm', 'postrm']) {
      const script = path.join(control, name)
      assert.doesNotMatch(fs.readFileSync(script, 'utf8'), /@[A-Z]+@/, name)
      execFileSync('shellcheck', [script])
    }
    assert.equal(fs.readFileSync(path.join(control, 'conffiles'), 'utf8'), '/etc/sudoers.d/roomtone\n')
  })

  test('is not made for a version that dpkg would not sort', () => {
    const { status, stderr } = make('third', 'next')
    assert.notEqual(status, 0)
    assert.match(stderr, /"next" is no version of a Debian package/)
  })
})
