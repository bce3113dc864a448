import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { type TestContext, test } from 'node:test'
import { executable } from '../kit/executable.ts'
import { type Handler, json, serve, type TestServer, tempDir } from './server.ts'

const TOKEN = 'svc_bs_single_use'
const program = await executable()

interface Place {
  dir: string
  envFile: string
  keys: string
  tmp: string
}

function place(t: TestContext): Place {
  const dir = tempDir(t)
  fs.mkdirSync(path.join(dir, 'tmp'))
  const home = path.join(dir, 'home')
  return {
    dir,
    envFile: path.join(dir, 'recorder-agent.env'),
    keys: path.join(home, '.ssh', 'authorized_keys'),
    tmp: path.join(dir, 'tmp'),
  }
}

interface Ended {
  code: number | null
  output: string
}

/** Runs the real program in a fresh working directory, HOME and TMPDIR, with the token on standard input. */
function bootstrap(at: Place, url: string, args: string[] = [], onStart?: (pid: number) => void): Promise<Ended> {
  const env = {
    HOME: path.dirname(path.dirname(at.keys)),
    PATH: process.env.PATH,
    SVC_CONTROLLER_URL: url,
    TMPDIR: at.tmp,
  }
  const all = ['agent', '--bootstrap', '--node-id', 'node_1', '--bootstrap-token-file', '-', ...args]
  const child = spawn(program, all, { cwd: at.dir, env })
  let output = ''
  child.stdout.on('data', (chunk) => (output += chunk))
  child.stderr.on('data', (chunk) => (output += chunk))
  child.stdin.end(`${TOKEN}\n`)
  onStart?.(child.pid as number)
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, output })))
}

const joins: Handler = (_seen, response) =>
  json(response, 201, { data: { controllerToken: 'svc_node_long_lived', fingerprint: 'SHA256:x', nodeId: 'node_1' } })

/** Nothing of a private key anywhere below the directory, and nothing left in the temporary one. */
function noKeyLeft(at: Place): void {
  assert.deepEqual(fs.readdirSync(at.tmp), [])
  for (const file of fs.readdirSync(at.dir, { recursive: true, encoding: 'utf8' })) {
    const full = path.join(at.dir, file)
    if (fs.statSync(full).isFile()) assert.doesNotMatch(fs.readFileSync(full, 'utf8'), /PRIVATE KEY/, file)
  }
}

const mode = (file: string) => (fs.statSync(file).mode & 0o777).toString(8)

const OURS = 'ssh-ed25519 AAAAOLD svc-node_1'

/** A box that has joined: its managed key is there. Gives what looks whether the file is the very same as now. */
function joinedBefore(at: Place): () => void {
  fs.mkdirSync(path.dirname(at.keys), { recursive: true, mode: 0o700 })
  fs.writeFileSync(at.keys, `ssh-ed25519 AAAA operator@desk\n${OURS}\n`, { mode: 0o600 })
  const look = () => {
    const { ino, mtimeMs } = fs.statSync(at.keys)
    return { files: fs.readdirSync(path.dirname(at.keys)), ino, mtimeMs, text: fs.readFileSync(at.keys, 'utf8') }
  }
  const before = look()
  return () => assert.deepEqual(look(), before)
}

function noSecretSaid({ output }: Ended): void {
  assert.doesNotMatch(output, /PRIVATE KEY|svc_bs_single_use|svc_node_long_lived/)
}

test('a node joins: one request with its inventory and key, then token, public key and nothing else', async (t) => {
  const at = place(t)
  const server = await serve(t, joins)
  const ended = await bootstrap(at, server.url)
  assert.equal(ended.code, 0, ended.output)
  assert.deepEqual(
    server.seen.map((s) => `${s.method} ${s.url} ${s.headers.authorization}`),
    [`POST /api/v1/nodes/node_1/bootstrap Bearer ${TOKEN}`],
  )
  const body = JSON.parse(server.seen[0]?.body.toString() ?? '')
  assert.deepEqual(Object.keys(body).sort(), ['hostKeys', 'interfaces', 'privateKey', 'publicKey', 'username'])
  assert.match(body.privateKey, /^-----BEGIN OPENSSH PRIVATE KEY-----\n[\s\S]+-----END OPENSSH PRIVATE KEY-----\n$/)
  assert.match(body.publicKey, /^ssh-ed25519 \S+ svc-node_1$/)
  assert.deepEqual(body.interfaces, [], 'no card, no interface')
  assert.equal(fs.readFileSync(at.keys, 'utf8'), `${body.publicKey}\n`)
  assert.deepEqual([mode(path.dirname(at.keys)), mode(at.keys), mode(at.envFile)], ['700', '600', '640'])
  assert.equal(
    fs.readFileSync(at.envFile, 'utf8'),
    `SVC_CONTROLLER_URL=${server.url}\nSVC_NODE_ID=node_1\nSVC_CONTROLLER_TOKEN=svc_node_long_lived\n`,
  )
  noKeyLeft(at)
  noSecretSaid(ended)
})

