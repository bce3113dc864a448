// Units, users, directories and the sudo rule are written down in systemd/, and say what the programs believe.
import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { describe, test } from 'node:test'
import { credentialName } from '../../../src/kernel/settings.ts'
import { MAINTAIN_COMMAND, PLACES, UNITS, USERS } from '../../../src/system/host/places.ts'

const SYSTEMD = path.resolve(import.meta.dirname, '..', '..', '..', 'systemd')
const read = (name: string): string => fs.readFileSync(path.join(SYSTEMD, name), 'utf8')

/** Lines that mean something, as words; quoted words stay whole. */
const rows = (name: string): string[][] =>
  read(name)
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .map((line) => line.match(/"[^"]*"|\S+/g) ?? [])

/** Every value of a directive, in order. */
const all = (unit: string, name: string): string[] =>
  [...read(unit).matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value]) => value as string)

const only = (unit: string, name: string): string => {
  const values = all(unit, name)
  assert.equal(values.length, 1, `${unit} has one ${name}=`)
  return values[0] as string
}

const SERVICES = [
  ['agent', PLACES.agentHome, PLACES.agentSettings],
  ['controller', PLACES.controllerHome, PLACES.controllerSettings],
  ['lifecycle', undefined, PLACES.lifecycleSettings],
] as const

for (const [program, home, settings] of SERVICES)
  describe(`systemd/${UNITS[program]}`, () => {
    const unit = UNITS[program]

    test('starts its program as its user, with its settings', () => {
      assert.equal(only(unit, 'ExecStart'), `${PLACES.executable} ${program}`)
      assert.equal(only(unit, 'User'), USERS[program])
      assert.equal(only(unit, 'Group'), USERS[program])
      assert.equal(only(unit, 'EnvironmentFile'), `-${settings}`)
    })

    if (home === undefined) assert.deepEqual(all(unit, 'StateDirectory'), [])
    else
      test('keeps its state where programs look for it', () => {
        assert.equal(`/var/lib/${only(unit, 'StateDirectory')}`, home)
        assert.equal(only(unit, 'WorkingDirectory'), home)
        assert.equal(only(unit, 'StateDirectoryMode'), '0700')
      })

    test('asks for credentials that need not be there, by names of settings', () => {
      const names = all(unit, 'LoadCredential')
      assert.ok(names.length > 0)
      // A path would make a missing file end the start.
      for (const name of names) assert.match(name, /^roomtone\.[a-z-]+$/)
      if (program === 'agent') assert.deepEqual(names, [credentialName('SVC_CONTROLLER_TOKEN')])
    })

    test('never gives up, and can gain nothing', () => {
      assert.equal(only(unit, 'StartLimitIntervalSec'), '0')
      assert.equal(only(unit, 'Restart'), 'always')
      assert.equal(only(unit, 'NoNewPrivileges'), 'yes')
      assert.equal(only(unit, 'CapabilityBoundingSet'), '')
      assert.deepEqual(all(unit, 'MemoryDenyWriteExecute'), [])
      assert.ok(only(unit, 'RestrictAddressFamilies').split(' ').includes('AF_NETLINK'))
    })
  })

test('the agent cannot reach the keys that maintenance comes in by', () => {
  assert.equal(only(UNITS.agent, 'InaccessiblePaths'), `-${PLACES.agentLogin}`)
})

test('users are those of the programs', () => {
  const users = rows('roomtone.sysusers').filter(([type]) => type === 'u')
  assert.deepEqual(users.map(([, name]) => name).sort(), Object.values(USERS).sort())
  const home = (user: string) => users.find(([, name]) => name === user)?.[4]
  assert.equal(home(USERS.agent), PLACES.agentLogin)
  assert.equal(home(USERS.controller), PLACES.controllerHome)
  // sshd runs the forced command of its key with it.
  assert.equal(users.find(([, name]) => name === USERS.agent)?.[5], '/bin/sh')
})

test('directories are those of the programs; the programs are root’s alone', () => {
  const directories = new Map(rows('roomtone.tmpfiles').map(([, dir, mode, owner]) => [dir, { mode, owner }]))
  const { agentHome, agentKeys, controllerHome, executable, programs, settings, versions } = PLACES
  for (const dir of [programs, versions, path.dirname(executable), settings, PLACES.agentLogin])
    assert.deepEqual(directories.get(dir), { mode: '0755', owner: 'root' }, dir)
  for (const dir of [agentHome, path.dirname(agentKeys)])
    assert.deepEqual(directories.get(dir), { mode: '0700', owner: USERS.agent }, dir)
  assert.deepEqual(directories.get(controllerHome), { mode: '0700', owner: USERS.controller })
})

test('sudo allows one command to one user, with programs from root’s own places', () => {
  const [defaults] = rows('roomtone.sudoers').filter(([word]) => word?.startsWith('Defaults'))
  assert.match(
    defaults?.join(' ') ?? '',
    / env_reset, .*secure_path="\/usr\/local\/sbin:\/usr\/local\/bin:\/usr\/sbin:/,
  )
  const rules = rows('roomtone.sudoers').filter(([word]) => !word?.startsWith('Defaults'))
  assert.deepEqual(
    rules.map((words) => words.join(' ')),
    [`${USERS.agent} ALL=(root) NOPASSWD: ${MAINTAIN_COMMAND}`],
  )
})
