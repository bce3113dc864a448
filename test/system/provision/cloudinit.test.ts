// The example of an unattended first boot: what it says exists.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { test } from 'node:test'
import { parse } from 'yaml'

const FILE = 'deploy/cloud-init/user-data.yaml'
const text = fs.readFileSync(FILE, 'utf8')
const data = parse(text)
const commands: string[] = data.runcmd

test('it is user data, with the packages it has to have', () => {
  assert.equal(text.split('\n')[0], '#cloud-config')
  assert.deepEqual(data.packages, ['alsa-utils', 'ca-certificates', 'curl', 'ffmpeg', 'jq', 'openssh-server'])
  assert.deepEqual(Object.keys(data).sort(), ['package_update', 'packages', 'runcmd', 'write_files'])
})

test('its commands are shell, speak of files it wrote, and of flags the installer has', () => {
  for (const command of commands) execFileSync('sh', ['-n'], { input: command })
  const written: { path: string; permissions: string }[] = data.write_files
  const all = commands.join(' ')
  for (const { path } of written) assert.ok(all.includes(path), path)
  const [line = ''] = commands
  const installer = fs.readFileSync('scripts/install-agent.sh', 'utf8')
  for (const [flag] of line.slice(line.indexOf('sh /run/')).matchAll(/--[a-z-]+/g))
    assert.ok(installer.includes(`${flag})`), flag)
})

test('the token is no argument, is nobody else’s to read, and goes away', () => {
  const token = data.write_files.find(({ content }: { content: string }) => content === 'BOOTSTRAP_TOKEN')
  assert.equal(token.permissions, '0600')
  assert.ok(!commands.join(' ').includes('BOOTSTRAP_TOKEN'))
  assert.ok(commands.some((command) => command.startsWith(`rm -f ${token.path}`)))
})
