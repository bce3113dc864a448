// What support gets from a booted box: logs and findings, and nothing of the secrets and names that are everywhere on it.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { PLACES, UNITS, USERS } from '../../src/system/host/places.ts'
import { executable } from '../kit/executable.ts'
import { bootMachine, type Machine, noMachine } from './machine.ts'

const FILE = '/root/support.tar.gz'
const LIMIT = 5 * 1024 * 1024

/** Nothing of these may be in the file. */
const SECRETS = {
  bucket: 'secret-access-key-of-the-bucket',
  metrics: 'metrics-token-0123456789',
  person: 'a password for the admin',
  runner: 'runner-token-of-this-controller',
  session: 'svc_SessionTokenThatSomebodyLogged0123',
  typed: 'hunter2hunter2',
}
const NAMES = {
  alias: 'Lectern by the window',
  building: 'Villa Rosenhof',
  host: 'rosenhof-aula',
  mail: 'wilhelmine.von.thurau@example.org',
  person: 'Wilhelmine von Thurau',
  room: 'Aula "Rosé"',
  schedule: 'Öffentliche Probe',
  site: 'Schloss Freudental',
}

/** Lines as programs write them: JSON, JSON within JSON, plain. */
const logged = (nodeId: string): string[] => [
  JSON.stringify({ level: 'info', message: `${NAMES.room} in ${NAMES.site} begins`, nodeId }),
  JSON.stringify({ body: JSON.stringify({ email: NAMES.mail, name: NAMES.person, password: SECRETS.typed }) }),
  `login of ${NAMES.mail} with password=${SECRETS.typed} refused`,
  `GET https://${NAMES.host}:${SECRETS.typed}@files.example.org/x?token=${SECRETS.session}`,
  `authorization: Bearer ${SECRETS.session}`,
  `${NAMES.alias.toUpperCase()} (${NAMES.building}) plays ${NAMES.schedule} on ${NAMES.host}`,
  `s3 answered: SignatureDoesNotMatch ${SECRETS.bucket}`,
  '-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW\n-----END OPENSSH PRIVATE KEY-----',
]

