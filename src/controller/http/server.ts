import * as http from 'node:http'
import * as https from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { getRequestListener } from '@hono/node-server'
import { Fail } from '../../kernel/fail.ts'
import type { Log } from '../../kernel/log.ts'
import { faultWords } from '../../kernel/words.ts'
import type { Certificates } from './certificates.ts'

// A take of hours may arrive over a slow line: no limit on a whole request, only on its headers and on silence.
const LIMITS = { requestTimeout: 0, headersTimeout: 20_000, keepAliveTimeout: 65_000 }
const SILENCE_MS = 120_000
const HANDSHAKE_MS = 20_000
// Connections that wait to be accepted: a fleet comes back in the same second when the controller was restarted. The kernel
// caps it (net.core.somaxconn, 4096 since Linux 5.4); of Node's own 511 the rest is dropped, and later reset.
const BACKLOG = 4096
// Half a year: a browser that has been here does not try plain HTTP again.
const HSTS = 'max-age=15552000'
/** A log line about refused clients at most this often. */
const LOG_INTERVAL_MS = 60_000

interface Tls {
  certificates: Certificates
  /** Gets a line about refused clients. */
  log: Log
}

type Fetch = Parameters<typeof getRequestListener>[0]

/** The listening side: HTTP, or HTTPS with certificates, which may change while it listens. */
export class Server {
  private readonly server: http.Server | https.Server
  private readonly scheme: 'http' | 'https'

  constructor(app: { fetch: Fetch }, tls?: Tls) {
    const listener = getRequestListener(app.fetch)
    this.scheme = tls ? 'https' : 'http'
    this.server = tls ? secured(tls, listener) : http.createServer(LIMITS, listener)
    this.server.setTimeout(SILENCE_MS)
  }

  /** The port it listens on. */
  port(): number {
    return (this.server.address() as AddressInfo).port
  }

  /** Resolves with the base URL. @throws Fail when it cannot listen on the address. */
  listen(host: string, port: number): Promise<string> {
    return new Promise((resolve, reject) => {
      this.server.once('error', (e) =>
        reject(new Fail(503, 'cannot_listen', `Cannot listen: ${faultWords(e, `${host}:${port}`)}.`)),
      )
      this.server.listen({ backlog: BACKLOG, host, port }, () => resolve(this.url()))
    })
  }

  /** No new connection; requests under way get `graceMs` to finish. */
  async close(graceMs: number): Promise<void> {
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()))
    this.server.closeIdleConnections()
    const late = setTimeout(() => this.server.closeAllConnections(), graceMs)
    await closed
    clearTimeout(late)
  }

  private url(): string {
    const { address, family, port } = this.server.address() as AddressInfo
    const anywhere = address === '::' || address === '0.0.0.0'
    const host = anywhere ? 'localhost' : family === 'IPv6' ? `[${address}]` : address
    return `${this.scheme}://${host}:${port}`
  }
}

type Listener = ReturnType<typeof getRequestListener>

function secured({ certificates, log }: Tls, listener: Listener): https.Server {
  const { mode, served: shown } = certificates
  const clients = { rejectUnauthorized: mode === 'required', requestCert: mode !== 'off' }
  const options = { ...LIMITS, ...shown.options, ...clients, handshakeTimeout: HANDSHAKE_MS }
  const server = https.createServer(options, (request, response) => {
    response.setHeader('Strict-Transport-Security', HSTS)
    return listener(request, response)
  })
  // Open connections keep the context they began with.
  certificates.onChange((next) => server.setSecureContext(next.options))
  server.on('tlsClientError', logRefusals(log))
  server.on('secureConnection', (socket) => {
    const client = socket.authorized ? socket.getPeerX509Certificate() : undefined
    if (client) certificates.noteClient(client)
  })
  return server
}

/** Logs whose client certificate was refused: the client itself only sees its connection end. */
function logRefusals(log: Log): (e: Error, socket: TLSSocket) => void {
  let lastLoggedAt = Number.NEGATIVE_INFINITY
  return (e, socket) => {
    const { code } = e as NodeJS.ErrnoException
    const missing = code === 'ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE' ? 'no certificate was sent' : undefined
    const reason = missing ?? socket.authorizationError
    // Port scanners and broken connections are nobody's to look at.
    if (!reason || performance.now() - lastLoggedAt < LOG_INTERVAL_MS) return
    lastLoggedAt = performance.now()
    log.warn('client certificate refused', { address: socket.remoteAddress, reason: String(reason) })
  }
}