test('the keys of the SSH server travel along; what is none of them stays out', async (t) => {
  const at = place(t)
  const keys = path.join(at.dir, 'ssh')
  fs.mkdirSync(keys)
  for (const type of ['rsa', 'ed25519'])
    execFileSync('ssh-keygen', [
      '-q',
      '-t',
      type,
      '-N',
      '',
      '-C',
      'root@box',
      '-f',
      path.join(keys, `ssh_host_${type}_key`),
    ])
  fs.writeFileSync(path.join(keys, 'ssh_host_ecdsa_key.pub'), 'ecdsa-sha2-nistp256 damaged\n')
  const server = await serve(t, joins)
  const ended = await bootstrap(at, server.url, ['--ssh-host-keys', keys])
  assert.equal(ended.code, 0, ended.output)
  const line = (type: string) => fs.readFileSync(path.join(keys, `ssh_host_${type}_key.pub`), 'utf8').trim()
  assert.deepEqual(JSON.parse(server.seen[0]?.body.toString() ?? '').hostKeys, [line('ed25519'), line('rsa')])
  fs.rmSync(keys, { recursive: true })
  noKeyLeft(at)
})

test('a node without an SSH server joins; its key can be held to one command', async (t) => {
  const at = place(t)
  const server = await serve(t, joins)
  const nowhere = ['--ssh-host-keys', path.join(at.dir, 'nowhere')]
  const ended = await bootstrap(at, server.url, [...nowhere, '--bootstrap-forced-command', 'sudo -n program verb'])
  assert.equal(ended.code, 0, ended.output)
  const { hostKeys, publicKey } = JSON.parse(server.seen[0]?.body.toString() ?? '')
  assert.deepEqual(hostKeys, [])
  assert.equal(fs.readFileSync(at.keys, 'utf8'), `restrict,command="sudo -n program verb" ${publicKey}\n`)
})

test('the private key fits the public one', async (t) => {
  const at = place(t)
  const server = await serve(t, joins)
  await bootstrap(at, server.url)
  const { privateKey, publicKey } = JSON.parse(server.seen[0]?.body.toString() ?? '')
  const file = path.join(at.dir, 'check')
  fs.writeFileSync(file, privateKey, { mode: 0o600 })
  assert.equal(
    execFileSync('ssh-keygen', ['-y', '-f', file], { encoding: 'utf8' }).split(' ')[1],
    publicKey.split(' ')[1],
  )
})

test('other keys and other settings stay, our own line and token are replaced', async (t) => {
  const at = place(t)
  fs.mkdirSync(path.dirname(at.keys), { recursive: true, mode: 0o755 })
  const other = 'ssh-ed25519 AAAA operator@desk'
  fs.writeFileSync(at.keys, `# hand made\n${other}\nssh-ed25519 OLD svc-node_1`, { mode: 0o644 })
  const before =
    '# settings\nSVC_CONTROLLER_TOKEN=old\n\nSVC_NODE_ALIAS="Room 4"\nSVC_NODE_ID=node_old\nexport SVC_CONTROLLER_TOKEN="older"\nOTHER=1'
  fs.writeFileSync(at.envFile, before)
  const server = await serve(t, joins)
  assert.equal((await bootstrap(at, server.url)).code, 0)
  const keys = fs.readFileSync(at.keys, 'utf8').trimEnd().split('\n')
  assert.deepEqual(keys.slice(0, 2), ['# hand made', other])
  assert.match(keys[2] ?? '', /^ssh-ed25519 (?!OLD)\S+ svc-node_1$/)
  assert.deepEqual([keys.length, mode(at.keys), mode(path.dirname(at.keys))], [3, '600', '700'])
  const expected = `# settings\nSVC_CONTROLLER_TOKEN=svc_node_long_lived\n\nSVC_NODE_ALIAS="Room 4"\nSVC_NODE_ID=node_1\nOTHER=1\nSVC_CONTROLLER_URL=${server.url}\n`
  assert.equal(fs.readFileSync(at.envFile, 'utf8'), expected)
})

