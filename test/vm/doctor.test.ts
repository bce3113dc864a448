// The doctor on a booted box that is controller and recorder: well at first, then broken in one way after the other. What it
// says to do is done where it is a command, and mends the box.
import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as http from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { PLACES, UNITS, USERS } from '../../src/system/host/places.ts'
import type { Check, DoctorReport, DoctorRole } from '../../src/wire/doctor.ts'
import { executable } from '../kit/executable.ts'
import { ADMIN, until } from '../kit/whole.ts'
import { daysAgo, site } from '../system/tls/world.ts'
import { CARD_ENV, layCard } from './card.ts'
import { bootMachine, type Machine, noMachine } from './machine.ts'

const CA = `${PLACES.tls}/ca.pem`
const DATABASE = `${PLACES.controllerHome}/roomtone.db`
const AGENT_DIR = `${PLACES.agentHome}/data/agent`

describe('the doctor on a booted box', { skip: noMachine() }, () => {
  let box: Machine
  let session = ''
  let nodeId = ''
  const url = () => `https://${box.address}:8787`

  const report = async (role: DoctorRole): Promise<DoctorReport & { code: number | null }> => {
    const { code, stderr, stdout } = await box.run(`roomtone doctor --json --role ${role}`)
    assert.match(stdout, /^\{/, stderr)
    return { ...JSON.parse(stdout), code }
  }
  const check = async (role: DoctorRole, id: string): Promise<Check> => {
    const { checks, code, ok } = await report(role)
    assert.equal(code, ok ? 0 : 1)
    return checks.find((one) => one.id === id) as Check
  }
  /** The check as it is while the box is broken; mended afterwards, however that ends. */
  const broken = async (how: string, role: DoctorRole, id: string, mend?: string): Promise<Check> => {
    await box.must(how)
    try {
      return await check(role, id)
    } finally {
      if (mend) await box.must(mend)
    }
  }
  const told = ({ fix, message, status }: Check, how: Check['status'], words: RegExp, what: RegExp) => {
    assert.equal(status, how, message)
    assert.match(message, words)
    assert.match(fix ?? '', what)
  }
  /** The command of a fix, for root. */
  const pasted = ({ fix }: Check): string => fix?.split('\n').at(-1)?.replaceAll('sudo ', '') ?? 'false'
  /** Edits a setting of the recorder. */
  const setting = (name: string, value: string): string =>
    `cp -p ${PLACES.agentSettings} /root/kept.env && sed -i '/^${name}=/d' ${PLACES.agentSettings} && echo '${name}=${value}' >>${PLACES.agentSettings}`
  const KEPT = `cp -p /root/kept.env ${PLACES.agentSettings}`

  const ask = async (method: string, path: string, body: object = {}) => {
    const sent = `-X ${method} -H 'content-type: application/json' -H 'authorization: Bearer ${session}' -d @-`
    const input = JSON.stringify(body)
    const said = await box.must(`curl -sS --cacert ${CA} ${sent} ${url()}/api/v1${path}`, { input })
    return JSON.parse(said).data
  }
  const online = () =>
    until(
      'the recorder to be online',
      async () => (await ask('GET', `/nodes/${nodeId}`)).status === 'online' || undefined,
    )

  before(async () => {
    box = await bootMachine({ name: 'doctor' })
    await box.bring(await executable(), '/root/roomtone')
    await box.write('/etc/credstore/roomtone.local-admin-password', `${ADMIN.password}\n`, '0600')
    await box.write(PLACES.controllerSettings, `SVC_LOCAL_ADMIN_EMAIL=${ADMIN.email}\n`, '0640')
    await box.must('/root/roomtone setup controller --no-packages')
    await box.must(`roomtone tls init --host ${box.address}`)
    const pair = `--tls-cert ${PLACES.tls}/server.pem --tls-key ${PLACES.tls}/server.key`
    await box.must(`roomtone setup controller --no-packages --host 0.0.0.0 ${pair}`)
    session = (await ask('POST', '/auth/login', ADMIN)).token
    const place = { alias: 'Hall', hostname: 'hall', location: { room: 'Hall', site: 'North' } }
    nodeId = (await ask('POST', '/nodes/enroll', place)).node.id
    await layCard(box, USERS.agent)
    const env = Object.entries(CARD_ENV).map(([name, value]) => `${name}=${value}\n`)
    await box.write(PLACES.agentSettings, env.join(''), '0640')
    const { token } = await ask('POST', `/nodes/${nodeId}/bootstrap-token`)
    const join = `--controller-url ${url()} --controller-ca ${CA} --node-id ${nodeId} --bootstrap-token-file -`
    await box.must(`roomtone setup agent --no-packages ${join}`, { input: token, timeoutMs: 180_000 })
    // A secret that only root can read, as a site may keep it.
    const credential = '/etc/credstore/roomtone.controller-token'
    await box.must(
      `sed -n 's/^SVC_CONTROLLER_TOKEN=//p' ${PLACES.agentSettings} >${credential} && chmod 600 ${credential}`,
    )
    await box.must(`sed -i '/^SVC_CONTROLLER_TOKEN=/d' ${PLACES.agentSettings} && systemctl restart ${UNITS.agent}`)
    await online()
    await box.must('roomtone backup /root/backup')
  })
  after(async () => box?.stop())

  test('a healthy box: nothing fails, and what is skipped says why', async () => {
    for (const role of ['controller', 'agent'] as const) {
      const { checks, code, ok } = await report(role)
      const bad = checks.filter(({ status }) => status === 'fail')
      assert.deepEqual([bad, code, ok], [[], 0, true])
      const by = new Map(checks.map((one) => [one.id, one.status]))
      const well =
        role === 'agent'
          ? [
              'device.present',
              'device.opens',
              'ffmpeg',
              'controller.tls',
              'controller.token',
              'service.unit',
              'ssh.key',
            ]
          : [
              'database.integrity',
              'database.writable',
              'key.matches',
              'tls.expiry',
              'runners.alive',
              'backup.age',
              'ffmpeg',
            ]
      for (const id of well)
        assert.equal(by.get(id), 'ok', `${id}: ${JSON.stringify(checks.find((one) => one.id === id))}`)
    }
    // Both at once, for people: plain on a pipe, and quick.
    const began = performance.now()
    const { code, stdout } = await box.run('roomtone doctor')
    assert.ok(performance.now() - began < 20_000)
    assert.equal(code, 0, stdout)
    assert.match(stdout, /^Recorder, roomtone/m)
    assert.match(stdout, /^Controller, roomtone/m)
    assert.equal(stdout.includes('\u001b'), false)
    const { also, ok, role } = JSON.parse((await box.run('roomtone doctor --json')).stdout)
    assert.deepEqual([ok, role, also[0].role], [true, 'agent', 'controller'])
  })

  test('it tells what the running agent hears, and disturbs no take', async () => {
    const level = await check('agent', 'device.level')
    assert.match(level.message, /^hw:CARD=Desk,DEV=0: /)
    assert.notEqual(level.status, 'skipped')
    const { id } = await ask('POST', '/recordings', { durationSeconds: 6, nodeId })
    await until('the take', async () => (await ask('GET', `/recordings/${id}`)).status === 'recording' || undefined)
    const [{ status }] = await Promise.all([check('agent', 'device.opens'), report('agent'), report('controller')])
    assert.notEqual(status, 'fail')
    const take = await until(
      'the take to arrive',
      async () => {
        const one = await ask('GET', `/recordings/${id}`)
        return one.status === 'cached' ? one : undefined
      },
      90,
    )
    assert.deepEqual(take.gaps ?? [], [])
    const events = await ask('GET', `/health-events?recordingId=${id}`)
    assert.deepEqual(
      events.filter(({ type }: { type: string }) => /capture|gap|xrun/.test(type)),
      [],
    )
  })

  test('the console asks it of the recorder', async () => {
    const { checks, madeAt, ok } = await ask('GET', `/nodes/${nodeId}/doctor`)
    assert.equal(ok, true, JSON.stringify(checks))
    assert.ok(Date.now() - Date.parse(madeAt) < 60_000)
    const skipped = checks.filter((one: Check) => one.status === 'skipped').map((one: Check) => one.id)
    assert.ok(skipped.includes('ssh.key'), 'the service does not see its keys')
    assert.equal(checks.find((one: Check) => one.id === 'service.unit').status, 'ok')
  })

  test('a service that does not run', async () => {
    const stopped = await broken(`systemctl disable --now ${UNITS.agent}`, 'agent', 'service.unit')
    told(stopped, 'fail', /does not run/, /^sudo systemctl enable --now roomtone-agent\.service/)
    // Alone with the card, it listens itself.
    const level = await check('agent', 'device.level')
    assert.equal(level.status, 'warn', level.message)
    assert.match(level.message, /Channel 1 hum/, 'a pure tone')
    assert.equal((await check('agent', 'device.opens')).message, 'hw:CARD=Desk,DEV=0 opens')
    await box.must(pasted(stopped))
    assert.equal((await check('agent', 'service.unit')).status, 'ok')
    await online()
  })

  test('a token that the controller does not know', async () => {
    const wrong = setting('SVC_CONTROLLER_TOKEN', 'svc_node_not-a-token-of-this-controller')
    const found = await broken(wrong, 'agent', 'controller.token', KEPT)
    told(found, 'fail', /refuses the token/, /roomtone setup agent --controller-url https:\S+ --pairing-code/)
  })

  test('a controller that is not reached', async () => {
    const stop = `systemctl stop ${UNITS.controller}`
    const start = `systemctl start ${UNITS.controller}`
    const away = await broken(stop, 'agent', 'controller.tls', start)
    told(away, 'fail', /is not reached: nothing listens/, /\ncurl -vsS https:/)
    const down = await broken(stop, 'controller', 'runners.alive', start)
    told(down, 'fail', /does not answer at https/, /^sudo systemctl enable --now roomtone-controller/)
  })

  test('a name that leads nowhere', async () => {
    const found = await broken(
      setting('SVC_CONTROLLER_URL', 'https://nowhere.invalid:8787'),
      'agent',
      'controller.resolve',
      KEPT,
    )
    told(found, 'fail', /leads nowhere/, /SVC_CONTROLLER_URL .*\/etc\/hosts/)
  })

  test('a certificate of an unknown authority, and one that has expired', async (t) => {
    const other = site(t, { hosts: [box.address] })
    await box.write('/root/other.pem', fs.readFileSync(other.ca))
    const unknown = await broken(
      setting('SVC_CONTROLLER_CA_CERT_PATH', '/root/other.pem'),
      'agent',
      'controller.tls',
      KEPT,
    )
    told(unknown, 'fail', /no authority this machine trusts/, /SVC_CONTROLLER_CA_CERT_PATH=/)
    const old = site(t, { days: 30, hosts: [box.address], now: daysAgo(40) })
    await box.write('/root/old/ca.pem', fs.readFileSync(old.ca))
    for (const name of ['cert', 'key'] as const) await box.write(`/root/old/${name}`, fs.readFileSync(old[name]))
    const dir = PLACES.tls
    const put = `cp -a ${dir} /root/tls && cat /root/old/cert >${dir}/server.pem && cat /root/old/key >${dir}/server.key && systemctl restart ${UNITS.controller} && ${setting('SVC_CONTROLLER_CA_CERT_PATH', '/root/old/ca.pem')}`
    await box.must(put)
    const [agent, controller] = [await check('agent', 'controller.tls'), await check('controller', 'tls.expiry')]
    await box.must(`rm -rf ${dir} && mv /root/tls ${dir} && ${KEPT} && systemctl restart ${UNITS.controller}`)
    told(agent, 'fail', /its certificate has expired/, /roomtone tls renew/)
    told(controller, 'fail', /has expired on/, /^sudo roomtone tls renew/)
    await online()
  })

  test("a clock that is far from the controller's", async (t) => {
    const server = http.createServer((_, response) => {
      response.sendDate = false
      response.setHeader('date', new Date(Date.now() + 300_000).toUTCString())
      response.end('{"ok":true,"service":"roomtone","version":"1.0.0"}')
    })
    await new Promise<void>((resolve) => server.listen(0, box.hostAddress, resolve))
    t.after(() => server.close())
    const there = `http://${box.hostAddress}:${(server.address() as AddressInfo).port}`
    const how = `${setting('SVC_CONTROLLER_URL', there)} && echo SVC_ALLOW_INSECURE_CONTROLLER=1 >>${PLACES.agentSettings}`
    await box.must(how)
    const { checks } = await report('agent')
    await box.must(KEPT)
    const by = (id: string) => checks.find((one) => one.id === id) as Check
    told(by('clock.synced'), 'fail', /(29|30)\d s behind the controller's/, /timedatectl set-ntp true/)
    told(by('controller.tls'), 'warn', /not verified/, /https address/)
  })

  test('no sound card, no ffmpeg, a full disk', async () => {
    const card = await broken(setting('SVC_ALSA_PROC_ROOT', '/srv/nocards'), 'agent', 'device.present', KEPT)
    told(card, 'fail', /no capture device/, /\narecord -l;/)
    const gone = 'mv /usr/bin/ffmpeg /root/ffmpeg'
    const back = 'mv /root/ffmpeg /usr/bin/ffmpeg'
    for (const role of ['agent', 'controller'] as const)
      told(await broken(gone, role, 'ffmpeg', back), 'fail', /ffmpeg is not installed/, /^sudo apt-get install ffmpeg$/)
    const full = `mkdir -p /srv/small && mount -t tmpfs -o size=8M,mode=777 tmpfs /srv/small && head -c 8100000 /dev/zero >/srv/small/x && ${setting('SVC_SYSTEM_HEALTH_DISK_PATH', '/srv/small')}`
    const disk = await broken(full, 'agent', 'disk.space', `${KEPT}; umount /srv/small`)
    told(disk, 'fail', /% free .* at \/srv\/small/, /retention policy/)
  })

  test('takes that wait for days, and a key that sshd ignores', async () => {
    const old = `install -d -o ${USERS.agent} ${AGENT_DIR}/takes/job_old && echo '{"status":"captured"}' >${AGENT_DIR}/takes/job_old/state.json && touch -d '2 days ago' ${AGENT_DIR}/takes/job_old/state.json`
    const waiting = await broken(old, 'agent', 'takes.waiting', `rm -r ${AGENT_DIR}/takes/job_old`)
    told(
      waiting,
      'warn',
      /^1 take not with the controller yet, the oldest untouched for 288\d min/,
      /controller\.token are well/,
    )
    const open = await broken(`chmod 666 ${PLACES.agentKeys}`, 'agent', 'ssh.key')
    told(open, 'fail', /sshd ignores/, /^sudo chmod 600/)
    await box.must(pasted(open))
    assert.equal((await check('agent', 'ssh.key')).status, 'ok')
    await box.must(`mv ${PLACES.agentKeys} /root/keys`)
    told(await check('agent', 'ssh.key'), 'warn', /has no key to this box/, /--pairing-code/)
    await box.must(`mv /root/keys ${PLACES.agentKeys}`)
  })

  test('a backup that nobody makes', async () => {
    const stamp = `${PLACES.controllerHome}/last-backup.json`
    assert.equal((await box.must(`stat -c '%U %a' ${stamp}`)).trim(), `${USERS.controller} 640`)
    const old = `sed -i 's/"at":"[^"]*"/"at":"${new Date(daysAgo(9)).toISOString()}"/' ${stamp}`
    told(await broken(old, 'controller', 'backup.age'), 'warn', /^The last backup is 9 days old/, /roomtone backup/)
    await box.must('roomtone backup /root/backup')
    assert.equal((await check('controller', 'backup.age')).status, 'ok')
  })

  test('a key that does not open what is sealed', async () => {
    const file = `${PLACES.controllerHome}/secret.key`
    const other = `cp -p ${file} /root/secret.key && echo another-key-of-another-installation >${file}`
    const found = await broken(other, 'controller', 'key.matches', `cp -p /root/secret.key ${file}`)
    told(found, 'fail', /does not open 1 of 1 sealed secrets/, /^Put the key back/)
    told(
      await broken(`mv ${file} /root/gone`, 'controller', 'key.matches', `mv /root/gone ${file}`),
      'fail',
      /is not there/,
      /roomtone backup --key/,
    )
  })

  test('a data directory of another owner, and one that is read-only', async () => {
    await box.must(`systemctl stop ${UNITS.controller}`)
    const owned = await broken(`chown -R root: ${PLACES.controllerHome}`, 'controller', 'database.writable')
    told(owned, 'fail', /permission denied/, /^sudo chown -R roomtone: \/var\/lib\/roomtone\/controller/)
    await box.must(pasted(owned))
    assert.equal((await check('controller', 'database.writable')).status, 'ok')
    const locked = `mount --bind ${PLACES.controllerHome} ${PLACES.controllerHome} && mount -o remount,ro,bind ${PLACES.controllerHome}`
    const { checks } = await box.must(locked).then(() => report('controller'))
    await box.must(`umount ${PLACES.controllerHome}`)
    const [database, disk] = ['database.writable', 'disk.sync'].map(
      (id) => checks.find((one) => one.id === id) as Check,
    )
    told(database as Check, 'fail', /read-only/, /mount -o remount,rw/)
    told(disk as Check, 'fail', /read-only/, /mount -o remount,rw/)
    await box.must(`systemctl start ${UNITS.controller}`)
  })

  test('a database that is damaged', async () => {
    await box.must(`systemctl stop ${UNITS.controller}`)
    await box.must(
      `cp -p ${DATABASE} /root/whole.db && dd if=/dev/urandom of=${DATABASE} bs=4096 seek=3 count=40 conv=notrunc`,
    )
    const { checks, ok } = await report('controller')
    assert.equal(ok, false)
    const by = (id: string) => checks.find((one) => one.id === id) as Check
    told(by('database.integrity'), 'fail', /database/, /roomtone restore/)
    assert.notEqual(by('nodes.offline').status, 'fail', 'what cannot be read is no fault of its own')
    // What support needs most comes all the same, without the journal that nobody could clear of names.
    await box.must('roomtone support --yes --role controller --output /root/damaged.tar.gz')
    assert.match(await box.must('tar xzOf /root/damaged.tar.gz about.txt'), /journal of the controller is left out/)
    await box.must(
      `cp -p /root/whole.db ${DATABASE} && rm -f ${DATABASE}-wal ${DATABASE}-shm && systemctl start ${UNITS.controller}`,
    )
    told(
      await broken(
        `mv ${DATABASE} /root/moved.db`,
        'controller',
        'database.integrity',
        `mv /root/moved.db ${DATABASE}`,
      ),
      'fail',
      /no database at/,
      /roomtone restore/,
    )
  })

  test('settings that cannot be used, and a box that has no role', async () => {
    await box.must(setting('SVC_HEARTBEAT_SECONDS', 'often'))
    const { checks, code } = await report('agent')
    await box.must(KEPT)
    assert.equal(code, 1)
    assert.equal(checks.length, 1)
    told(checks[0] as Check, 'fail', /SVC_HEARTBEAT_SECONDS/, /recorder-agent\.env/)
    const denied = await box.run('roomtone doctor --role agent', { user: 'nobody' })
    assert.deepEqual([denied.code, /run this with sudo/.test(denied.stderr)], [2, true], denied.stderr)
    const { code: none } = await box.run('roomtone doctor --role lifecycle')
    assert.equal(none, 1)
    assert.equal((await box.run('roomtone doctor --role king')).code, 2)
  })
})
