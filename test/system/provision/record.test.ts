// roomtone record as an operator runs it: a real controller, a real agent with a test tone.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import * as fs from 'node:fs'
import * as net from 'node:net'
import { after, before, test } from 'node:test'
import { run } from '../../../src/system/host/run.ts'
import { ADMIN, Agent, Controller, House, until } from '../../kit/whole.ts'

let house: House
let controller: Controller
let hall: { id: string; token: string }
let password: string

before(async () => {
  house = await House.open()
  controller = await (await new Controller(house).start()).login()
  hall = await controller.enroll('Hall recorder')
  const env = { SVC_CONTROLLER_TOKEN: hall.token, SVC_CONTROLLER_URL: controller.url, SVC_NODE_ID: hall.id }
  new Agent(house, env).start()
  await controller.online(hall.id)
  password = house.path('password')
  fs.writeFileSync(password, `${ADMIN.password}\n`)
})
after(() => house.close())

const to = () => ['--controller-url', controller.url]
const me = () => ['--email', ADMIN.email, '--password-file', password]

function record(args: string[], env: Record<string, string> = {}) {
  return house.start(['record', ...to(), ...args], { cwd: house.dir, env })
}

test('a take is made, waited for and written, and the session is ended', async () => {
  const sessions = (await controller.get('/auth/sessions')).length
  const out = house.path('take.mp3')
  const program = record([...me(), '--seconds', '2', '--out', out])
  const argv = fs.readFileSync(`/proc/${program.child.pid}/cmdline`, 'utf8')
  const [code] = await program.exited
  assert.equal(code, 0, program.said())
  assert.match(program.said(), /"Hall recorder" is recording 2 s as rec_/)
  assert.match(program.said(), /take\.mp3 contains the take \([\d.]+ KiB, [\d.]+ s, cached\)\.$/m)
  assert.ok(!`${argv}${program.said()}`.includes(ADMIN.password))
  assert.equal(fs.statSync(out).mode & 0o777, 0o600)
  const fields = ['-show_entries', 'stream=codec_name:format=duration', '-of', 'csv=p=0']
  const { stdout } = await run('ffprobe', ['-v', 'error', ...fields, out], { timeoutMs: 30_000 })
  assert.match(stdout, /^mp3\n[12]\.\d+/)
  assert.equal((await controller.get('/auth/sessions')).length, sessions)
})

test('of two boxes the one is used that is the controller', async () => {
  const [gone, out] = ['http://127.0.0.1:9', house.path('pair.mp3')]
  const boxes = ['--controller-url', gone, '--standby-url', controller.url]
  const program = house.start(['record', ...boxes, ...me(), '--seconds', '1', '--out', out], { cwd: house.dir })
  assert.equal((await program.exited)[0], 0, program.said())
})

test('a box that goes away during the take is followed to the other one', async () => {
  const { hostname, port } = new URL(controller.url)
  const open = new Set<net.Socket>()
  const first = net.createServer((near) => {
    const far = net.connect(Number(port), hostname)
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(one)
      one.on('error', () => other.destroy()).pipe(other)
    }
  })
  await once(first.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(first.address() as net.AddressInfo).port}`
  const out = house.path('followed.mp3')
  const boxes = ['--controller-url', url, '--standby-url', controller.url]
  const program = house.start(['record', ...boxes, ...me(), '--seconds', '3', '--out', out], { cwd: house.dir })
  await until('the take to begin', async () => program.said().includes('is recording 3 s') || undefined)
  first.close()
  for (const socket of open) socket.destroy()
  assert.equal((await program.exited)[0], 0, program.said())
  assert.match(program.said(), /followed\.mp3 contains the take/)
})

test('under sudo the file belongs to the one who asked', {
  skip: process.geteuid?.() !== 0 && 'only root can give a file away',
}, async () => {
  const out = house.path('theirs.mp3')
  const program = record([...me(), '--seconds', '1', '--out', out], { SUDO_GID: '65533', SUDO_UID: '65534' })
  assert.equal((await program.exited)[0], 0, program.said())
  const { gid, uid } = fs.statSync(out)
  assert.deepEqual({ gid, uid }, { gid: 65533, uid: 65534 })
})

test('a file that is there stays as it is, and nothing is recorded for it', async () => {
  const out = house.path('kept.mp3')
  fs.writeFileSync(out, 'mine')
  const takes = async (): Promise<number> => (await controller.get('/recordings')).length
  const number = await takes()
  const program = record([...me(), '--out', out])
  assert.equal((await program.exited)[0], 1)
  assert.match(program.said(), /kept\.mp3 cannot be created: .*Nothing was recorded/)
  assert.deepEqual([fs.readFileSync(out, 'utf8'), await takes()], ['mine', number])
})

test('what cannot work says so, names what to give, and leaves no file', async () => {
  const out = ['--out', house.path('never.mp3')]
  const attic = await controller.enroll('Attic recorder', { location: { room: 'Attic', site: 'House' } })
  fs.writeFileSync(house.path('wrong'), 'not the password')
  const cases: [string[], number, RegExp][] = [
    [me(), 2, /--out is missing/],
    [[...out], 2, /Missing credentials/],
    [[...me(), ...out, '--seconds', '0'], 2, /--seconds expects a whole number from 1 to 3600/],
    [[...me(), ...out, '--seconds', '1.5'], 2, /--seconds/],
    [['--email', ADMIN.email, '--password-file', house.path('wrong'), ...out], 1, /refused the login \(status 401\)/],
    [[...me(), ...out], 1, new RegExp(`There are 2 recorders\\. Choose one:[^]*--node ${hall.id} `)],
    [[...me(), ...out, '--room', 'Cellar'], 1, /There is no recorder in the room "Cellar"/],
    [[...me(), ...out, '--node', 'node_nobody'], 1, /refused the look at the recorder \(status 404\)/],
    [[...me(), ...out, '--room', 'Attic'], 1, /The recorder "Attic recorder" is \w+: /],
    [[...me(), ...out, '--node', attic.id], 1, /The recorder "Attic recorder" is \w+: /],
  ]
  for (const [args, code, why] of cases) {
    const program = record(args)
    assert.equal((await program.exited)[0], code, program.said())
    assert.match(program.said(), why)
  }
  assert.equal(fs.existsSync(house.path('never.mp3')), false)
})

test('a take that fails says why, and leaves no file', async () => {
  const out = house.path('stopped.mp3')
  const program = record([...me(), '--room', 'Hall', '--seconds', '600', '--out', out])
  const id = await until('the take to begin', () => {
    assert.equal(program.child.exitCode, null, program.said())
    return /as (rec_\S+)/.exec(program.said())?.[1]
  })
  const jobs: { id: string; recordingId: string }[] = await controller.get('/recording-jobs')
  const job = jobs.find(({ recordingId }) => recordingId === id)
  const fail = () => controller.ask('POST', `/recording-jobs/${job?.id}/failed`, undefined, hall.token)
  await until('the recorder to give up', async () => (await fail()).status === 200)
  assert.equal((await program.exited)[0], 1, program.said())
  assert.match(program.said(), /^roomtone record: The take failed: agent_failed\.$/m)
  assert.equal(fs.existsSync(out), false)
})
