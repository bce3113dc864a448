// The rig itself: what a killed test leaves, the next one removes; what a living one works with stays.
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import { after, test } from 'node:test'
import { until } from '../kit/whole.ts'
import { bootMachine, type Machine, noMachine } from './machine.ts'

const BOOTS = `
  const { bootMachine } = await import(${JSON.stringify(path.join(import.meta.dirname, 'machine.ts'))})
  console.log((await bootMachine({ name: 'killed' })).name)
  setInterval(() => {}, 1000)`
const GROUPS = 'umount -R /sys/fs/cgroup; mount -t cgroup2 cgroup2 /sys/fs/cgroup; ls /sys/fs/cgroup'

let machine: Machine | undefined
after(async () => machine?.stop())

/** Where something of a machine is: its directory, its network, its control group. */
function traces(name: string): string[] {
  const [networks, groups] = [
    execFileSync('ip', ['netns'], { encoding: 'utf8' }),
    execFileSync('unshare', ['--mount', 'sh', '-c', GROUPS], { encoding: 'utf8' }),
  ]
  const places = { directory: fs.readdirSync(os.tmpdir()).join('\n'), group: groups, network: networks }
  return Object.keys(places).filter((place) => places[place as keyof typeof places].includes(name))
}

test('what a killed test leaves is gone when the next machine is up', { skip: noMachine() }, async () => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', BOOTS], { stdio: ['ignore', 'pipe', 'inherit'] })
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  const name = await until('the other machine', () => {
    assert.equal(child.exitCode, null, 'it could not boot')
    return said.trim() || undefined
  })
  machine = await bootMachine({ name: 'next' })
  assert.deepEqual(traces(name), ['directory', 'group', 'network'], 'it lives')
  await machine.stop()
  child.kill('SIGKILL')
  await once(child, 'exit')
  assert.deepEqual(traces(name), ['directory', 'group', 'network'], 'nobody has cleaned up')
  machine = await bootMachine({ name: 'next' })
  assert.deepEqual(traces(name), [])
  assert.deepEqual(traces(machine.name), ['directory', 'group', 'network'])
})
