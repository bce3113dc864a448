// The real program beside a controller that a test makes up.
import { type ChildProcess, spawn } from 'node:child_process'
import type { TestContext } from 'node:test'
import { executable } from '../kit/executable.ts'
import { type Handler, json, type Seen, tempDir } from './server.ts'

export const TOKEN = 'svc_node_secret'
const program = await executable()

interface Agent {
  child: ChildProcess
  dir: string
  ended: Promise<number | null>
  output: () => string
}

/** The real program with heartbeats every second, a test source and a directory of its own. */
export function agent(t: TestContext, url: string, args: string[] = [], env: Record<string, string> = {}): Agent {
  const dir = tempDir(t)
  const settings = {
    SVC_CONTROLLER_TOKEN: TOKEN,
    SVC_HEARTBEAT_SECONDS: '1',
    SVC_JOB_POLL_SECONDS: '1',
    SVC_NODE_ID: 'node_1',
    // The machine that runs this may be under any load.
    SVC_SYSTEM_HEALTH_ENABLED: 'false',
    SVC_TEST_SOURCE: '1',
  }
  const child = spawn(program, ['agent', ...args], {
    cwd: dir,
    env: { HOME: dir, PATH: process.env.PATH, SVC_CONTROLLER_URL: url, TMPDIR: dir, ...settings, ...env },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += chunk))
  t.after(() => child.kill('SIGKILL'))
  const ended = new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)))
  return { child, dir, ended, output: () => output }
}

const config = { data: { recordingCapacity: { maxConcurrentRecordings: 2 } } }

/** A controller that takes everything and has no job; `meet` sees each request first and may answer it. */
export function controller(meet: (seen: Seen, response: Parameters<Handler>[1]) => boolean = () => false): Handler {
  return (seen, response) => {
    if (meet(seen, response)) return
    // A long poll without a job: open until the agent or the test goes.
    if (seen.url.includes('claim-next-group')) return
    if (seen.url.endsWith('/config')) return json(response, 200, config)
    json(response, seen.url.endsWith('/health-events') ? 201 : 202, { data: {} })
  }
}

export const kind = (seen: Seen) => seen.url.replace('/api/v1/nodes/node_1/', '').replace(/\?.*/, '')
