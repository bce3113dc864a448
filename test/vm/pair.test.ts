// Two boxes, a recorder and a bucket: set up by what docs/standby.md prints, inside the units' sandbox; then one box is lost.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import * as path from 'node:path'
import { after, before, describe, test } from 'node:test'
import * as tls from 'node:tls'
import { PLACES, UNITS, USERS } from '../../src/system/host/places.ts'
import type { StandbyStatus } from '../../src/wire/lease.ts'
import type { UploadItem } from '../../src/wire/uploads.ts'
import { assertExact, readWav, secondsOf } from '../e2e/sound.ts'
import { executable } from '../kit/executable.ts'
import { NO_LITESTREAM } from '../kit/litestream.ts'
import { ACCESS_KEY, type S3Server, SECRET_KEY, s3Server } from '../kit/s3.ts'
import { ADMIN, Controller, House, until } from '../kit/whole.ts'
import { type Lan, layLan } from './lan.ts'
import { bootMachine, type Machine, noMachine } from './machine.ts'
import { printed, section, settle, stepsOf, typed as typedAt } from './printed.ts'
import { packaged } from './visit.ts'

const DOCUMENT = 'docs/standby.md'
/** From the command to the first heartbeat that box two answers. */
const TAKEOVER_SECONDS = 30
/** Longer than a takeover on a busy machine: the take has to go on through it. */
const SECONDS = 60
const URLS = { one: 'https://one.example:8787', two: 'https://two.example:8787' }

