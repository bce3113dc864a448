import * as http from 'node:http'
import * as https from 'node:https'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import type { Hono } from 'hono'
import { Fail } from '../../kernel/fail.ts'

// A take of hours may arrive over a slow line: no limit on a whole request, but on its headers and on silence.
const LIMITS = { requestTimeout: 0, headersTimeout: 20_000, keepAliveTimeout: 65_000 }
const SILENCE_MS = 120_000

/** The listening side: HTTP, or HTTPS with a certificate. */
export class Server {
  private readonly server: http.Server | https.Server
  private readonly scheme: 'http' | 'https'

  constructor(app: Hono, tls: { cert: string; key: string } | undefined) {
    const listener = getRequestListener(app.fetch)
    this.scheme = tls ? 'https' : 'http'
    this.server = tls ? https.createServer({ ...LIMITS, ...tls }, listener) : http.createServer(LIMITS, listener)
    this.server.setTimeout(SILENCE_MS)
  }

  /** Resolves with the base URL. @throws Fail when the address cannot be had. */
  listen(host: string, port: number): Promise<string> {
    return new Promise((resolve, reject) => {
      this.server.once('error', (e) =>
        reject(new Fail(503, 'cannot_listen', `Cannot listen on ${host}:${port}: ${e.message}.`)),
      )
      this.server.listen(port, host, () => resolve(this.url()))
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
