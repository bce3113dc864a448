// roomtone usb-config as an operator runs it, against a real controller.
import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import { PassThrough } from 'node:stream'
import { after, before, test } from 'node:test'
import { run } from '../../../src/system/host/run.ts'
import { SetupFile } from '../../../src/wire/provision.ts'
import { executable } from '../../kit/executable.ts'
import { ADMIN, Controller, House } from '../../kit/whole.ts'

let house: House
let controller: Controller
let roomtone: string
let password: string

before(async () => {
  roomtone = await executable()
  house = await House.open(roomtone)
  controller = await (await new Controller(house).start()).login()
  password = house.path('password')
  fs.writeFileSync(password, `${ADMIN.password}\n`)
})
after(() => house.close())

interface Said {
  code: number | null
  said: string
}

async function usbConfig(args: string[], { env = {}, input = '' } = {}): Promise<Said> {
  const program = house.start(['usb-config', ...args], { cwd: house.dir, env, input })
  const [code] = await program.exited
  return { code, said: program.said() }
}
const to = () => ['--controller-url', controller.url, '--allow-insecure']
const base = () => [...to(), '--allow-local']
const me = () => ['--email', ADMIN.email, '--password-file', password]
const stick = (name: string): SetupFile =>
  SetupFile.parse(JSON.parse(fs.readFileSync(house.path(name, 'roomtone.json'), 'utf8')))
const nodeCount = async (): Promise<number> => (await controller.get('/nodes')).length
const sessions = async (): Promise<number> => (await controller.get('/auth/sessions')).length

test('rooms, a table and a node that exists go onto one stick in one call', async () => {
  const known = await controller.enroll('Known')
  const table = house.path('rooms.csv')
  fs.writeFileSync(table, 'alias,site,room,mac\n"Hall, left",North,Hall,00:11:22:33:44:55\nStudio,South,Studio,\n')
  const before = await sessions()
  const rooms = ['--room', 'Attic;North;Attic;serial=S1', '--rooms-file', table, '--node', known.id]
  const { code, said } = await usbConfig([
    ...base(),
    ...me(),
    ...rooms,
    '--ttl',
    '2h',
    '--write-back',
    '--out',
    house.path('many'),
  ])
  assert.equal(code, 0, said)
  const file = stick('many')
  assert.deepEqual(
    file.nodes.map(({ alias, match }) => [alias, match]),
    [
      ['Attic', { serial: 'S1' }],
      ['Hall, left', { mac: '00:11:22:33:44:55' }],
      ['Studio', undefined],
      ['Known', undefined],
    ],
  )
  assert.deepEqual(
    [file.controllerUrl, file.allowInsecure, file.replace, file.writeBack],
    [controller.url, true, false, true],
  )
  assert.equal(fs.statSync(house.path('many', 'roomtone.json')).mode & 0o777, 0o600)
  // What is printed names file, nodes and expiry, and no secret; the session it began has ended.
  for (const { alias, bootstrapToken, expiresAt, nodeId } of file.nodes) {
    assert.ok(said.includes(`"${alias}" (${nodeId})`) && said.includes(expiresAt), said)
    assert.ok(!said.includes(bootstrapToken))
  }
  assert.equal(await sessions(), before)
})

test('a file that is there is not replaced unasked, and no room is made for it', async () => {
  const args = [...base(), ...me(), '--room', 'Cellar;North;Cellar', '--out', house.path('twice')]
  assert.equal((await usbConfig(args)).code, 0)
  const [first, nodes] = [stick('twice').nodes[0]?.bootstrapToken, await nodeCount()]
  const again = await usbConfig(args)
  assert.equal(again.code, 1)
  assert.match(again.said, /already exists.*--overwrite/)
  assert.deepEqual([stick('twice').nodes[0]?.bootstrapToken, await nodeCount()], [first, nodes])
  assert.equal((await usbConfig([...args, '--overwrite', '--again'])).code, 0)
  assert.notEqual(stick('twice').nodes[0]?.bootstrapToken, first)
})

test('where no stick is mounted nothing is written and no room enrolled', async () => {
  const nodes = await nodeCount()
  const { code, said } = await usbConfig([...to(), ...me(), '--room', 'Shed;North;Shed', '--out', house.path('stick')])
  assert.equal(code, 1)
  assert.match(said, /^roomtone usb-config: No stick is mounted at .*stick: mount it first, or pass --allow-local/)
  assert.deepEqual([fs.existsSync(house.path('stick')), await nodeCount()], [false, nodes])
})

