import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import { test } from 'node:test'
import { UserError } from '../../../src/kernel/fail.ts'
import { type Arch, archiveName, SUMS, sumLine } from '../../../src/system/host/release.rules.ts'
import { digestOfFile } from '../../../src/system/host/release.ts'
import { proved } from '../../../src/system/maintain/release.ts'
import { tempDir } from '../../agent/server.ts'

const VERSION = '2099.01.01-1'
const NAME = archiveName(VERSION, process.arch as Arch)

/** What the controller gives: an archive, and a list of checksums. */
const depot = (archive: string, sums: string) => ({
  read: async (name: string) => {
    assert.equal(name, `${VERSION}.${SUMS}`)
    return Buffer.from(sums)
  },
  save: async (name: string, to: string) => {
    assert.equal(name, NAME)
    fs.writeFileSync(to, archive)
  },
})

test('an archive is taken when it is what the checksums say', async (t) => {
  const work = tempDir(t)
  fs.writeFileSync(`${work}/same`, 'archive')
  const sums = sumLine(NAME, await digestOfFile(`${work}/same`))
  assert.equal(await proved(depot('archive', sums), VERSION, work), `${work}/${NAME}`)
  await assert.rejects(
    proved(depot('another', sums), VERSION, work),
    (e: Error) => e instanceof UserError && e.exitCode === 1 && e.message.includes(NAME),
  )
})

test('an archive that no checksum is for is not taken', async (t) => {
  const sums = sumLine(archiveName('2099.01.01-2', process.arch as Arch), 'a'.repeat(64))
  await assert.rejects(proved(depot('archive', sums), VERSION, tempDir(t)), (e: Error) => e instanceof UserError)
})
