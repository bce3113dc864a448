// One controller and one agent on this machine, over the real API, up to a take that plays back. Called by scripts/run.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'

const { values: options } = parseArgs({
  options: {
    data: { type: 'string', default: 'data' },
    port: { type: 'string', default: '8787' },
    seconds: { type: 'string', default: '10' },
    once: { type: 'boolean', default: false },
  },
})
const roomtone = path.join(import.meta.dirname, '..', 'dist', 'roomtone')
const data = path.resolve(options.data)
const email = 'admin@roomtone.local'
const say = (...words) => console.log(...words)

/** Programs we started, in order; stopped in reverse. */
const running = []
class Interrupted extends Error {}
const interrupted = new Promise((_, reject) => {
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => reject(new Interrupted()))
})
interrupted.catch(() => {}) // raced against below

/**
 * Starts a program, keeps its log and shows each line to `onLine`. In its own process group, so that Ctrl-C reaches it
 * through `stopAll`, once and in order.
 */
function start(name, args, env, onLine = () => {}) {
  const file = path.join(data, `${name}.log`)
  const cwd = path.join(data, name)
  fs.mkdirSync(cwd, { recursive: true, mode: 0o700 })
  const log = fs.openSync(file, 'a', 0o600)
  const stdio = ['ignore', 'pipe', 'pipe']
  const child = spawn(roomtone, args, { cwd, detached: true, env: { ...process.env, ...env }, stdio })
  for (const input of [child.stdout, child.stderr])
    createInterface({ input }).on('line', (line) => {
      fs.writeSync(log, `${line}\n`)
      onLine(line)
    })
  const exited = once(child, 'close')
  const failed = exited.then(([code, signal]) => {
    throw new Error(`${name} ended with ${signal ?? `code ${code}`}; its log is ${file}:\n${tail(file)}`)
  })
  failed.catch(() => {}) // awaited where it matters; a clean stop ends here too
  running.push({ child, exited, failed })
}

const tail = (file) => fs.readFileSync(file, 'utf8').trimEnd().split('\n').slice(-8).join('\n')

async function stopAll() {
  for (const { child, exited } of running.reverse()) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    child.kill('SIGTERM')
    const timer = setTimeout(() => child.kill('SIGKILL'), 35_000)
    await exited
    clearTimeout(timer)
  }
}

/** `promise`, unless a program dies, someone interrupts or `seconds` pass first. */
async function orElse(promise, what, seconds) {
  const timer = new AbortController()
  const late = sleep(seconds * 1000, undefined, { signal: timer.signal }).then(() => {
    throw new Error(`${what} took more than ${seconds} s`)
  })
  late.catch(() => {}) // aborted below
  try {
    return await Promise.race([promise, late, interrupted, ...running.map((program) => program.failed)])
  } finally {
    timer.abort()
  }
}

/** The admin's password, made once and kept 0600: a second run finds it again. */
function adminPassword() {
  const file = path.join(data, 'admin-password')
  if (!fs.existsSync(file)) fs.writeFileSync(file, `${randomBytes(15).toString('base64url')}\n`, { mode: 0o600 })
  return { file, password: fs.readFileSync(file, 'utf8').trim() }
}

/** Starts the controller; resolves to the address it listens on. */
function startController(passwordFile) {
  const env = {
    SVC_DATA_DIR: path.join(data, 'controller'),
    SVC_PORT: options.port,
    SVC_LOCAL_ADMIN_EMAIL: email,
    SVC_LOCAL_ADMIN_PASSWORD_FILE: passwordFile,
  }
  return new Promise((resolve) => {
    start('controller', ['controller'], env, (line) => {
      const url = /"url":"([^"]+)"/.exec(line)?.[1]
      if (url) resolve(url)
    })
  })
}

/** A caller of the API: `(method, path, body)` gives the parsed answer; anything but 2xx throws. */
function client(base, token) {
  const call = async (method, route, body) => {
    const response = await fetch(`${base}/api/v1${route}`, {
      method,
      headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
      body: body && JSON.stringify(body),
    })
    if (response.ok) return response
    throw new Error(`${method} ${route} answered ${response.status}: ${await response.text()}`)
  }
  return { raw: call, json: async (...request) => (await call(...request)).json() }
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

async function enroll(api) {
  const hostname = os.hostname()
  const location = { site: 'Here', room: 'This machine' }
  const { data: enrolled } = await api.json('POST', '/nodes/enroll', { alias: hostname, hostname, location })
  return enrolled.node.id
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
    execFileSync(roomtone, args, { env, cwd: path.join(data, 'agent'), stdio: 'pipe' })
  } finally {
    fs.rmSync(tokenFile)
  }
}

