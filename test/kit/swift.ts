// OpenStack Swift with its S3 interface: an object store that is not ours, on one machine and one directory. It reports no
// SHA-256, lists uploads in parts, and knows signed links.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import * as net from 'node:net'
import { userInfo } from 'node:os'
import * as path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { scratchDir } from './scratch.ts'

const PROGRAMS = '/usr/bin'
const KINDS = ['account', 'container', 'object'] as const
const STARTUP_MS = 60_000

export const NO_SWIFT = existsSync(path.join(PROGRAMS, 'swift-proxy-server'))
  ? false
  : 'swift is not installed: scripts/setup --tests'

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = net.createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as net.AddressInfo
      server.close(() => resolve(port))
    })
  })

/** A store with one user and no bucket; `close` leaves nothing running. */
export async function swiftServer() {
  const dir = scratchDir('roomtone-swift-')
  const [proxy = 0, cache = 0, ...ports] = await Promise.all([freePort(), freePort(), ...KINDS.map(freePort)])
  mkdirSync(path.join(dir, 'srv', 'd1'), { recursive: true })
  writeFileSync(
    path.join(dir, 'swift.conf'),
    '[swift-hash]\nswift_hash_path_prefix = a\nswift_hash_path_suffix = b\n[storage-policy:0]\nname = one\ndefault = yes\n',
  )
  const common = [
    'bind_ip = 127.0.0.1',
    'workers = 0',
    `swift_dir = ${dir}`,
    `user = ${userInfo().username}`,
    'log_address = /dev/null',
    'log_level = ERROR',
  ]
  const children: ChildProcess[] = []
  const begin = (kind: string, lines: string[]): void => {
    const conf = path.join(dir, `${kind}-server.conf`)
    writeFileSync(conf, `${lines.join('\n')}\n`)
    const env = { PATH: '/usr/bin:/bin:/usr/sbin:/sbin', HOME: dir, SWIFT_TEST_IN_PROCESS: '1' }
    children.push(
      spawn(path.join(PROGRAMS, `swift-${kind}-server`), [conf], { env, stdio: ['ignore', 'ignore', 'inherit'] }),
    )
  }
  for (const [i, kind] of KINDS.entries()) {
    const ring = path.join(dir, `${kind}.builder`)
    const build = (...args: string[]) => execFileSync(path.join(PROGRAMS, 'swift-ring-builder'), [ring, ...args])
    build('create', '4', '1', '0')
    build('add', `r1z1-127.0.0.1:${ports[i]}/d1`, '1')
    build('rebalance')
    begin(kind, [
      '[DEFAULT]',
      ...common,
      `bind_port = ${ports[i]}`,
      `devices = ${dir}/srv`,
      'mount_check = false',
      '[pipeline:main]',
      `pipeline = ${kind}-server`,
      `[app:${kind}-server]`,
      `use = egg:swift#${kind}`,
    ])
  }
  const memcached = ['-l', '127.0.0.1', '-p', String(cache), '-u', userInfo().username, '-m', '16']
  children.push(spawn('/usr/bin/memcached', memcached, { stdio: 'ignore' }))
  begin('proxy', [
    '[DEFAULT]',
    ...common,
    `bind_port = ${proxy}`,
    '[pipeline:main]',
    'pipeline = catch_errors gatekeeper cache listing_formats s3api tempauth bulk slo dlo proxy-server',
    '[app:proxy-server]',
    'use = egg:swift#proxy',
    'account_autocreate = true',
    ...['catch_errors', 'gatekeeper', 'listing_formats', 'bulk', 'slo', 'dlo'].flatMap((name) => [
      `[filter:${name}]`,
      `use = egg:swift#${name}`,
    ]),
    '[filter:cache]',
    'use = egg:swift#memcache',
    `memcache_servers = 127.0.0.1:${cache}`,
    '[filter:s3api]',
    'use = egg:swift#s3api',
    'location = us-east-1',
    '[filter:tempauth]',
    'use = egg:swift#tempauth',
    'user_test_tester = testing .admin',
  ])
  const until = Date.now() + STARTUP_MS
  for (const port of [cache, proxy, ...ports]) while (!(await answers(port)) && Date.now() < until) await sleep(100)
  return {
    accessKeyId: 'test:tester',
    close: async () => {
      const ended = children.map((child) => new Promise((resolve) => child.once('exit', resolve)))
      for (const child of children) child.kill('SIGTERM')
      await Promise.all(ended)
    },
    endpoint: `http://127.0.0.1:${proxy}`,
    secretAccessKey: 'testing',
  }
}

const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
