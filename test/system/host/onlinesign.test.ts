import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { test } from 'node:test'
import { readSmall } from '../../../src/system/host/files.ts'
import { onlineSignFile, readOnlineSign } from '../../../src/system/host/onlinesign.ts'
import { tempDir } from '../../agent/server.ts'

test('a sign that is not whole says nothing', (t) => {
  const dir = tempDir(t)
  for (const text of ['', '{', 'null', '[]', '{"online":true}', '{"at":"x","online":"yes","pid":1,"version":"1"}']) {
    fs.writeFileSync(onlineSignFile(dir), text)
    assert.equal(readOnlineSign(dir), undefined, text)
  }
  fs.rmSync(onlineSignFile(dir))
  assert.equal(readOnlineSign(dir), undefined)
})

test("another user's file: no link is followed, no pipe waited for, no large one read", (t) => {
  const dir = tempDir(t)
  const [link, pipe, large, plain] = ['link', 'pipe', 'large', 'plain'].map((name) => path.join(dir, name)) as [
    string,
    string,
    string,
    string,
  ]
  fs.writeFileSync(plain, 'words')
  fs.symlinkSync(plain, link)
  execFileSync('mkfifo', [pipe])
  fs.writeFileSync(large, '')
  fs.truncateSync(large, 2 ** 20 + 1)
  const read = [plain, link, pipe, large, dir, path.join(dir, 'absent'), path.join(plain, 'below')].map(readSmall)
  assert.deepEqual(read, ['words', ...Array(6).fill(undefined)])
})
