import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { afterEach, test } from 'node:test'
import { ROOT } from '../../kit/executable.ts'
import { scratchDir } from '../../kit/scratch.ts'
import { type LibraryWorld, library } from '../uploads/library/world.ts'

let w: LibraryWorld
let dir: string
afterEach(async () => {
  await w.close()
  fs.rmSync(dir, { recursive: true, force: true })
})

const check = (...args: string[]) => roomtone('check', ...args)

/** The program, with the database as it is now. */
function roomtone(...args: string[]): { child: ChildProcess; ended: Promise<{ code: number; said: string }> } {
  fs.rmSync(path.join(dir, 'roomtone.db'), { force: true })
  w.k.db.raw.prepare('VACUUM INTO ?').run(path.join(dir, 'roomtone.db'))
  const own = { SVC_DATA_DIR: dir, SVC_RECORDING_CACHE_DIR: w.root, SVC_SECRET_KEY: 'kit-secret-key-0123456789' }
  const child = spawn(process.execPath, [path.join(ROOT, 'src/main.ts'), ...args], {
    env: { ...process.env, ...own },
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (said += text))
  return { child, ended: once(child, 'close').then(([code]) => ({ code, said })) }
}

/** Three takes, two of them at the store alone. */
async function world(...options: Parameters<typeof library>): Promise<void> {
  w = await library(...options)
  dir = scratchDir('roomtone-check-')
  for (const id of ['rec_a', 'rec_b']) await w.beyond(randomBytes(3_000_000), id)
  await w.uploaded(randomBytes(1000), 'rec_here')
}

const bodyOf = (id: string): Buffer => w.objects().find(([key]) => key.includes(id))?.[1].body as Buffer

test('a deep check reads takes that are at the store alone, and compares what it reads', async () => {
  await world()
  const whole = await check('--deep').ended
  assert.deepEqual([whole.code, whole.said.includes('lost')], [0, false], whole.said)
  assert.match(whole.said, /^The database is whole, 3 files read and compared; 0 files belong to nothing\.$/m)
  bodyOf('rec_b')[2_000_000]! ^= 1
  const { code, said } = await check('--deep').ended
  assert.equal(code, 1)
  assert.match(said, /^damaged: ad-hoc\/rec_b\.mp3 at upload_dest_1: it holds other bytes$/m)
  assert.match(said, /^lost: ad-hoc\/rec_b\.mp3 is not here, and no sound copy is at a destination$/m)
  assert.match(said, /^1 fault; 3 files read and compared/m)
  assert.doesNotMatch(said, /rec_a|rec_here/)
})

test('a check that is not deep says what it did not look at, and which takes are known to be nowhere', async () => {
  await world()
  const { code, said } = await check().ended
  assert.equal(code, 0, said)
  assert.match(said, /^The database is whole, 1 file in place; 0 files belong to nothing\.$/m)
  assert.match(said, /^2 files at destinations alone: not looked at\. --deep reads them\.$/m)
  w.k.sql(`UPDATE remote_copies SET damaged_at = ? WHERE recording_id = 'rec_a'`, w.k.now())
  const lost = await check().ended
  assert.equal(lost.code, 1)
  assert.match(lost.said, /^lost: ad-hoc\/rec_a\.mp3 is not here/m)
})

test('a backup says which audio it does not have', async () => {
  await world()
  const { code, said } = await roomtone('backup', path.join(dir, 'backup'), '--takes').ended
  assert.equal(code, 0, said)
  assert.match(said, /audio: 1 file, .*; 1 copied now\./)
  assert.match(said, /^at destinations alone, and not in this backup: 2 files$/m)
})

test('takes that a destination does not give are said to be unread, and nothing is called whole', async () => {
  let down = false
  await world({ interfere: (_, response) => (down ? !!response.destroy() : false) })
  down = true
  const { code, said } = await check('--deep').ended
  assert.equal(code, 1)
  assert.match(said, /^not read: ad-hoc\/rec_a\.mp3 at upload_dest_1: /m)
  assert.match(said, /^0 faults; 1 file read and compared/m)
  assert.match(said, /^2 files at destinations could not be read: run it again when they answer\.$/m)
  assert.doesNotMatch(said, /whole|lost/)
})

test('Ctrl-C ends a deep check in the middle of a take, and what was found is told', async () => {
  const asked = Promise.withResolvers<void>()
  let holds = false
  await world({
    interfere: (request, response, operation) => {
      if (!holds || operation !== 'get' || !request.url?.includes('rec_b')) return false
      response.writeHead(206, { 'content-range': 'bytes 0-2999999/3000000' }).write(Buffer.alloc(100_000))
      asked.resolve()
      return true
    },
  })
  holds = true
  bodyOf('rec_a')[0]! ^= 1
  const { child, ended } = check('--deep')
  await asked.promise
  child.kill('SIGINT')
  const { code, said } = await ended
  assert.equal(code, 1)
  assert.match(said, /^lost: ad-hoc\/rec_a\.mp3/m)
  assert.match(said, /^Broken off: 1 fault; /m)
  assert.doesNotMatch(said, /whole/)
})