/** Asks again every half second until `done` is content with the answer. */
async function until(api, route, done) {
  for (;;) {
    const { data: answer } = await api.json('GET', route)
    if (done(answer)) return answer
    await sleep(500)
  }
}

async function record(api, nodeId, device, seconds) {
  const request = { nodeId, captureInterfaceId: device.id, durationSeconds: seconds }
  const { data: started, job } = await api.json('POST', '/recordings', request)
  let shown = ''
  const recording = await until(api, `/recordings/${started.id}`, ({ cached, status }) => {
    if (status !== shown) say(`  ${status}`)
    shown = status
    return cached || status === 'failed'
  })
  if (recording.cached) return recording
  const { data: failed } = await api.json('GET', `/recording-jobs/${job.id}`)
  throw new Error(`the take failed (${failed.failureReason}); the agent's log is ${data}/agent.log`)
}

async function download(api, recording) {
  const response = await api.raw('GET', `/recordings/${recording.id}/file`)
  const ending = { 'audio/mpeg': 'mp3', 'audio/flac': 'flac', 'audio/wav': 'wav' }[response.headers.get('content-type')]
  const file = path.join(data, 'takes', `${recording.id}.${ending}`)
  fs.mkdirSync(path.dirname(file), { recursive: true })
  await pipeline(Readable.fromWeb(response.body), fs.createWriteStream(file))
  return file
}

function describe(file) {
  const probe = ['-v', 'error', '-show_entries', 'format=duration', '-of', 'csv=p=0', file]
  const length = Number(execFileSync('ffprobe', probe, { encoding: 'utf8' })).toFixed(2)
  const listen = ['-nostdin', '-hide_banner', '-i', file, '-af', 'volumedetect', '-f', 'null', '-']
  const { stderr } = spawnSync('ffmpeg', listen, { encoding: 'utf8' })
  const level = (name) => new RegExp(`${name}: (\\S+)`).exec(stderr)?.[1] ?? 'unknown'
  return `${length} s, mean ${level('mean_volume')} dBFS, peak ${level('max_volume')} dBFS`
}

async function main() {
  fs.mkdirSync(data, { recursive: true, mode: 0o700 })
  const { file: passwordFile, password } = adminPassword()
  const base = await orElse(startController(passwordFile), 'starting the controller', 30)
  say(`\ncontroller  ${base}\ne-mail      ${email}\npassword    ${password}\n`)

  const login = await client(base).json('POST', '/auth/login', { email, password })
  const api = client(base, login.data.token)
  const { nodeId, envFile } = await joinFleet(api, base)
  const agentArgs = ['agent', '--test-source', '--env-file', envFile, '--controller-url', base]
  // The allocator as in systemd/roomtone-agent.service: a denoiser's memory goes back to the system when it ends.
  start('agent', agentArgs, { MALLOC_MMAP_THRESHOLD_: '131072', SVC_AGENT_DIR: path.join(data, 'agent') })
  const ready = (node) => node.status === 'online' && node.interfaces.length > 0
  const node = await orElse(until(api, `/nodes/${nodeId}`, ready), 'bringing the agent online', 60)
  const device = node.interfaces[0]
  say(`agent       ${nodeId} is online with "${device.alias}" (${device.channelCount} channels)`)

  const seconds = Number(options.seconds)
  say(`\nrecording ${seconds} s`)
  const recording = await orElse(record(api, nodeId, device, seconds), 'recording', seconds + 120)
  const take = await download(api, recording)
  say(`\ntake        ${take}\n            ${describe(take)}`)
  if (options.once) return
  say('\nController and agent keep running: Ctrl-C stops both.')
  await Promise.race([interrupted, ...running.map((program) => program.failed)])
}

try {
  await main()
} catch (error) {
  if (!(error instanceof Interrupted)) {
    console.error(`\n${error.stderr ?? ''}${error.message}`)
    process.exitCode = 1
  }
}
await stopAll()
