// Room on a disk: as df counts it, and one figure for everybody who tells it.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { diskRoom, freePercent } from '../../src/kernel/disk.ts'
import { spaceOf } from '../../src/system/checks/box.ts'
import { advice } from '../../src/wire/doctor.ts'

test('used is what df says: without what is reserved for root', async () => {
  const room = await diskRoom('/')
  const [, , , , used = ''] = execFileSync('df', ['-Pk', '/'], { encoding: 'utf8' }).split('\n')[1]?.split(/\s+/) ?? []
  assert.ok(room)
  // df rounds up; the disk is in use.
  assert.ok(Math.abs(room.usedPercent - Number.parseFloat(used)) <= 2, `${room.usedPercent} ${used}`)
  assert.ok(room.freeBytes <= room.sizeBytes)
})

test('a file system that does not tell its size tells nothing; a directory that is not there is an error', async () => {
  assert.equal(await diskRoom('/proc'), undefined)
  await assert.rejects(diskRoom('/nonexistent'), { code: 'ENOENT' })
})

test('free is told in one way, and never as more than it is', () => {
  const told = [85, 85.1, 90, 90.01, 95.9, 99.99, 100].map((usedPercent) => freePercent({ usedPercent }))
  assert.deepEqual(told, [15, 14, 10, 9.9, 4.1, 0, 0])
})

test('the doctor tells the same figure as the daily report', async () => {
  const [{ message }, room] = [await spaceOf(['/'], advice('make room')), await diskRoom('/')]
  assert.ok(room)
  assert.ok(Math.abs(Number.parseFloat(message) - freePercent(room)) <= 1, message)
})
