import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import { after, test } from 'node:test'
import { parse } from 'yaml'
import { PLACES, UNITS, USERS } from '../../src/system/host/places.ts'
import { DEPLOY } from './manifests.ts'

const read = (...at: string[]): string => fs.readFileSync(path.join(DEPLOY, 'litestream', ...at), 'utf8')
const unit = read('roomtone-litestream.service')
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'roomtone-litestream-'))
after(() => fs.rmSync(dir, { recursive: true, force: true }))
const analyze = (...args: string[]) => spawnSync('systemd-analyze', args, { encoding: 'utf8' })
const none = analyze('--version').error ? 'needs systemd-analyze (Debian: systemd)' : false

test('replicator and controller share user, database and settings directory', () => {
  assert.match(unit, new RegExp(`^User=${USERS.controller}$`, 'm'))
  assert.match(unit, new RegExp(`^Before=${UNITS.controller}$`, 'm'))
  assert.match(unit, new RegExp(`^WorkingDirectory=${PLACES.controllerHome}$`, 'm'))
  assert.match(unit, new RegExp(`-config ${PLACES.settings}/litestream\\.yml$`, 'm'))
  for (const line of ['0.3', '0.5'])
    assert.deepEqual(
      parse(read(`litestream-${line}.yml`)).dbs.map((db: { path: string }) => db.path),
      [`${PLACES.controllerHome}/roomtone.db`],
    )
  assert.match(read('roomtone-controller.conf'), /^Environment=SVC_DATABASE_REPLICATED=true$/m)
})

test('both lines of Litestream are told the same by the same environment', () => {
  const [older, newer] = [parse(read('litestream-0.3.yml')), parse(read('litestream-0.5.yml'))]
  const place = ({ endpoint, region, url }: Record<string, string>) => [endpoint, region, url]
  assert.deepEqual(place(older.dbs[0].replicas[0]), place(newer.dbs[0].replica))
  assert.equal(older.dbs[0].replicas[0].retention, newer.snapshot.retention)
  assert.equal(older.dbs[0].replicas[0]['snapshot-interval'], newer.snapshot.interval)
  assert.equal(older.addr, newer.addr)
})

test('systemd understands the unit, and it may do little', { skip: none }, () => {
  const file = path.join(dir, 'roomtone-litestream.service')
  // The program itself is somebody else's package.
  fs.writeFileSync(file, unit.replace('/usr/bin/litestream', '/bin/true'))
  const verified = analyze('verify', '--man=no', file)
  assert.deepEqual([verified.status, verified.stderr.includes('roomtone-litestream')], [0, false], verified.stderr)
  const exposure = analyze('security', '--offline=true', '--threshold=15', file)
  assert.equal(exposure.status, 0, exposure.stdout)
})