const refusals: [string, Handler, RegExp][] = [
  [
    'a refused token',
    (_s, r) => json(r, 401, { error: 'Unauthorized' }),
    /expired, was already used, or belongs to another node/,
  ],
  ['an unknown node', (_s, r) => json(r, 404, { error: 'Node not found' }), /enroll it there first/],
  [
    'a refused request',
    (_s, r) => json(r, 400, { error: 'Invalid bootstrap request', issues: [] }),
    /token is still good/,
  ],
  ['trouble in the controller', (_s, r) => json(r, 503, { error: 'Node bootstrap unavailable' }), /503/],
  ['garbage', (_s, r) => r.end('<html>'), /cannot be read/],
  ['a broken connection', (_s, r) => r.destroy(), /no answer/],
]
for (const [name, handler, words] of refusals)
  test(`${name} is said in words, leaves the keys as they were, no private key and no env file`, async (t) => {
    const at = place(t)
    const asBefore = joinedBefore(at)
    const server = await serve(t, handler)
    const ended = await bootstrap(at, server.url)
    assert.equal(ended.code, 1)
    assert.match(ended.output, words)
    assert.equal(fs.existsSync(at.envFile), false)
    asBefore()
    noKeyLeft(at)
    noSecretSaid(ended)
  })

test('an unreachable controller leaves the keys as they were and no private key', async (t) => {
  const at = place(t)
  const asBefore = joinedBefore(at)
  const server = await serve(t, joins)
  await server.close()
  const ended = await bootstrap(at, server.url)
  assert.equal(ended.code, 1)
  assert.match(ended.output, /no answer from/)
  asBefore()
  noKeyLeft(at)
})

for (const signal of ['SIGINT', 'SIGTERM', 'SIGKILL'] as const)
  test(`${signal} while the controller thinks leaves the keys as they were and no private key`, async (t) => {
    const at = place(t)
    const asBefore = joinedBefore(at)
    let pid = 0
    const server: TestServer = await serve(t, () => {
      asBefore()
      noKeyLeft(at)
      process.kill(pid, signal)
    })
    const ended = await bootstrap(at, server.url, [], (child) => {
      pid = child
    })
    assert.notEqual(ended.code, 0)
    assert.equal(server.seen.length, 1)
    asBefore()
    noKeyLeft(at)
    noSecretSaid(ended)
  })

test('nothing is made and nothing sent without a token, over an unsafe address, or without a place to write', async (t) => {
  const at = place(t)
  const server = await serve(t, joins)
  fs.writeFileSync(path.join(at.dir, 'empty'), '')
  const unsafe = await bootstrap(at, 'http://192.0.2.1:1')
  assert.deepEqual([unsafe.code, /refusing plain http/.test(unsafe.output)], [1, true])
  const nowhere = await bootstrap(at, server.url, [
    '--bootstrap-env-file',
    path.join(at.dir, 'empty', 'x', 'agent.env'),
  ])
  assert.deepEqual([nowhere.code, /nothing was sent/.test(nowhere.output)], [1, true], nowhere.output)
  const none = await bootstrap(at, server.url, ['--bootstrap-token-file', path.join(at.dir, 'empty')])
  assert.deepEqual([none.code, /needs a token/.test(none.output)], [2, true])
  assert.equal(server.connections(), 0)
  assert.equal(fs.existsSync(at.envFile), false)
  noKeyLeft(at)
})

test('an accepted node that cannot write its key says so, and keeps the credentials it had', async (t) => {
  const at = place(t)
  fs.mkdirSync(at.keys, { recursive: true, mode: 0o700 })
  fs.writeFileSync(at.envFile, 'SVC_CONTROLLER_TOKEN=old\n')
  const server = await serve(t, joins)
  const ended = await bootstrap(at, server.url)
  assert.deepEqual([ended.code, server.seen.length], [1, 1])
  assert.match(ended.output, /accepted the node, but \S+authorized_keys cannot be written .*token is spent/)
  assert.equal(fs.readFileSync(at.envFile, 'utf8'), 'SVC_CONTROLLER_TOKEN=old\n')
  noSecretSaid(ended)
})
