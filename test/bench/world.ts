// A controller with a fleet in it, made over the API as a user would.
import * as fs from 'node:fs'
import * as path from 'node:path'
import { listening, type Running } from './programs.ts'

export interface Place {
  /** The built executable, a copy: a build under way does not take it from us. */
  roomtone: string
  /** Whether a core is kept busy with nothing while a capture is measured. */
  busy: boolean
  /** Scratch directory on the disk that is measured. */
  dir: string
  /** Of audio, where memory must not grow with it. */
  hours: number
  /** Length of a measured capture. */
  minutes: number
}

export interface Fleet {
  controller: Running
  data: string
  call: Call
  token: string
}

export interface Enrolled {
  id: string
  token: string
}

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into, not typed
type Call = (method: string, route: string, body?: unknown, token?: string) => Promise<any>

export const ADMIN = { email: 'admin@roomtone.local', password: 'bench-password-0123' }

/** Starts a controller on a fresh data directory (or one that is there) and logs its admin in. */
export async function fleet(
  { dir, roomtone }: Place,
  core?: number,
  data = fs.mkdtempSync(path.join(dir, 'data-')),
  more: Record<string, string> = {},
): Promise<Fleet> {
  // One person asks here for thousands of things a second.
  const unpaced = { SVC_USER_REQUESTS_PER_MINUTE: '10000000' }
  const env = {
    ...{ SVC_DATA_DIR: data, SVC_PORT: '0', SVC_LOCAL_ADMIN_PASSWORD: ADMIN.password },
    ...unpaced,
    ...more,
  }
  const pinned = core === undefined ? {} : { core }
  const controller = await listening({ args: ['controller'], env, program: roomtone, ...pinned }, data)
  const { data: session } = await call(controller.url)('POST', '/auth/login', ADMIN)
  const token = session.token as string
  return { controller, data, token, call: call(controller.url, token) }
}

const call =
  (url: string, own?: string): Call =>
  async (method, route, body, token = own) => {
    const response = await fetch(`${url}/api/v1${route}`, {
      method,
      headers: { 'content-type': 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) },
      body: body === undefined ? null : JSON.stringify(body),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${route} answered ${response.status}: ${text}`)
    return text ? JSON.parse(text) : undefined
  }

/** Enrolls nodes with one interface each, a stereo one unless told otherwise. */
export async function enroll({ call }: Fleet, count: number, channels = 2): Promise<Enrolled[]> {
  const nodes: Enrolled[] = Array(count)
  await inLanes(nodes.keys(), async (n) => {
    const { data } = await call('POST', '/nodes/enroll', enrollment(n + 1, channels))
    nodes[n] = { id: data.node.id, token: data.credential.token }
  })
  return nodes
}

const LANES = 16

/** The work for each of them, some at once: they share the sync of the disk. */
export async function inLanes<T>(these: Iterator<T> & Iterable<T>, work: (one: T) => Promise<void>): Promise<void> {
  const lane = async (): Promise<void> => {
    for (const one of these) await work(one)
  }
  await Promise.all(Array.from({ length: LANES }, lane))
}

const channelName = (i: number): string => ['Left', 'Right'][i] ?? `Input ${i + 1}`

const enrollment = (n: number, channelCount: number) => ({
  alias: `Recorder ${String(n).padStart(3, '0')}`,
  hostname: `recorder-${n}`,
  location: { site: 'Main building', room: `Room ${n}` },
  ipAddresses: [`10.20.${n >> 8}.${n & 255}`],
  interfaces: [
    {
      alias: 'Scarlett 2i2 USB',
      backend: 'alsa',
      channelCount,
      channels: Array.from({ length: channelCount }, (_, i) => ({ alias: channelName(i), index: i + 1 })),
      hardwarePath: '/sys/devices/pci0000:00/0000:00:14.0/usb1/1-2/1-2:1.0/sound/card1',
      sampleRates: [44_100, 48_000, 96_000],
      serialNumber: `Y8QK${n}`,
      systemName: 'USB (Scarlett 2i2 USB)',
      systemRef: 'hw:CARD=USB,DEV=0',
    },
  ],
})

/** What an agent on Debian says of itself every five seconds. */
export const beatOf = (n: number): string =>
  JSON.stringify({
    agentVersion: '0.1.0',
    hostname: `recorder-${n}`,
    ipAddresses: [`10.20.${n >> 8}.${n & 255}`, `fd00:20::${n.toString(16)}`],
    runtime: {
      architecture: 'x86_64',
      audioBackends: ['alsa'],
      kernelRelease: '6.1.0-18-amd64',
      osName: 'Debian GNU/Linux 12 (bookworm)',
      uptimeSeconds: 86_400 + n,
    },
    status: 'online',
  })
