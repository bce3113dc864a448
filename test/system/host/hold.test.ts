import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import { test } from 'node:test'
import { askHold, endHold, heldFile, heldText, holdFile, isHeld, readHold } from '../../../src/system/host/hold.ts'
import { tempDir } from '../../agent/server.ts'

test('a hold is in force from the moment it is asked for until it is let go', (t) => {
  const dir = tempDir(t)
  assert.equal(readHold(dir), undefined)
  const id = askHold(dir, 60)
  assert.equal(readHold(dir), id)
  endHold(dir)
  endHold(dir)
  assert.equal(readHold(dir), undefined)
})

test('it is answered by the process that runs, and by its name', (t) => {
  const dir = tempDir(t)
  const id = askHold(dir, 60)
  assert.equal(isHeld(dir, id, process.pid), false)
  fs.writeFileSync(heldFile(dir), heldText(id))
  assert.equal(isHeld(dir, id, process.pid), true)
  assert.equal(isHeld(dir, id, process.pid + 1), false, 'an agent of before')
  assert.equal(isHeld(dir, askHold(dir, 60), process.pid), false, 'a hold of before')
})

test('maintenance that was killed holds nothing any more', (t) => {
  const dir = tempDir(t)
  const module_ = path.resolve(import.meta.dirname, '../../../src/system/host/hold.ts')
  const code = `import { askHold } from '${module_}'; askHold('${dir}', 600)`
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' })
  assert.equal(status, 0, stderr)
  assert.ok(fs.existsSync(holdFile(dir)))
  assert.equal(readHold(dir), undefined)
})

const mine = { at: os.uptime() - 1, id: 'x', pid: process.pid, until: os.uptime() + 600 }
for (const [name, text] of [
  ['is over', JSON.stringify({ ...mine, until: os.uptime() - 1 })],
  ['is of before the boot', JSON.stringify({ ...mine, at: os.uptime() + 600, until: os.uptime() + 1200 })],
  ['nobody can read', '{"at"'],
  ['is no object', 'null'],
  ['says too little', '{"id":"x"}'],
] as const)
  test(`a hold that ${name} is none`, (t) => {
    const dir = tempDir(t)
    fs.writeFileSync(holdFile(dir), JSON.stringify(mine))
    assert.equal(readHold(dir), 'x')
    fs.writeFileSync(holdFile(dir), text)
    assert.equal(readHold(dir), undefined)
  })
