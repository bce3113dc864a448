// The admin verbs of the built executable, beside and in place of a real controller.
import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { Db } from '../../src/controller/store/db.ts'
import { embedded, migrate } from '../../src/controller/store/migrate.ts'
import { sound } from '../kit/sound.ts'
import { ADMIN, Controller, House } from '../kit/whole.ts'

const SOUND = sound(300_000, 'mp3')

describe('admin verbs', () => {
  let house: House
  let controller: Controller
  let recordingId = ''

  /** Runs a verb to its end, on the data directory of `on`. */
  const verb = async (args: string[], { input = '', on = controller.data } = {}) => {
    const program = house.start(args, { cwd: house.dir, env: { SVC_DATA_DIR: on }, input })
    const [code] = await program.exited
    return { code, said: program.said() }
  }
  const schemaOf = (file: string): number => {
    const db = new Db(file, undefined, { plain: true })
    try {
      return db.raw.pragma('user_version', { simple: true }) as number
    } finally {
      db.close()
    }
  }

  before(async () => {
    house = await House.open()
    controller = await (await new Controller(house).start()).login()
    const { id, token } = await controller.enroll('recorder')
    const { job, recording } = await controller.record(id, await controller.plainProfile('mp3'), 60)
    recordingId = recording.id
    const claimed = await controller.ask('POST', `/recording-jobs/${job.id}/claim`, {}, token)
    assert.equal(claimed.status, 200, JSON.stringify(claimed.json))
    const stored = await fetch(`${controller.url}/api/v1/recordings/${recordingId}/cache-file`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'audio/mpeg', 'x-svc-recording-job-id': job.id },
      body: SOUND,
    })
    assert.ok(stored.ok, await stored.text())
  })
  after(() => house.close())

  test('a backup of a busy controller is one consistent copy, with the audio when asked', async () => {
    const target = house.path('backup')
    let busy = true
    const traffic = (async () => {
      while (busy) await controller.ask('POST', '/rooms', { name: crypto.randomUUID(), site: 'S' })
    })()
    const { code, said } = await verb(['backup', target, '--takes', '--key'])
    busy = false
    await traffic
    assert.equal(code, 0, said)
    const manifest = JSON.parse(fs.readFileSync(path.join(target, 'manifest.json'), 'utf8'))
    assert.deepEqual([manifest.takes.files, manifest.takes.copied, manifest.takes.bytes], [1, 1, SOUND.length])
    assert.equal(manifest.schema, embedded().length)
    assert.equal(fs.statSync(path.join(target, 'secret.key')).mode & 0o777, 0o600)
    // A second one only brings it up to date.
    const again = await verb(['backup', target, '--takes'])
    assert.match(again.said, /1 file, .*; 0 copied now/)
  })

  test('a restore brings back accounts, takes and keys, and everybody logs in again', async () => {
    const on = house.path('restored')
    const { code, said } = await verb(['restore', house.path('backup')], { on })
    assert.equal(code, 0, said)
    const other = await new Controller(house, { SVC_DATA_DIR: on }).start()
    assert.equal((await other.ask('GET', '/auth/me', undefined, controller.session)).status, 401)
    await other.login()
    assert.ok((await other.file(recordingId)).equals(SOUND))
    assert.equal((await other.trail({ action: 'controller.restored' })).length, 1)
    // While it runs, nothing is put under it.
    const refused = await verb(['restore', house.path('backup'), '--force'], { on })
    assert.equal(refused.code, 2)
    assert.match(refused.said, /A controller uses this data directory already: stop it first/)
    await other.program.end('SIGTERM')
  })

  test('a restore over a database needs --force, and keeps the old one', async () => {
    const on = house.path('restored')
    const refused = await verb(['restore', house.path('backup')], { on })
    assert.equal(refused.code, 2)
    assert.match(refused.said, /--force/)
    assert.equal((await verb(['restore', house.path('backup'), '--force'], { on })).code, 0)
    const kept = fs.readdirSync(on).filter((name) => name.includes('before-restore'))
    assert.equal(kept.length, 1)
    assert.equal(schemaOf(path.join(on, kept[0]!)), embedded().length)
  })

  test('a damaged or foreign backup is refused and changes nothing', async () => {
    const on = house.path('untouched')
    const file = house.path('torn.db')
    const whole = fs.readFileSync(house.path('backup', 'roomtone.db'))
    whole.fill(0x5a, 8192, 40_960)
    fs.writeFileSync(file, whole)
    const torn = await verb(['restore', file], { on })
    assert.notEqual(torn.code, 0)
    fs.writeFileSync(file, 'not a database at all, but a text file of some length')
    assert.notEqual((await verb(['restore', file], { on })).code, 0)
    assert.equal(fs.existsSync(path.join(on, 'roomtone.db')), false)
  })

  test('check finds a take that is missing or not what was stored, and files nobody knows', async () => {
    const on = house.path('restored')
    assert.equal((await verb(['check', '--deep'], { on })).code, 0)
    const takes = path.join(on, 'recordings')
    const stored = fs.readdirSync(takes, { recursive: true, withFileTypes: true }).find((e) => e.isFile())!
    const file = path.join(stored.parentPath, stored.name)
    const stranger = path.join(takes, 'stranger.wav')
    fs.writeFileSync(stranger, 'x')
    fs.utimesSync(stranger, 1, 1)
    const changed = Buffer.from(SOUND)
    changed[1000] = 8
    fs.writeFileSync(file, changed)
    assert.equal((await verb(['check'], { on })).code, 0, 'the size alone does not tell')
    const deep = await verb(['check', '--deep'], { on })
    assert.equal(deep.code, 1)
    assert.match(deep.said, /is not what was stored/)
    assert.match(deep.said, /^belongs to nothing: stranger\.wav/m)
    fs.rmSync(file)
    const { code, said } = await verb(['check'], { on })
    assert.equal(code, 1)
    assert.match(said, /^missing: /m)
  })

  test('a lost password is set from the command line, and old sessions end', async () => {
    const input = 'a new password from a pipe\n'
    const set = await verb(['user', 'password', ADMIN.email], { input })
    assert.equal(set.code, 0, set.said)
    assert.equal(set.said.includes(input.trim()), false)
    assert.equal((await controller.ask('GET', '/auth/me')).status, 401)
    const { status } = await controller.ask('POST', '/auth/login', { email: ADMIN.email, password: input.trim() })
    assert.equal(status, 200)
    const made = await verb(['user', 'add', 'Second@Example.org', '--role', 'auditor'])
    const password = /shown only once: (\S+)/.exec(made.said)?.[1]
    assert.equal((await controller.ask('POST', '/auth/login', { email: 'second@example.org', password })).status, 200)
    assert.match((await verb(['user', 'list'])).said, /second@example\.org\tauditor\tlocal/)
    for (const wrong of [
      ['password', 'nobody@example.org'],
      ['add', 'x@y.z', '--role', 'king'],
      ['add', 'no address'],
    ])
      assert.equal((await verb(['user', ...wrong], { input })).code, 2)
  })

  test('an older database is copied before it is brought up to date', async () => {
    const data = house.path('older')
    fs.mkdirSync(data)
    const db = new Db(path.join(data, 'roomtone.db'))
    const known = embedded().length
    migrate(db, embedded().slice(0, known - 1))
    db.close()
    const upgraded = await new Controller(house, { SVC_DATA_DIR: data }).start()
    assert.equal(schemaOf(path.join(data, `roomtone.db.schema-${known - 1}`)), known - 1)
    await upgraded.program.end('SIGTERM')
    assert.equal(schemaOf(path.join(data, 'roomtone.db')), known)
  })
})
