import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { test } from 'node:test'
import { SUCCESSION_SETTINGS } from '../../src/controller/succession/settings.ts'
import { credentialName } from '../../src/kernel/settings.ts'
import { UNITS } from '../../src/system/host/places.ts'
import { ROOT } from '../kit/executable.ts'
import { scratchDir } from '../kit/scratch.ts'
import { DEPLOY } from './manifests.ts'

const unit = fs.readFileSync(path.join(ROOT, 'systemd', UNITS.controller), 'utf8')
const dropIn = (name: string): string => fs.readFileSync(path.join(DEPLOY, 'standby', name), 'utf8')
const none = spawnSync('systemd-analyze', ['--version']).error ? 'needs systemd-analyze (Debian: systemd)' : false

test('both boxes get the keys of the bucket as credentials, by the names of their settings', () => {
  const keys = Object.keys(SUCCESSION_SETTINGS).filter((name) => /_ACCESS_KEY(_ID)?$/.test(name))
  const loaded = [...dropIn('pair.conf').matchAll(/^LoadCredential=(.+)$/gm)].map(([, name]) => name)
  assert.deepEqual(loaded.sort(), keys.map(credentialName).sort())
})

test('the standby is the program of the unit with another verb, and systemd understands it', { skip: none }, () => {
  const [, program] = /^ExecStart=(\S+) controller$/m.exec(unit) ?? []
  assert.match(dropIn('standby.conf'), new RegExp(`^ExecStart=\nExecStart=${program} standby$`, 'm'))
  const dir = scratchDir('roomtone-standby-')
  const file = path.join(dir, UNITS.controller)
  fs.writeFileSync(file, unit.replaceAll(program as string, '/bin/true'))
  fs.mkdirSync(`${file}.d`)
  for (const name of ['pair.conf', 'standby.conf'])
    fs.writeFileSync(path.join(`${file}.d`, name), dropIn(name).replace(program as string, '/bin/true'))
  const { stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', file], { encoding: 'utf8' })
  assert.equal(stderr.includes(UNITS.controller), false, stderr)
})
