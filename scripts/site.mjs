// One controller and one agent on this machine, with a client of their API: what scripts/run and scripts/dev share.
import { execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'

export const say = (...words) => console.log(...words)

/** Thrown through `site.orElse` at Ctrl-C. */
class Interrupted extends Error {}

/**
 * `command`: what runs one of our programs; `data`: the directory everything is kept in. A `patient` site goes on when a
 * program ends by itself; one in the `network` is reached by other machines, without encryption.
 */
export function createSite({ command, data, network = false, patient = false, port }) {
  const email = 'admin@roomtone.local'
  const [program, ...first] = command
  /** Programs we started, in order; stopped in reverse. */
  const running = []
  let closing = false
  const interrupted = new Promise((_, reject) => {
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => reject(new Interrupted()))
  })
  interrupted.catch(() => {}) // raced against below

  /** Starts a program and keeps it in mind; `onLine` sees its log. */
  function start(name, args, env, onLine = () => {}) {
    const one = { args, env, name, onLine }
    running.push(one)
    launch(one)
  }

  /** In a process group of its own, so that Ctrl-C reaches it through `stopAll`, once and in order. */
  function launch(one) {
    const { args, env, name, onLine } = one
    const file = path.join(data, `${name}.log`)
    const cwd = path.join(data, name)
    fs.mkdirSync(cwd, { recursive: true, mode: 0o700 })
    const log = fs.openSync(file, 'a', 0o600)
    const stdio = ['ignore', 'pipe', 'pipe']
    one.child = spawn(program, [...first, ...args], { cwd, detached: true, env: { ...process.env, ...env }, stdio })
    for (const input of [one.child.stdout, one.child.stderr])
      createInterface({ input }).on('line', (line) => {
        fs.writeSync(log, `${line}\n`)
        onLine(line)
      })
    one.exited = once(one.child, 'close')
    one.failed = one.exited.then(([code, signal]) => {
      fs.closeSync(log)
      const words = `${name} ended with ${signal ?? `code ${code}`}; its log is ${file}`
      if (!patient) throw new Error(`${words}:\n${tail(file)}`)
      if (!one.stopping) say(words)
      return new Promise(() => {})
    })
    one.failed.catch(() => {}) // awaited where it matters; a clean stop ends here too
  }

  async function stop(one) {
    const { child, exited } = one
    if (child.exitCode !== null || child.signalCode !== null) return
    one.stopping = true
    child.kill('SIGTERM')
    const timer = setTimeout(() => child.kill('SIGKILL'), 35_000)
    await exited
    clearTimeout(timer)
    one.stopping = false
  }

  async function stopAll() {
    closing = true
    for (const one of running.reverse()) await stop(one)
  }

  /** Stops the named programs and starts them anew, in the order of their first start. */
  async function restart(names) {
    const those = running.filter(({ name }) => names.includes(name))
    for (const one of those.toReversed()) await stop(one)
    if (!closing) for (const one of those) launch(one)
  }

  /** Until a program dies or someone interrupts. */
  const ended = () => Promise.race([interrupted, ...running.map((program) => program.failed)])

  /** `promise`, unless the site ends or `seconds` pass first. */
  async function orElse(promise, what, seconds) {
    const timer = new AbortController()
    const late = sleep(seconds * 1000, undefined, { signal: timer.signal }).then(() => {
      throw new Error(`${what} took more than ${seconds} s`)
    })
    late.catch(() => {}) // aborted below
    try {
      return await Promise.race([promise, late, ended()])
    } finally {
      timer.abort()
    }
  }

  /** A link that signs the admin in, once: the console, or this client. The password may be another one by now. */
  function signInLink(base) {
    const env = { ...process.env, SVC_DATA_DIR: path.join(data, 'controller'), SVC_PORT: port }
    const link = execFileSync(program, [...first, 'user', 'link', email], { cwd: data, encoding: 'utf8', env })
    return `${base}/${link.trim().slice(link.indexOf('#'))}`
  }

  async function signIn(base) {
    const token = new URLSearchParams(new URL(signInLink(base)).hash.slice(1)).get('sign-in')
    const { data: session } = await client(base).json('POST', '/auth/sign-in-link', { token })
    return client(base, session.token)
  }

  /** Starts the controller and logs in; `onLine` sees its log. */
  async function startController(onLine = () => {}) {
    fs.mkdirSync(data, { recursive: true, mode: 0o700 })
    const { file, password } = secretIn(path.join(data, 'admin-password'))
    const env = {
      SVC_DATA_DIR: path.join(data, 'controller'),
      SVC_PORT: port,
      SVC_LOCAL_ADMIN_EMAIL: email,
      SVC_LOCAL_ADMIN_PASSWORD_FILE: file,
      ...(network ? { SVC_ALLOW_PLAIN_HTTP: '1', SVC_HOST: '0.0.0.0' } : {}),
    }
    const listening = new Promise((resolve) => {
      start('controller', ['controller'], env, (line) => {
        onLine(line)
        const url = /"url":"([^"]+)"/.exec(line)?.[1]
        if (url) resolve(url)
      })
    })
    const listened = await orElse(listening, 'starting the controller', 30)
    const base = network ? `http://127.0.0.1:${new URL(listened).port}` : listened
    say(`\ncontroller  ${base}`)
    if (network) for (const address of addresses()) say(`            http://${address}:${new URL(listened).port}`)
    say(`e-mail      ${email}\npassword    ${password}, until you choose another\n`)
    return { api: await signIn(base), base, password }
  }

  /** Enrolls the agent where that is still to do, and starts it; resolves to its node once it is online. */
  async function startAgent(api, base, onLine = () => {}) {
    const { nodeId, envFile } = await joinFleet(api, base)
    const args = ['agent', '--test-source', '--env-file', envFile, '--controller-url', base]
    // The allocator as in systemd/roomtone-agent.service: a denoiser's memory goes back to the system when it ends.
    const env = { MALLOC_MMAP_THRESHOLD_: '131072', SVC_AGENT_DIR: path.join(data, 'agent') }
    start('agent', args, env, onLine)
    const ready = (node) => node.status === 'online' && node.interfaces.length > 0
    const node = await orElse(until(api, `/nodes/${nodeId}`, ready), 'bringing the agent online', 60)
    const [device] = node.interfaces
    say(`agent       ${nodeId} is online with "${device.alias}" (${device.channelCount} channels)`)
    return node
  }

  /** Day 0, unless this data directory has been through it: enroll, mint a token, bootstrap the agent. */
  async function joinFleet(api, base) {
    const envFile = path.join(data, 'agent', 'recorder-agent.env')
    const text = fs.existsSync(envFile) ? fs.readFileSync(envFile, 'utf8') : ''
    const known = /^SVC_NODE_ID=(\S+)$/m.exec(text)?.[1]
    const { data: nodes } = await api.json('GET', '/nodes')
    const enrolled = nodes.some((node) => node.id === known)
    if (enrolled && /^SVC_CONTROLLER_TOKEN=\S/m.test(text)) return { nodeId: known, envFile }
    const nodeId = enrolled ? known : await enroll(api)
    fs.mkdirSync(path.dirname(envFile), { recursive: true, mode: 0o700 })
    fs.writeFileSync(envFile, `SVC_NODE_ID=${nodeId}\n`, { mode: 0o600 })
    await bootstrap(api, base, nodeId, envFile)
    return { nodeId, envFile }
  }

  async function bootstrap(api, base, nodeId, envFile) {
    const { data: minted } = await api.json('POST', `/nodes/${nodeId}/bootstrap-token`, {})
    const tokenFile = path.join(data, 'agent', 'bootstrap-token')
    const keys = path.join(data, 'agent', '.ssh', 'authorized_keys')
    const files = ['--bootstrap-env-file', envFile, '--bootstrap-authorized-keys', keys]
    fs.writeFileSync(tokenFile, minted.token, { mode: 0o600 })
    try {
      const args = ['agent', '--bootstrap', '--test-source', '--env-file', envFile, '--controller-url', base, ...files]
      const env = { ...process.env, SVC_BOOTSTRAP_TOKEN_FILE: tokenFile, SVC_AGENT_DIR: path.join(data, 'agent') }
      execFileSync(program, [...first, ...args], { env, cwd: path.join(data, 'agent'), stdio: 'pipe' })
    } finally {
      fs.rmSync(tokenFile)
    }
  }

  /** Runs `main`, says what went wrong, and stops everything that was started. */
  async function run(main) {
    try {
      await main()
    } catch (error) {
      if (!(error instanceof Interrupted)) {
        console.error(`\n${error.stderr ?? ''}${error.message}`)
        process.exitCode = 1
      }
    }
    await stopAll()
  }

  return { ended, orElse, restart, run, signInLink, startAgent, startController }
}

