// A node as the runner meets it: a real OpenSSH server with keys of its own, and behind its forced command what the test says.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import * as https from 'node:https'
import * as net from 'node:net'
import * as os from 'node:os'
import * as path from 'node:path'
import { randomIds } from '../../src/kernel/ids.ts'
import { readServerSettings } from '../../src/lifecycle/config.ts'
import { controllerMaterial } from '../../src/lifecycle/material.ts'
import type { RunParts } from '../../src/lifecycle/run.ts'
import { Vault } from '../../src/lifecycle/vault.ts'
import type { RunAnswer, RunRequest } from '../../src/wire/lifecycle.ts'
import { listening } from '../kit/http.ts'
import { type Kit, kit } from '../kit/kit.ts'
import { scratchDir } from '../kit/scratch.ts'
import { pathsBelow } from '../kit/whole.ts'

export const RUNNER_TOKEN = 'rig-runner-token-0123456789'
export const INBOUND_TOKEN = 'rig-inbound-token-0123456789'
export const USER = os.userInfo().username

const SSHD = '/usr/sbin/sshd'

/** Keeps what it is asked; then does what `does` says, a piece of shell in which `$line` is the request. */
const NODE = `read -r line
printf '%s\\n' "$line" >> asked
. ./does
`

/** Begins, and does not end as long as the node is there. */
export const HANG = 'echo begun; while [ -e asked ]; do sleep 0.1; done'

export class SshNode {
  readonly dir = scratchDir('roomtone-sshd-')
  readonly #server = net.createServer({ pauseOnConnect: true }, (socket) => this.#serve(socket))
  readonly #sessions = new Set<{ kill(signal: NodeJS.Signals): boolean }>()
  /** Every one that was made, whatever became of it. */
  connections = 0

  static async open(): Promise<SshNode> {
    const node = new SshNode()
    fs.mkdirSync('/run/sshd', { recursive: true })
    node.newHostKey()
    node.does('echo "done"')
    fs.writeFileSync(node.path('node.sh'), NODE)
    fs.writeFileSync(node.path('asked'), '')
    node.trusts([])
    const settings = [
      `HostKey ${node.path('host_key')}`,
      `AuthorizedKeysFile ${node.path('authorized_keys')}`,
      'StrictModes no',
      'UsePAM no',
      'PasswordAuthentication no',
      'PermitRootLogin yes',
      'PidFile none',
    ]
    fs.writeFileSync(node.path('sshd_config'), `${settings.join('\n')}\n`)
    node.#server.listen(0, '127.0.0.1')
    await once(node.#server, 'listening')
    return node
  }

  path = (name: string): string => path.join(this.dir, name)
  get port(): number {
    return (this.#server.address() as net.AddressInfo).port
  }
  get hostKey(): string {
    return fs.readFileSync(this.path('host_key.pub'), 'utf8').trim()
  }
  /** Every request that arrived, oldest first. */
  // biome-ignore lint/suspicious/noExplicitAny: looked into, not typed
  get asked(): any[] {
    const lines = fs.readFileSync(this.path('asked'), 'utf8').trim().split('\n')
    return lines.filter(Boolean).map((line) => JSON.parse(line))
  }
  get open(): number {
    return this.#sessions.size
  }

  does(shell: string): void {
    fs.writeFileSync(this.path('does'), `${shell}\n`)
  }

  /** The line an installed node has for a key. */
  trusts(publicKeys: string[]): void {
    const line = (key: string) => `restrict,command="cd ${this.dir} && exec sh node.sh" ${key}\n`
    fs.writeFileSync(this.path('authorized_keys'), publicKeys.map(line).join(''))
  }

  newHostKey(): void {
    for (const name of ['host_key', 'host_key.pub']) fs.rmSync(this.path(name), { force: true })
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'host', '-f', this.path('host_key')])
  }

  async close(): Promise<void> {
    for (const session of this.#sessions) session.kill('SIGKILL')
    this.#server.close()
    fs.rmSync(this.dir, { recursive: true, force: true })
  }

  /** As inetd does it: a server of its own for each connection. */
  #serve(socket: net.Socket): void {
    this.connections++
    const child = spawn(SSHD, ['-i', '-e', '-f', this.path('sshd_config')], { stdio: [socket, socket, 'ignore'] })
    socket.on('error', () => {})
    socket.destroy()
    this.#sessions.add(child)
    child.once('close', () => this.#sessions.delete(child))
  }
}

/** A node, and a controller on a socket that knows it by its bootstrap. */
export class World {
  readonly k: Kit
  readonly node: SshNode
  readonly id: string
  /** Token of the node, as its bootstrap gave it. */
  token = ''
  /** Of the controller, without /api/v1. */
  url = ''
  /** Where the runner keeps its keys. */
  readonly vault: string
  #stop: () => Promise<void> = async () => {}

  private constructor(k: Kit, node: SshNode, id: string, vault: string) {
    this.k = k
    this.node = node
    this.id = id
    this.vault = vault
  }

