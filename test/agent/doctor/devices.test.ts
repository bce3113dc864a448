// The doctor opens a device only where the kernel says that nobody has it.
import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { type TestContext, test } from 'node:test'
import { readConfig } from '../../../src/agent/config.ts'
import { hearAlone } from '../../../src/agent/doctor/devices.ts'
import { inventoryOptions } from '../../../src/agent/parts.ts'
import { tempDir } from '../server.ts'

/** A box with one card. `status`: what the kernel says of each of its streams. The program that opens it leaves a mark. */
async function heardOn(t: TestContext, status: readonly (string | undefined)[], env: Record<string, string> = {}) {
  const dir = tempDir(t)
  const put = (name: string, text: string, mode = 0o644): string => {
    const file = path.join(dir, name)
    fs.mkdirSync(path.dirname(file), { recursive: true })
    fs.writeFileSync(file, text, { mode })
    return file
  }
  put('asound/pcm', '00-00: Desk : Desk : capture 1\n')
  put('asound/card0/id', 'Desk\n')
  put(
    'asound/card0/stream0',
    'Desk\n\nCapture:\n  Interface 1\n    Format: S16_LE\n    Channels: 1\n    Rates: 48000\n',
  )
  status.forEach((text, n) => {
    if (text === undefined) fs.mkdirSync(path.join(dir, `asound/card0/pcm0c/sub${n}`), { recursive: true })
    else put(`asound/card0/pcm0c/sub${n}/status`, text)
  })
  const opens = put('arecord', `#!/bin/sh\ntouch ${dir}/opened\nexit 1\n`, 0o755)
  const config = readConfig([], {
    ...{ HOME: dir, PATH: process.env.PATH ?? '', SVC_AGENT_DIR: path.join(dir, 'agent'), SVC_NODE_ID: 'node_hall' },
    ...{
      SVC_ALSA_PROC_ROOT: path.join(dir, 'asound'),
      SVC_CAPTURE_COMMAND: opens,
      SVC_CONTROLLER_URL: 'http://localhost:1',
    },
    ...{ SVC_CAPTURE_ALLOWED_COMMANDS: opens, SVC_INVENTORY_ARECORD_COMMAND: '/nonexistent/arecord', ...env },
  })
  const { opens: finding } = await hearAlone(config, inventoryOptions(config), AbortSignal.timeout(20_000))
  return { finding, opened: fs.existsSync(path.join(dir, 'opened')) }
}

test('a device that nobody has is opened', async (t) => {
  const { finding, opened } = await heardOn(t, ['closed\n'])
  assert.equal(opened, true, finding.message)
})

test('a device that somebody has is left alone', async (t) => {
  const { finding, opened } = await heardOn(t, ['closed\n', 'state: RUNNING\nowner_pid   : 1\n'])
  assert.deepEqual([finding.status, opened], ['skipped', false])
  assert.match(finding.message, /is in use by another program/)
})

const UNTOLD: [what: string, status: (string | undefined)[], env?: Record<string, string>][] = [
  ['of which the kernel names no stream', []],
  ['whose status cannot be read', [undefined]],
  ['of which one status is missing', ['closed\n', undefined]],
  ['that is no card', ['closed\n'], { SVC_CAPTURE_DEVICE: 'room_mix' }],
  ['of a sound server', ['closed\n'], { SVC_CAPTURE_BACKEND: 'jack', SVC_CAPTURE_DEVICE: 'system' }],
]
for (const [what, status, env] of UNTOLD)
  test(`a device ${what} is not opened`, async (t) => {
    const { finding, opened } = await heardOn(t, status, env)
    assert.deepEqual([finding.status, opened], ['skipped', false], finding.message)
    assert.match(finding.message, /was not tested: whether it is in use is unknown/)
  })
