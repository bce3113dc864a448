// What goes to the journal carries its level, so that `journalctl -p warning` finds it; elsewhere lines are as they were.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { test } from 'node:test'
import { tempDir } from '../agent/server.ts'

const MAIN = path.resolve(import.meta.dirname, '../../src/main.ts')

for (const [program, args] of [
  ['controller', ['nonsense']],
  ['agent', ['--nonsense']],
  ['lifecycle', ['nonsense']],
] as const)
  test(`roomtone ${program} tells the journal that a start failed`, (t) => {
    const file = path.join(tempDir(t), 'stderr')
    const fd = fs.openSync(file, 'w')
    const { dev, ino } = fs.fstatSync(fd)
    const said = (JOURNAL_STREAM: string): string => {
      fs.ftruncateSync(fd)
      const env = { JOURNAL_STREAM, PATH: process.env.PATH }
      const { status } = spawnSync(process.execPath, [MAIN, program, ...args], { env, stdio: ['ignore', 'ignore', fd] })
      assert.equal(status, 2)
      // Where the file was cut there may be zeros before the words.
      return fs.readFileSync(file, 'utf8').replaceAll('\0', '')
    }
    assert.match(said(`${dev}:${ino}`), /^<3>.*nonsense.*\n$/)
    assert.match(said('1:1'), /^[^<].*nonsense.*\n$/)
    fs.closeSync(fd)
  })