  /** With a node and a place for keys of the world's own, where the controller has to know them first. */
  static async open(env: Record<string, string> = {}, given: { node?: SshNode; vault?: string } = {}): Promise<World> {
    const node = given.node ?? (await SshNode.open())
    const k = kit({ env: { SVC_RUNNER_TOKEN: RUNNER_TOKEN, ...env } })
    const { id } = await k.enroll()
    const world = new World(k, node, id, given.vault ?? scratchDir('roomtone-vault-'))
    const { close, url } = await listening(k)
    world.#stop = close
    world.url = url.replace('/api/v1', '')
    await world.bootstrap()
    return world
  }

  /** As the agent does it: a key of its own, the host's keys beside it. */
  async bootstrap(): Promise<void> {
    const { k, id, node } = this
    const file = node.path('node_key')
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', `roomtone-${id}`, '-f', file])
    const [privateKey, publicKey] = [fs.readFileSync(file, 'utf8'), fs.readFileSync(`${file}.pub`, 'utf8').trim()]
    for (const name of [file, `${file}.pub`]) fs.rmSync(name)
    node.trusts([publicKey])
    const minted = await k.as('admin').post(`/nodes/${id}/bootstrap-token`)
    const body = { hostKeys: [node.hostKey], interfaces: [], privateKey, publicKey, username: USER }
    const answer = await k.bearer(minted.json.data.token).post(`/nodes/${id}/bootstrap`, body)
    this.token = answer.json.data.controllerToken
  }

  /** Settings of a runner for this world. */
  get env(): Record<string, string> {
    return {
      PATH: process.env.PATH ?? '',
      RUNTIME_DIRECTORY: this.vault,
      SVC_ANSIBLE_RUNNER_PORT: '0',
      SVC_ANSIBLE_RUNNER_TOKEN: INBOUND_TOKEN,
      SVC_ANSIBLE_TARGETS: JSON.stringify({ [this.id]: { host: '127.0.0.1', port: this.node.port } }),
      SVC_RUNNER_CONTROLLER_URL: this.url,
      SVC_RUNNER_TOKEN: RUNNER_TOKEN,
    }
  }

  request(action: RunRequest['action'], options: RunRequest['options'] = {}): RunRequest {
    return { action, options, target: { host: '127.0.0.1', nodeAlias: 'Hall recorder', nodeId: this.id } }
  }

  /** A key nobody manages. */
  operatorKey(): { file: string; publicKey: string } {
    const file = this.node.path('operator_key')
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'operator', '-f', file])
    return { file, publicKey: fs.readFileSync(`${file}.pub`, 'utf8').trim() }
  }

  /** A file in which the node has this host key. */
  knownHosts(key: string = this.node.hostKey): string {
    const file = this.node.path('known_hosts')
    fs.writeFileSync(file, `[127.0.0.1]:${this.node.port} ${key}\n`)
    return file
  }

  /** What a runner with these settings works with; who takes them closes the vault. */
  parts(env: Record<string, string> = {}): RunParts {
    const { controller, run, token } = readServerSettings({ ...this.env, ...env })
    const secrets = [token, controller.token ?? '']
    const material = controllerMaterial(controller)
    return { ids: randomIds, material, secrets, settings: run, vault: new Vault([this.vault]) }
  }

  get publicKey(): Promise<string> {
    return this.k
      .as('admin')
      .get(`/nodes/${this.id}/ssh-credential`)
      .then(({ json }) => json.data.publicKey)
  }

  /** Paths below the place for keys. */
  get left(): string[] {
    return pathsBelow(this.vault)
  }

  async close(): Promise<void> {
    await this.#stop()
    await this.k.close()
    await this.node.close()
    fs.rmSync(this.vault, { recursive: true, force: true })
  }
}

/** The controller behind a certificate that it made for itself. */
export async function tlsFront(url: string, dir: string) {
  const [certificate, key] = [path.join(dir, 'front.pem'), path.join(dir, 'front.key')]
  const name = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1']
  const made = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
  execFileSync('openssl', [...made, ...name, '-keyout', key, '-out', certificate], { stdio: 'ignore' })
  const pem = { cert: fs.readFileSync(certificate), key: fs.readFileSync(key) }
  const server = https.createServer(pem, async (request, response) => {
    const headers = { authorization: request.headers.authorization ?? '' }
    const answer = await fetch(`${url}${request.url}`, { headers })
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    certificate,
    async close() {
      server.closeAllConnections()
      server.close()
    },
    url: `https://127.0.0.1:${(server.address() as net.AddressInfo).port}`,
  }
}

/** Every program of this machine with its arguments; those that ended meanwhile are left out. */
export function programs(): { args: string[]; pid: number }[] {
  const pids = fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.flatMap((pid) => {
    try {
      return [{ args: fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0'), pid: Number(pid) }]
    } catch {
      return []
    }
  })
}

export const bearer = (token: string = INBOUND_TOKEN) => ({ authorization: `Bearer ${token}` })

/** Asks a runner for a run, as the controller does. */
export async function runs(
  url: string,
  body: unknown,
  headers: Record<string, string> = bearer(),
  signal?: AbortSignal,
) {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const answer = await fetch(`${url}/runs`, { body: text, headers, method: 'POST', ...(signal ? { signal } : {}) })
  const said = await answer.text()
  return { json: JSON.parse(said) as { data: RunAnswer['data']; error?: string }, status: answer.status, text: said }
}
