// Whoever looks after the box of a controller: verbs typed as root, with nothing set, beside and in place of the service.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { PLACES } from '../../src/system/host/places.ts'
import { executable } from '../kit/executable.ts'
import { bootMachine, type Machine, noMachine } from './machine.ts'

const skip = noMachine()
const HOME = PLACES.controllerHome

let box: Machine

before(async () => {
  if (skip) return
  const roomtone = await executable()
  box = await bootMachine({ name: 'admin' })
  await box.bring(roomtone, '/root/roomtone')
  await box.must('/root/roomtone setup controller --no-packages', { timeoutMs: 120_000 })
  await box.must('systemd-sysusers - && install -d -o nobody -m 0755 /tmp/somebody', { input: 'u somebody - -\n' })
})
after(async () => {
  await box?.stop()
})

const strangersFiles = () => box.must(`find ${HOME} ! -user roomtone`)
const ready = () => box.until('the controller', 'curl -fsS http://localhost:8787/readyz')

test('verbs find the installed controller, and leave nothing there that is not its own', { skip }, async () => {
  assert.match(await box.must('roomtone user list'), /^admin@roomtone\.local\towner/m)
  assert.match(await box.must('roomtone check --deep'), /The database is whole/)
  assert.match(
    await box.must('roomtone user add ann@example.org', { input: 'correct horse\n' }),
    /was created, as owner/,
  )
  assert.match(await box.must('roomtone backup /root/backup --takes --key'), /: database \d+(\.\d)? [KM]iB, checked\./)
  assert.match(await box.must('roomtone backup /root/one.db'), /: \d+(\.\d)? [KM]iB, checked\./)
  assert.equal(await box.must('stat -c %U /root/backup/roomtone.db /root/one.db'), 'root\nroot\n')
  await box.must('systemctl stop roomtone-controller')
  await box.must('roomtone backup /root/backup --takes --key && roomtone check')
  assert.equal(await strangersFiles(), '')
  await box.must('systemctl start roomtone-controller')
  await ready()
})

test('what root restores is the service’s, and the service starts with it', { skip }, async () => {
  await box.must('systemctl stop roomtone-controller')
  // What somebody who broke into the service put there must not lead root astray.
  await box.must(`ln -s /etc/planted ${HOME}/roomtone.db.restoring`, { user: 'roomtone' })
  const astray = await box.run('roomtone restore /root/backup --force')
  assert.equal(await box.exists('/etc/planted'), false, astray.stderr)
  await box.must(`rm -f ${HOME}/roomtone.db.restoring`)
  assert.match(await box.must('chmod 700 /root; roomtone restore /root/backup --force'), /is kept as/)
  assert.equal(await strangersFiles(), '')
  await box.must('systemctl start roomtone-controller')
  await ready()
  assert.match(await box.must('roomtone user list'), /ann@example\.org/)
})

test('settings and secrets of the service count for the verbs, too', { skip }, async () => {
  await box.must(
    `install -d -o roomtone -g roomtone /srv/takes; echo SVC_RECORDING_CACHE_DIR=/srv/takes >>${PLACES.controllerSettings}`,
  )
  await box.must(
    `echo stray >/srv/takes/stray.wav; chown roomtone /srv/takes/stray.wav; touch -d '1 day ago' /srv/takes/stray.wav`,
  )
  assert.match(await box.must('roomtone check'), /belongs to nothing: stray\.wav/)
  const own = await box.run('SVC_DATA_DIR=/tmp/none roomtone check')
  assert.deepEqual([own.code, own.stderr.includes('There is no database at /tmp/none/roomtone.db')], [2, true])
})

test('somebody who may not is told to use sudo', { skip }, async () => {
  for (const verb of ['check', 'user list', 'backup /tmp/somebody/b', 'restore /tmp/somebody/b --force']) {
    const { code, stderr } = await box.run(`roomtone ${verb}`, { user: 'nobody' })
    assert.deepEqual([verb, code], [verb, 2])
    assert.match(stderr, /run this with sudo/)
  }
})
