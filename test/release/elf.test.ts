import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import { test } from 'node:test'
import { withoutSymbols } from '../../scripts/elf.ts'

const runtime = fs.readFileSync(process.execPath)

test('a runtime without its symbols is smaller, runs, and is the same each time', (t) => {
  const made = withoutSymbols(runtime)
  assert.ok(made.length < runtime.length * 0.9, `${made.length} of ${runtime.length} bytes`)
  assert.ok(made.equals(withoutSymbols(runtime)))
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'elf-'))
  t.after(() => fs.rmSync(dir, { recursive: true }))
  const program = path.join(dir, 'node')
  fs.writeFileSync(program, made, { mode: 0o755 })
  // Intl and zones come from what is loaded, a stack that crosses native code from the tables that stay.
  const script = `console.log(process.version, 'ä'.localeCompare('b', 'de'), [3].map(() => new Error('x').stack.length > 9)[0])`
  assert.equal(execFileSync(program, ['-e', script], { encoding: 'utf8' }), `${process.version} -1 true\n`)
})

test('what is no 64-bit ELF file is refused', () => {
  assert.throws(() => withoutSymbols(Buffer.from('#!/bin/sh\nexit 0\n')), /no 64-bit ELF/)
})

test('the sections that stay are those that are loaded, with their names and each naming the right others', () => {
  const [before, after] = [runtime, withoutSymbols(runtime)].map(sections) as [Section[], Section[]]
  const loaded = before.filter(({ flags }) => flags & 2)
  assert.deepEqual(
    after.slice(1, -1).map(({ link, name, offset, size }) => ({ link: after[link]?.name, name, offset, size })),
    loaded.map(({ link, name, offset, size }) => ({ link: before[link]?.name, name, offset, size })),
  )
  assert.equal(after.at(-1)?.name, '.shstrtab')
})

interface Section {
  flags: number
  link: number
  name: string
  offset: number
  size: number
}

/** As elf(5) lays them out. */
function sections(file: Buffer): Section[] {
  const table = Number(file.readBigUInt64LE(40))
  const rows = Array.from({ length: file.readUInt16LE(60) }, (_, i) =>
    file.subarray(table + i * 64, table + i * 64 + 64),
  )
  const names = Number((rows[file.readUInt16LE(62)] as Buffer).readBigUInt64LE(24))
  return rows.map((row) => {
    const at = names + row.readUInt32LE(0)
    return {
      flags: Number(row.readBigUInt64LE(8)),
      link: row.readUInt32LE(40),
      name: file.toString('latin1', at, file.indexOf(0, at)),
      offset: Number(row.readBigUInt64LE(24)),
      size: Number(row.readBigUInt64LE(32)),
    }
  })
}
