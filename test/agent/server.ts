// A small controller for the agent's tests: a real HTTP(S) server that notes what it was asked.
import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import * as http from 'node:http'
import * as https from 'node:https'
import type { AddressInfo } from 'node:net'
import * as os from 'node:os'
import * as path from 'node:path'
import type { TestContext } from 'node:test'

export interface Seen {
  body: Buffer
  headers: http.IncomingHttpHeaders
  method: string
  url: string
}

export type Handler = (seen: Seen, response: http.ServerResponse, request: http.IncomingMessage) => void

export interface TestServer {
  connections(): number
  close(): Promise<void>
  seen: Seen[]
  url: string
}

export const json = (response: http.ServerResponse, status: number, body: unknown): void => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

/** Answers an upload as a controller does: with the checksum of what it has by now, as the upload says it. */
export function stored(response: http.ServerResponse, { headers }: Seen): void {
  const [, base64 = ''] = /:(.+):/.exec(String(headers['content-digest'])) ?? []
  const checksum = `sha256:${Buffer.from(base64, 'base64').toString('hex')}`
  json(response, 201, { data: { file: { checksum } } })
}

export interface ServeOptions {
  host?: string
  tls?: { cert: string; key: string }
  /** The handler gets the request before its body was read. */
  early?: boolean
}

/** Listens on a free port until the test ends. */
export async function serve(t: TestContext, handler: Handler, options: ServeOptions = {}): Promise<TestServer> {
  const seen: Seen[] = []
  let connections = 0
  const listener: http.RequestListener = (request, response) => {
    const note: Seen = {
      body: Buffer.alloc(0),
      headers: request.headers,
      method: request.method ?? '',
      url: request.url ?? '',
    }
    if (options.early) {
      seen.push(note)
      handler(note, response, request)
      return
    }
    const chunks: Buffer[] = []
    request.on('error', () => undefined)
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      note.body = Buffer.concat(chunks)
      seen.push(note)
      handler(note, response, request)
    })
  }
  const server = options.tls ? https.createServer(options.tls, listener) : http.createServer(listener)
  server.on(options.tls ? 'secureConnection' : 'connection', () => connections++)
  server.on('connection', () => (options.tls ? connections++ : undefined))
  const host = options.host ?? '127.0.0.1'
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  const close = () =>
    new Promise<void>((resolve) => {
      server.closeAllConnections()
      server.close(() => resolve())
    })
  t.after(close)
  const { port } = server.address() as AddressInfo
  const scheme = options.tls ? 'https' : 'http'
  return { close, connections: () => connections, seen, url: `${scheme}://${host}:${port}` }
}

export function tempDir(t: TestContext): string {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'roomtone-test-'))
  // What was told to stop at once may still be writing its last file.
  t.after(() => fs.rmSync(dir, { force: true, maxRetries: 20, recursive: true, retryDelay: 50 }))
  return dir
}

/** A self-signed certificate for 127.0.0.1, made by openssl. */
export function selfSigned(dir: string): { cert: string; certFile: string; key: string } {
  const certFile = path.join(dir, 'cert.pem')
  const keyFile = path.join(dir, 'key.pem')
  const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1']
  const how = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  execFileSync('openssl', ['req', ...how, '-keyout', keyFile, '-out', certFile, ...subject], { stdio: 'ignore' })
  return { cert: fs.readFileSync(certFile, 'utf8'), certFile, key: fs.readFileSync(keyFile, 'utf8') }
}
