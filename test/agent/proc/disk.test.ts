import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { test } from 'node:test'
import { dfGauge, statfsGauge } from '../../../src/agent/proc/disk.ts'
import { tempDir } from '../server.ts'

const env = { LC_ALL: 'C', PATH: process.env.PATH ?? '' }

test('the kernel and df tell the same of a disk', async (t) => {
  const dir = tempDir(t)
  const [ours, theirs] = [await statfsGauge(dir)(), await dfGauge('df', dir, env)()]
  assert.ok(ours && theirs)
  // df rounds up; the disk is in use.
  assert.ok(Math.abs(ours.usedPercent - theirs.usedPercent) <= 2, `${ours.usedPercent} ${theirs.usedPercent}`)
  assert.ok(Math.abs(ours.freeBytes - theirs.freeBytes) < 1e9)
})

test('a program that answers as df does counts, one that fails or talks otherwise does not', async (t) => {
  const dir = tempDir(t)
  const program = (name: string, script: string): string => {
    const file = path.join(dir, name)
    fs.writeFileSync(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
    return file
  }
  const said = 'echo "Filesystem 1024-blocks Used Available Capacity Mounted on"; echo "/dev/x 1000 970 30 97% $2"'
  assert.deepEqual(await dfGauge(program('df', said), '/x', env)(), { freeBytes: 30 * 1024, usedPercent: 97 })
  for (const script of ['exit 1', 'echo nothing', `${said}; exit 3`])
    assert.equal(await dfGauge(program(`df${script.length}`, script), '/x', env)(), undefined)
  assert.equal(await dfGauge('/nonexistent/df', '/x', env)(), undefined)
  assert.equal(await statfsGauge('/nonexistent')(), undefined)
})