describe('a support file', { skip: noMachine() }, () => {
  let box: Machine
  let session = ''
  let nodeId = ''
  let roomId = ''
  const ask = async (method: string, path: string, body: object = {}) => {
    const sent = `-X ${method} -H 'content-type: application/json' -H 'authorization: Bearer ${session}' -d @-`
    const said = await box.must(`curl -sS ${sent} http://127.0.0.1:8787/api/v1${path}`, { input: JSON.stringify(body) })
    const { data, error } = JSON.parse(said)
    assert.equal(error, undefined, `${path}: ${said}`)
    return data
  }

  before(async () => {
    box = await bootMachine({ name: 'support' })
    await box.bring(await executable(), '/root/roomtone')
    await box.write('/etc/credstore/roomtone.local-admin-password', `${SECRETS.person}\n`, '0600')
    await box.write('/etc/credstore/roomtone.runner-token', `${SECRETS.runner}\n`, '0600')
    const settings = {
      SVC_LOCAL_ADMIN_EMAIL: NAMES.mail,
      SVC_LOCAL_ADMIN_NAME: `"${NAMES.person}"`,
      SVC_METRICS_TOKEN: SECRETS.metrics,
    }
    const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`)
    await box.write(PLACES.controllerSettings, `# the password is ${SECRETS.typed}\n${lines.join('')}`, '0640')
    const planted = 'ExecStartPre=-/bin/cat /srv/planted.log'
    await box.write(
      `${PLACES.units}/${UNITS.controller}.d/planted.conf`,
      `[Service]\n${planted}\nLogRateLimitIntervalSec=30s\nLogRateLimitBurst=1000000\n`,
    )
    await box.must('/root/roomtone setup controller --no-packages', { timeoutMs: 120_000 })
    session = (await ask('POST', '/auth/login', { email: NAMES.mail, password: SECRETS.person })).token
    const { building, host: hostname, room, site } = NAMES
    roomId = (await ask('POST', '/rooms', { building, name: room, site })).id
    nodeId = (await ask('POST', '/nodes/enroll', { alias: NAMES.alias, hostname, location: { building, room, site } }))
      .node.id
    const s3 = {
      accessKeyId: 'AKIAABCDEFGHIJKLMNOP',
      bucket: 'takes',
      endpoint: 'http://127.0.0.1:1',
      forcePathStyle: true,
    }
    const destination = {
      displayName: NAMES.building,
      enabled: false,
      kind: 's3',
      s3,
      s3SecretAccessKey: SECRETS.bucket,
    }
    await ask('POST', '/settings/upload-destinations', destination)
    const interfaces = [
      {
        alias: 'Desk',
        backend: 'alsa',
        channelCount: 2,
        sampleRates: [48_000],
        systemName: 'Desk',
        systemRef: 'hw:CARD=Desk,DEV=0',
      },
    ]
    const other = { alias: 'Second', hostname: 'second', interfaces, location: { room, site } }
    const second = (await ask('POST', '/nodes/enroll', other)).node
    await ask('POST', '/schedules', {
      ...{ captureChannelSelection: [1], captureInterfaceId: second.interfaces[0].id, channelMode: 'mono' },
      ...{ folderTemplate: 'F', name: NAMES.schedule, nodeId: second.id, recordingProfileId: 'voice-mp3-vbr' },
      ...{ room, timezone: 'UTC', titleTemplate: '{{date}}', watchdogPolicyId: 'scheduled-voice-watchdog' },
      recurrence: { daysOfWeek: ['monday'], endTime: '10:00', interval: 1, mode: 'weekly', startTime: '09:00' },
    })
    const many = `seq 1 6500 | sed 's/.*/{"message":"${NAMES.room.replaceAll('"', '\\\\"')} & of many lines that fill the journal ${'of a busy night '.repeat(60)}"}/'`
    await box.write('/srv/few.log', logged(nodeId).join('\n'))
    await box.must(
      `(${many}; cat /srv/few.log; echo; echo planted to its end) >/srv/planted.log && systemctl restart ${UNITS.controller}`,
      {
        timeoutMs: 120_000,
      },
    )
    await box.until(
      'the journal',
      `journalctl -q -o cat -u ${UNITS.controller} | grep -A 200 'planted to its end' | grep -q 'controller listening'`,
    )
  })
  after(async () => box?.stop())

  test('is asked for, listed, and belongs to who made it', async () => {
    const silent = await box.run(`roomtone support --output ${FILE}`)
    assert.equal(silent.code, 2)
    assert.match(silent.stdout, /^ {2}journal-roomtone-controller\.service\.log +\d/m)
    assert.match(silent.stderr, /pass --yes/)
    assert.equal(await box.exists(FILE), false)
    const no = await box.run(`script -qec 'roomtone support --output ${FILE}' /dev/null`, { input: 'n\n' })
    assert.match(no.stdout, /Write it\? \[y\/N\]/)
    assert.equal(await box.exists(FILE), false)
    await box.must(`roomtone support --yes --output ${FILE}`)
    assert.equal((await box.must(`stat -c '%U %a' ${FILE}`)).trim(), 'root 600')
    assert.equal((await box.run(`roomtone support --yes --output ${FILE}`)).code, 2, 'what is there stays')
    assert.equal((await box.must(`ls -A /tmp`)).includes('roomtone-support'), false, 'nothing is left beside it')
    const denied = await box.run('cd /tmp && roomtone support --yes --role controller', { user: 'nobody' })
    assert.equal(denied.code, 2, denied.stderr)
  })

  test('has what helps, in bounds', async () => {
    const parts = (await box.must(`tar tzf ${FILE}`)).trim().split('\n')
    const journal = `journal-${UNITS.controller}.log`
    for (const name of [
      'about.txt',
      'doctor-controller.json',
      journal,
      'machine.txt',
      'names.txt',
      'settings-controller.txt',
      'versions.txt',
    ])
      assert.ok(parts.includes(name), `${name} of ${parts}`)
    const size = Number(await box.must(`tar xzOf ${FILE} ${journal} | wc -c`))
    assert.ok(size > LIMIT / 2 && size <= LIMIT, `${size} bytes of journal`)
    const log = await box.must(`tar xzOf ${FILE} ${journal} | tail -n 200`)
    assert.match(log, /controller listening/, 'the newest lines')
    assert.match(log, new RegExp(nodeId), 'ids stay')
    const { checks } = JSON.parse(await box.must(`tar xzOf ${FILE} doctor-controller.json`))
    assert.ok(checks.length >= 13)
    const settings = await box.must(`tar xzOf ${FILE} settings-controller.txt`)
    assert.match(settings, /^SVC_METRICS_TOKEN=\[secret, 24 characters\]$/m)
    assert.match(await box.must(`tar xzOf ${FILE} versions.txt`), /^roomtone \d/)
  })

  test('tells one thing by one word everywhere', async () => {
    const table = await box.must(`tar xzOf ${FILE} names.txt`)
    const word = (id: string): string => new RegExp(`^(\\S+)\t${id}$`, 'm').exec(table)?.[1] ?? ''
    assert.match(word(nodeId), /^recorder-\d+$/)
    assert.match(word(roomId), /^room-\d+$/)
    const log = await box.must(`tar xzOf ${FILE} journal-${UNITS.controller}.log | tail -n 200`)
    assert.match(log, new RegExp(`${word(roomId)}\\W+in site-\\d+ begins`))
    assert.match(log, new RegExp(`${word(nodeId)} \\(\\S+\\) plays`))
  })

  test('holds no secret and no name', async () => {
    const all = await box.must(`tar xzOf ${FILE} | grep -v 'of many lines'`, { timeoutMs: 120_000 })
    const folded = all.toLowerCase()
    const made = (await box.read(`${PLACES.controllerHome}/secret.key`)).trim()
    for (const [what, secret] of Object.entries({ ...SECRETS, made, session }))
      for (const shape of [secret, Buffer.from(secret).toString('base64').slice(0, -3)])
        assert.equal(all.includes(shape), false, `${what} is in it`)
    for (const [what, name] of Object.entries(NAMES))
      for (const shape of [name, JSON.stringify(name).slice(1, -1), JSON.stringify(JSON.stringify(name)).slice(3, -3)])
        assert.equal(folded.includes(shape.toLowerCase()), false, `${what} is in it: ${shape}`)
    assert.equal(/PRIVATE KEY|b3BlbnNzaC1rZXk|AKIAABCDEF/.test(all), false)
    assert.equal(/[\w.]+@example\.org/.test(all), false)
    assert.ok(all.includes(nodeId) && all.includes(USERS.controller), 'what is no secret is found')
  })
})
