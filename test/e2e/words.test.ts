// What people read when the network or the disk fails: one sentence each, said once, without the system's own words.
import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as os from 'node:os'
import { after, before, test } from 'node:test'
import { House } from '../kit/whole.ts'
import { cannotMount, SmallDisk } from './disks.ts'

let house: House
before(async () => {
  house = await House.open()
  fs.writeFileSync(house.path('file'), 'no directory')
})
after(() => house.close())

async function said(args: string[], env: Record<string, string> = {}): Promise<string> {
  const program = house.start(args, { cwd: house.dir, env })
  const [code] = await program.exited
  assert.notEqual(code, 0)
  const words = program.said().trim()
  assert.doesNotMatch(words, /\bE[A-Z]{4,}\b|EAI_|SQLITE_|^\s+at |"stack"/m)
  assert.equal(words.split('\n').length, 1, words)
  return words
}

const TOKEN = `svc_bs_${'x'.repeat(43)}`
const bootstrap = (url: string) =>
  said(
    [
      'agent',
      '--bootstrap',
      '--bootstrap-env-file',
      house.path('agent.env'),
      '--controller-url',
      url,
      '--node-id',
      'n',
    ],
    {
      SVC_BOOTSTRAP_AUTHORIZED_KEYS: house.path('keys', 'authorized_keys'),
      SVC_BOOTSTRAP_TOKEN: TOKEN,
      SVC_TEST_SOURCE: '1',
    },
  )

test('a recorder that finds nobody says whom it asked, and what to look at', async () => {
  assert.match(
    await bootstrap('http://127.0.0.1:1'),
    /no answer from 127\.0\.0\.1:1: nothing listens at 127\.0\.0\.1:1: check that/,
  )
  assert.match(
    await bootstrap('https://recorder.invalid'),
    /the name recorder\.invalid (is not known|could not be resolved): /,
  )
})

test('a controller that cannot use its place says so in a sentence', async () => {
  assert.match(
    await said(['controller'], { SVC_DATA_DIR: house.path('file', 'data') }),
    /^roomtone controller: The directory .*file\/data cannot be made: .*file.* is not a directory\.$/,
  )
  fs.mkdirSync(house.path('odd', 'roomtone.db'), { recursive: true })
  assert.match(
    await said(['controller'], { SVC_DATA_DIR: house.path('odd') }),
    /^roomtone controller: The database .*roomtone\.db cannot be opened: .*check the owner of its files/,
  )
})

test('verbs say what is wrong with the place they were given', async () => {
  assert.match(await said(['restore', house.path('none')]), /The backup cannot be read: .*none does not exist\./)
  assert.match(await said(['tls', 'init', '--host', 'a', '--dir', house.path('file', 'tls')]), /is not a directory/)
})

test('a full disk is no stack trace', { skip: cannotMount(os.tmpdir()) }, async () => {
  const at = house.path('small')
  fs.mkdirSync(at)
  const disk = new SmallDisk(at, 2 ** 20)
  try {
    disk.fill()
    assert.match(
      await said(['controller'], { SVC_DATA_DIR: at, SVC_NATIVE_DIR: house.dir }),
      /disk.* is full: make room there/,
    )
  } finally {
    disk.unmount()
  }
})