test('a room that has a recorder gets another one only where that is asked for', async () => {
  const args = (name: string) => [...base(), ...me(), '--room', 'Barn;North;Barn', '--out', house.path(name)]
  assert.equal((await usbConfig(args('barn'))).code, 0)
  const [nodes, sessionsBefore, first] = [await nodeCount(), await sessions(), stick('barn').nodes[0]?.nodeId]
  const refused = await usbConfig(args('barn2'))
  assert.equal(refused.code, 1)
  assert.match(
    refused.said,
    new RegExp(`^roomtone usb-config: North, Barn has a recorder: "Barn" \\(${first}\\)\\.\n.*--node .*--again`),
  )
  assert.deepEqual([fs.existsSync(house.path('barn2', 'roomtone.json')), await nodeCount()], [false, nodes])
  const again = await usbConfig([...args('barn2'), '--again'])
  assert.equal(again.code, 0, again.said)
  assert.match(again.said, /^North, Barn has a recorder: /m)
  assert.deepEqual([await nodeCount(), await sessions()], [nodes + 1, sessionsBefore])
})

test('a session may stand in for the login: from a file, from standard input, from the environment', async () => {
  const args = [...base(), '--room', 'Loft;North;Loft', '--overwrite', '--again', '--out', house.path('session')]
  const token = controller.session
  fs.writeFileSync(house.path('session-token'), token)
  for (const [more, how] of [
    [['--session-token-file', house.path('session-token')], {}],
    [['--session-token-file', '-'], { input: token }],
    [[], { env: { SVC_SESSION_TOKEN: token } }],
  ] as [string[], object][])
    assert.deepEqual((await usbConfig([...args, ...more], how)).code, 0)
  // It was not ours: it has not been ended.
  assert.equal((await controller.ask('GET', '/nodes')).status, 200)
})

test('what cannot work says so in one sentence, and makes no room', async () => {
  const nodes = await nodeCount()
  const room = ['--room', 'A;B;C']
  const out = ['--out', house.path('never')]
  fs.writeFileSync(house.path('wrong'), 'not the password')
  const cases: [string[], number, RegExp][] = [
    [[...me(), ...room, ...out], 2, /--controller-url is missing/],
    [['--controller-url', controller.url, ...me(), ...room, ...out], 2, /plain http needs --allow-insecure/],
    [[...base(), ...me(), ...room], 2, /--out is missing/],
    [[...base(), ...room, ...out], 2, /Missing credentials/],
    [[...base(), ...me(), ...out], 2, /at least one room/],
    [[...base(), ...me(), ...room, ...out, '--ttl', '25h'], 2, /1s to 24h/],
    [[...base(), ...me(), ...room, ...out, '--token', 'x'], 2, /--token/],
    [[...base(), '--email', ADMIN.email, ...room, ...out], 1, /--password-file/],
    [
      [...base(), '--email', ADMIN.email, '--password-file', house.path('wrong'), ...room, ...out],
      1,
      /refused the login \(status 401\)/,
    ],
    [[...base(), ...me(), '--node', 'node_nobody', ...out], 1, /refused the request \(status 404\).*node_nobody/],
    [
      ['--controller-url', 'http://127.0.0.1:1', '--allow-insecure', '--allow-local', ...me(), ...room, ...out],
      1,
      /does not answer: nothing listens at/,
    ],
    [[...base(), ...me(), ...room, '--out', `${password}/dir`], 1, /cannot be/],
  ]
  for (const [args, code, why] of cases) {
    const answer = await usbConfig(args)
    assert.equal(answer.code, code, answer.said)
    assert.match(answer.said, why)
    assert.ok(answer.said.trim().split('\n').length === 1, answer.said)
  }
  assert.equal(await nodeCount(), nodes)
  assert.equal(fs.existsSync(house.path('never', 'roomtone.json')), false)
})

test('at a terminal the password is asked for, and not shown', async () => {
  const words = [
    roomtone,
    'usb-config',
    ...base(),
    '--email',
    ADMIN.email,
    '--room',
    "'Tower;North;Tower'",
    '--out',
    house.path('typed'),
  ]
  const keys = new PassThrough()
  const typed = await run('script', ['-qec', words.join(' '), '/dev/null'], {
    input: keys,
    // A person waits for the question.
    onOutput: (piece) => void (piece.includes('Password of') && keys.end(`${ADMIN.password}\n`)),
    timeoutMs: 60_000,
  })
  assert.equal(typed.code, 0, typed.stdout)
  assert.match(typed.stdout, /Password of admin@roomtone\.local:/)
  assert.ok(!typed.stdout.includes(ADMIN.password), 'the password stands on the screen')
  assert.equal(stick('typed').nodes[0]?.alias, 'Tower')
})
