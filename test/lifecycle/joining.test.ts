// A node that is killed while it joins: the real agent, the real controller, and OpenSSH with the file the agent writes.
import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import * as http from 'node:http'
import type { AddressInfo } from 'node:net'
import * as path from 'node:path'
import { after, test } from 'node:test'
import { perform } from '../../src/lifecycle/run.ts'
import { executable } from '../kit/executable.ts'
import { until } from '../kit/whole.ts'
import { USER, World } from './rig.ts'

const program = await executable()
const world = await World.open()
const { k, node, id } = world
after(() => world.close())
const keys = node.path('authorized_keys')
const envFile = node.path('recorder-agent.env')

/** What becomes of a bootstrap on its way between agent and controller. */
type Way = (forward: () => Promise<{ status: number; text: string }>, child: () => ChildProcess) => Promise<void>

/** Between the agent and the controller; everything but a bootstrap passes. */
async function between(way: Way, child: () => ChildProcess) {
  const server = http.createServer(async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer)
    const headers = { authorization: request.headers.authorization ?? '', 'content-type': 'application/json' }
    const forward = async () => {
      const body = Buffer.concat(pieces)
      const answer = await fetch(`${world.url}${request.url}`, { body, headers, method: 'POST' })
      return { status: answer.status, text: await answer.text() }
    }
    let told: { status: number; text: string } | undefined
    await way(async () => (told = await forward()), child)
    if (!told) return void response.destroy()
    response.writeHead(told.status, { 'content-type': 'application/json' }).end(told.text)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

/** The agent joins with a fresh token; resolves when it has ended. */
async function joins(way: Way): Promise<number | null> {
  const minted = await k.as('admin').post(`/nodes/${id}/bootstrap-token`)
  let child: ChildProcess | undefined
  const { server, url } = await between(way, () => child as ChildProcess)
  const hostKeys = node.path('host-keys')
  fs.mkdirSync(hostKeys, { recursive: true })
  fs.copyFileSync(node.path('host_key.pub'), path.join(hostKeys, 'ssh_host_ed25519_key.pub'))
  const options = {
    'bootstrap-authorized-keys': keys,
    'bootstrap-env-file': envFile,
    'bootstrap-forced-command': `cd ${node.dir} && exec sh node.sh`,
    'bootstrap-token-file': '-',
    'bootstrap-user': USER,
    'node-id': id,
    'ssh-host-keys': hostKeys,
  }
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])
  const env = { HOME: node.dir, PATH: process.env.PATH, SVC_CONTROLLER_URL: url }
  child = spawn(program, ['agent', '--bootstrap', ...args], { cwd: node.dir, env, stdio: 'pipe' })
  child.stdin?.end(minted.json.data.token)
  const [code] = await once(child, 'close')
  server.closeAllConnections()
  server.close()
  return code
}

async function actsOn(): Promise<number> {
  const parts = world.parts()
  try {
    const answer = await perform(parts, world.request('smoke_check'), () => {}, AbortSignal.timeout(60_000))
    return answer.exitCode
  } finally {
    parts.vault.close()
  }
}

const lineOf = (file: string) => fs.readFileSync(file, 'utf8')
const whole: Way = async (forward) => void (await forward())

test('a whole join: the key of the node opens it, and there is no other managed one', async () => {
  fs.writeFileSync(keys, `${lineOf(keys)}ssh-ed25519 AAAAformer svc-node_former\n`)
  assert.equal(await joins(whole), 0)
  const managed = lineOf(keys)
    .split('\n')
    .filter((line) => line.includes('svc-'))
  assert.deepEqual([managed.length, managed[0]?.includes(`svc-${id}`)], [1, true])
  assert.equal(await actsOn(), 0)
})

test('killed before the controller has accepted: the file is as it was, and its key works', async () => {
  const before = lineOf(keys)
  await joins(async (_, child) => void child().kill('SIGKILL'))
  assert.equal(lineOf(keys), before)
  assert.equal(await actsOn(), 0)
})

test('killed after the controller has accepted, before it knows: the old key works', async () => {
  const before = lineOf(keys)
  await joins(async (forward, child) => {
    await forward()
    child().kill('SIGKILL')
    // The answer must not be there before the end is.
    await once(child(), 'exit')
  })
  assert.equal(lineOf(keys), before)
  assert.equal(await actsOn(), 0)
})

test('killed between the key and the token: the new key works, also when a further join dies before its key', async () => {
  const before = lineOf(keys)
  fs.rmSync(envFile, { force: true })
  // Whoever opens a pipe that nobody writes to waits.
  execFileSync('mkfifo', [envFile])
  let agent: ChildProcess | undefined
  const joining = joins(async (forward, child) => {
    agent = child()
    await forward()
  })
  await until('the new key is in place', async () => lineOf(keys) !== before)
  agent?.kill('SIGKILL')
  await joining
  fs.rmSync(envFile)
  assert.equal(await actsOn(), 0)
  await joins(async (forward, child) => {
    await forward()
    child().kill('SIGKILL')
    await once(child(), 'exit')
  })
  assert.equal(await actsOn(), 0)
})

test('a refused token on a box that has joined changes nothing', async () => {
  const before = lineOf(keys)
  const code = await joins(async (forward) => {
    await k.as('admin').post(`/nodes/${id}/credentials/revoke`)
    await forward()
  })
  assert.deepEqual([code, lineOf(keys)], [1, before])
})