describe('a second box, as its document sets it up', { skip: NO_LITESTREAM || noMachine() }, () => {
  let house: House
  let s3: S3Server
  let lan: Lan
  let one: Machine
  let two: Machine
  let hall: Machine
  let nodeId = ''
  let profile = ''
  let policy = ''
  let earlier: { bytes: Buffer; id: string }

  const steps = stepsOf(DOCUMENT, 'Set up')
  /** The block or line of that place in a step, with what this site has in place of the examples. */
  const block = (step: number, at: number): string =>
    (printed(steps[step - 1] ?? '')[at] ?? 'false')
      .replaceAll('s3://BUCKET', 's3://takes')
      .replaceAll(/(region=[\w-]+)/g, `$1&endpoint=http://s3.example:${new URL(s3.endpoint).port}`)
  const typed = (box: Machine, lines: string, input?: string) => typedAt(box, `set -e; ${lines}`, input)
  /** A person at the console, by the box's own cable. */
  const client = async (box: Machine): Promise<Controller> =>
    await new Controller(house).at(`https://${box.address}:8787`).login()
  const status = async (box: Machine): Promise<StandbyStatus> => {
    const answer = (await (await fetch(`https://${box.address}:8787/status`)).json()) as { data: StandbyStatus }
    return answer.data
  }
  /** Resolves once its copy is younger than this moment. */
  const caughtUp = async (box: Machine): Promise<void> => {
    const wanted = Date.now()
    await until(
      `${box.name} to follow`,
      async () => {
        const told = await status(box).catch(() => undefined)
        return told?.ready && Date.now() - ((told.behindSeconds ?? 0) + 1) * 1000 > wanted
      },
      120,
    )
  }
  /** Resolves once the bucket has what is written now: what Litestream begins to send, and sends whole, after this. */
  const replicated = async (): Promise<void> => {
    const sent = () => [...s3.objects.keys()].filter((key) => key.startsWith('takes/pair/database/')).length
    const before = sent()
    await until('the replica to have it', () => sent() >= before + 3)
  }
  const capturing = `grep -rl '"capturing"' ${PLACES.agentHome}/data/agent/takes/*/state.json`
  const heardBy = (controller: Controller, since: number) =>
    until('a heartbeat to be answered', async () => {
      const { lastSeenAt } = await controller.get(`/nodes/${nodeId}`)
      return Date.parse(lastSeenAt) > since
    })
  const record = async (controller: Controller, seconds: number) =>
    await controller.record(nodeId, profile, seconds, { uploadPolicyIds: [policy] })
  /** What the recorder heard, sample for sample, for so long. */
  const assertWhole = (bytes: Buffer, what: string, seconds: number): void => {
    const heard = readWav(bytes)
    assert.equal(secondsOf(heard), seconds, what)
    assertExact(heard, what)
  }
  const played = async (controller: Controller, { bytes, id }: { bytes: Buffer; id: string }): Promise<void> => {
    const part = await controller.raw('GET', `/recordings/${id}/file`, { headers: { range: 'bytes=100000-199999' } })
    assert.equal(part.status, 206)
    assert.ok(Buffer.from(await part.arrayBuffer()).equals(bytes.subarray(100_000, 200_000)))
    assert.ok((await controller.file(id)).equals(bytes))
  }

  /** The controller of a site that has one box. */
  async function install(deb: string): Promise<void> {
    const keys = []
    for (const box of [one, two, hall]) keys.push(await settle(box))
    for (const box of [one, two, hall]) {
      await box.write('/home/you/.ssh/authorized_keys', keys.join(''))
      await box.bring(deb, `/root/${path.basename(deb)}`, '0644')
    }
    await Promise.all([one, two, hall].map((box) => box.must(`dpkg -i /root/*.deb`, { timeoutMs: 120_000 })))
    const litestream = createRequire(import.meta.url).resolve('@flydotio/litestream-linux-x64/litestream')
    for (const box of [one, two]) await box.bring(litestream, '/usr/bin/litestream')
    const names = ['one.example', 'two.example', one.address, two.address].map((name) => `--host ${name}`)
    await typed(one, `sudo roomtone tls init ${names.join(' ')}`)
    const settings = [
      'SVC_HOST=0.0.0.0',
      `SVC_API_TLS_CERT_PATH=${PLACES.tls}/server.pem`,
      `SVC_API_TLS_KEY_PATH=${PLACES.tls}/server.key`,
      `SVC_LOCAL_ADMIN_EMAIL=${ADMIN.email}`,
      // In place of a minute: nobody waits for it here.
      'SVC_STANDBY_INTERVAL_SECONDS=2',
    ]
    await one.write(PLACES.controllerSettings, settings.map((line) => `${line}\n`).join(''), '0640')
    await one.write('/etc/credstore/roomtone.local-admin-password', `${ADMIN.password}\n`, '0600')
    await one.must(`systemctl enable --now ${UNITS.controller}`)
    tls.setDefaultCACertificates([...tls.getCACertificates('default'), await one.read(`${PLACES.tls}/ca.pem`)])
  }

  /** A recorder that has joined, and where its takes go. */
  async function join(controller: Controller): Promise<void> {
    const place = { alias: 'Hall recorder', hostname: 'hall', location: { room: 'Hall', site: 'North' } }
    nodeId = (await controller.post('/nodes/enroll', place)).node.id
    const { token } = await controller.post(`/nodes/${nodeId}/bootstrap-token`)
    await hall.write('/root/ca.pem', await one.read(`${PLACES.tls}/ca.pem`))
    const asked = `--controller-url ${URLS.one} --controller-ca /root/ca.pem --node-id ${nodeId} --bootstrap-token-file -`
    await hall.must(`roomtone setup agent --no-packages ${asked}`, { input: token, timeoutMs: 120_000 })
    const destination = await controller.post('/settings/upload-destinations', {
      displayName: 'Archive',
      enabled: true,
      keepsLibrary: true,
      kind: 's3',
      s3: {
        accessKeyId: ACCESS_KEY,
        bucket: 'takes',
        endpoint: `http://s3.example:${new URL(s3.endpoint).port}`,
        forcePathStyle: true,
        prefix: 'rooms',
      },
      s3SecretAccessKey: SECRET_KEY,
    })
    const upload = { destinationId: destination.id, name: 'Archive', trigger: 'on_recording_cached' }
    policy = (await controller.post('/settings/upload-policies', upload)).id
    profile = await controller.plainProfile('wav')
  }

  before(
    async () => {
      house = await House.open()
      s3 = await s3Server({ host: '0.0.0.0', keeps: true })
      const deb = await packaged(await executable(), '1.0.0', house.dir)
      ;[one, two, hall] = (await Promise.all(['one', 'two', 'hall'].map((name) => bootMachine({ name })))) as [
        Machine,
        Machine,
        Machine,
      ]
      lan = await layLan(hall, { 'one.example': one, 'two.example': two })
      await install(deb)
      await join(await client(one))
    },
    { timeout: 240_000 },
  )
  after(async () => {
    await Promise.all([one, two, hall].map((box) => box?.stop()))
    await s3?.close()
    await house?.close()
  })

  test('step by step: box two follows, ready to take over', async () => {
    const lines = block(2, 0)
      .trim()
      .split(/(?<!\\)\n/)
    assert.equal(lines.length, 5)
    const secrets = [undefined, ACCESS_KEY, SECRET_KEY]
    for (const [i, line] of lines.entries()) await typed(one, line, secrets[i] && `${secrets[i]}\n`)
    await typed(one, `sudo tee -a ${PLACES.controllerSettings}`, block(3, 0))
    await typed(one, block(3, 1))
    await typed(one, block(4, 0))
    await typed(two, block(5, 0))
    await typed(hall, `sudo tee -a ${PLACES.agentSettings}`, `SVC_CONTROLLER_STANDBY_URL=${URLS.two}\n`)
    await typed(hall, block(6, 0))
    await caughtUp(two)
    const page = await (await fetch(`https://${two.address}:8787`, { headers: { accept: 'text/html' } })).text()
    assert.match(page, /Standby, \d+ seconds behind, ready/)
    assert.equal((await two.must(`systemctl is-enabled ${UNITS.controller}`)).trim(), 'enabled')
    const { job, recording } = await record(await client(one), 4)
    await (await client(one)).delivered(recording.id, job.id)
    earlier = { bytes: await (await client(one)).file(recording.id), id: recording.id }
    assertWhole(earlier.bytes, 'the take from before', 4)
  })

  test('Litestream runs in the sandbox of the unit, and nobody reads the keys from how it was called', async () => {
    const pid = (await one.must('pgrep -x litestream')).trim()
    const told = await one.read(`/proc/${pid}/status`)
    const user = (await one.must(`id -u ${USERS.controller}`)).trim()
    for (const line of [`Uid:\t${user}`, 'NoNewPrivs:\t1', 'CapBnd:\t0000000000000000', 'Seccomp:\t2'])
      assert.ok(told.includes(`\n${line}`), line)
    assert.match(await one.read(`/proc/${pid}/cgroup`), new RegExp(UNITS.controller))
    const open = await one.must(`cat /proc/${pid}/cmdline ${PLACES.controllerHome}/litestream.*.yml`)
    const journal = (await one.journal()) + (await two.journal())
    for (const secret of [ACCESS_KEY, SECRET_KEY])
      assert.deepEqual([open.includes(secret), journal.includes(secret)], [false, false])
  })

  test('the plug of box one is pulled while it records: box two plays what was, and what went on meanwhile', async (t) => {
    const old = await client(one)
    await until('the first take to be uploaded', async () => {
      const items: UploadItem[] = await old.get('/upload-queue?limit=50')
      return items.length > 0 && items.every((item) => item.status === 'succeeded')
    })
    const { job, recording } = await record(old, SECONDS)
    await hall.until('the take to run', capturing)
    await replicated()
    lan.pull(one)
    await one.powerOff()
    await hall.must(capturing)
    const began = Date.now()
    const said = await typed(two, 'sudo roomtone takeover --unplanned')
    assert.match(said, /The lease is taken, term 2/)
    const controller = await client(two)
    await heardBy(controller, began)
    const seconds = (Date.now() - began) / 1000
    t.diagnostic(`from the command to the first heartbeat answered: ${seconds.toFixed(1)} s`)
    assert.ok(seconds < TAKEOVER_SECONDS, `${seconds} s`)
    await played(controller, earlier)
    await controller.delivered(recording.id, job.id, 150)
    assertWhole(await controller.file(recording.id), 'the take that went on', SECONDS)
  })

  test('box one comes back fenced, and says why', async () => {
    lan.plugIn(one)
    await one.powerOn()
    const told = await until('box one to answer', () => status(one).catch(() => undefined))
    assert.deepEqual([told.role, told.serving?.url, told.serving?.term], ['fenced', URLS.two, 2])
    assert.equal((await one.must(`systemctl is-active ${UNITS.controller}`)).trim(), 'active')
    assert.match(await one.must(`systemctl show -P StatusText ${UNITS.controller}`), /^Another box took over/)
    assert.equal((await one.run('pgrep -x litestream')).code, 1)
    const refused = await new Controller(house).at(`https://${one.address}:8787`).raw('GET', '/rooms')
    assert.equal(refused.status, 503)
    assert.match(await refused.text(), /"reason":"fenced"/)
  })

  test('and back again, as planned, while it records: box two follows', async () => {
    await typed(one, printed(section(DOCUMENT, 'Back again'))[0] ?? 'false')
    await caughtUp(one)
    const { job, recording } = await record(await client(two), SECONDS / 2)
    await hall.until('the take to run', capturing)
    assert.match(await typed(one, 'sudo roomtone takeover'), /has stopped.*The lease is taken, term 3/s)
    const controller = await client(one)
    await controller.delivered(recording.id, job.id, 120)
    assertWhole(await controller.file(recording.id), 'the take of the hand-over', SECONDS / 2)
    await played(controller, earlier)
    await caughtUp(two)
    assert.equal((await two.must(`systemctl is-active ${UNITS.controller}`)).trim(), 'active')
    assert.equal((await status(two)).serving?.url, URLS.one)
  })
})
