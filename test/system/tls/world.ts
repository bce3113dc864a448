// A site's certificates in a directory of their own, made by the code under test, and openssl to judge them.
import { execFile, execFileSync, spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import * as https from 'node:https'
import * as os from 'node:os'
import * as path from 'node:path'
import type { TestContext } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { hostOf } from '../../../src/system/tls/names.ts'
import { DAY_MS, initSite, makeClient, siteFiles } from '../../../src/system/tls/site.ts'
import { executable } from '../../kit/executable.ts'

export function tempDir(t: TestContext): string {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'roomtone-tls-'))
  t.after(() => fs.rmSync(dir, { force: true, recursive: true }))
  return dir
}

export interface Site extends ReturnType<typeof siteFiles> {
  /** Files of a client's certificate. */
  client(name: string, days?: number): { cert: string; key: string }
  dir: string
}

/** `now` is the day the site was made: a past one gives certificates that have expired. */
export function site(t: TestContext, { days = 397, hosts = ['roomtone.lan'], now = Date.now() } = {}): Site {
  const dir = path.join(tempDir(t), 'tls')
  initSite(
    dir,
    hosts.map((name) => hostOf(name) ?? assertNever(name)),
    [],
    days,
    now,
  )
  const client = (name: string, clientDays = 100) => {
    const { file } = makeClient(dir, name, clientDays, true, Date.now())
    return { cert: file, key: file.replace(/\.pem$/, '.key') }
  }
  return { ...siteFiles(dir), client, dir }
}

const assertNever = (name: string): never => {
  throw new Error(`${name} is no host`)
}

export const daysAgo = (days: number): number => Date.now() - days * DAY_MS

/** The judge: what openssl says, and whether it is content. */
export function openssl(...args: string[]): { ok: boolean; text: string } {
  const { status, stderr, stdout } = spawnSync('openssl', args, { encoding: 'utf8', input: '' })
  return { ok: status === 0, text: stdout + stderr }
}

/** What openssl's own client makes of a server in this process, whose loop has to go on meanwhile. */
export const clientSays = (url: string, ...args: string[]): Promise<string> =>
  new Promise((resolve) => {
    const all = ['s_client', '-connect', new URL(url).host, ...args]
    execFile('openssl', all, { timeout: 20_000 }, (_failed, stdout, stderr) => resolve(stdout + stderr)).stdin?.end()
  })

export const fingerprint = (file: string): string =>
  execFileSync('openssl', ['x509', '-noout', '-fingerprint', '-sha256', '-in', file], { encoding: 'utf8' })
    .trim()
    .replace(/^.*=/, '')

const program = await executable()

/** `roomtone ...`, to its end. */
export function roomtone(...args: string[]): { code: number | null; stderr: string; stdout: string } {
  const { status, stderr, stdout } = spawnSync(program, args, { encoding: 'utf8' })
  return { code: status, stderr, stdout }
}

export interface Got {
  body: string
  fingerprint: string
  headers: Record<string, unknown>
  status: number | undefined
}

/** One request on a connection of its own, or of `agent`'s. */
export const get = (url: string, options: https.RequestOptions): Promise<Got> =>
  new Promise((resolve, reject) => {
    const request = https.get(url, { agent: false, ...options }, (response) => {
      const { fingerprint256 } = (response.socket as TLSSocket).getPeerCertificate()
      let body = ''
      response.setEncoding('utf8').on('data', (text: string) => {
        body += text
      })
      response.once('error', reject)
      response.once('end', () =>
        resolve({ body, fingerprint: fingerprint256, headers: response.headers, status: response.statusCode }),
      )
    })
    request.once('error', reject)
  })