/** Of this machine in its networks, IPv4. */
const addresses = () =>
  Object.values(os.networkInterfaces())
    .flatMap((all) => all ?? [])
    .filter(({ family, internal }) => family === 'IPv4' && !internal)
    .map(({ address }) => address)

const tail = (file) => fs.readFileSync(file, 'utf8').trimEnd().split('\n').slice(-8).join('\n')

/** A password, made once and kept 0600: a second run finds it again. */
function secretIn(file) {
  if (!fs.existsSync(file)) fs.writeFileSync(file, `${randomBytes(15).toString('base64url')}\n`, { mode: 0o600 })
  return { file, password: fs.readFileSync(file, 'utf8').trim() }
}

/** A caller of the API: `(method, path, body)` gives the parsed answer; anything but 2xx throws. */
/** Of the API. A body of bytes goes as it is. */
export function client(base, token) {
  const call = async (method, route, body, headers = {}) => {
    const response = await fetch(`${base}/api/v1${route}`, {
      method,
      headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }), ...headers },
      body: body instanceof Uint8Array ? body : body && JSON.stringify(body),
    })
    if (response.ok) return response
    throw new Error(`${method} ${route} answered ${response.status}: ${await response.text()}`)
  }
  return { raw: call, json: async (...request) => (await call(...request)).json() }
}

async function enroll(api) {
  const hostname = os.hostname()
  const location = { site: 'Here', room: 'This machine' }
  const { data: enrolled } = await api.json('POST', '/nodes/enroll', { alias: hostname, hostname, location })
  return enrolled.node.id
}

/** Asks again every half second until `done` is content with the answer. */
async function until(api, route, done) {
  for (;;) {
    const { data: answer } = await api.json('GET', route)
    if (done(answer)) return answer
    await sleep(500)
  }
}

/** Starts a take of `seconds` and waits until the controller has it; `onStatus` hears how far it is. */
export async function record(api, request, onStatus = () => {}) {
  const { data: started, job } = await api.json('POST', '/recordings', request)
  let shown = ''
  const recording = await until(api, `/recordings/${started.id}`, ({ cached, status }) => {
    if (status !== shown) onStatus(status)
    shown = status
    return cached || status === 'failed'
  })
  if (recording.cached) return recording
  const { data: failed } = await api.json('GET', `/recording-jobs/${job.id}`)
  throw new Error(`the take failed (${failed.failureReason}): the log of the agent says more`)
}
