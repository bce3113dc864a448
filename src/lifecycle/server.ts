// POST /runs and GET /healthz (docs/contract/lifecycle.md: Runner). A client that disconnects ends the run.
import { createHash, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import * as http from 'node:http'
import type { AddressInfo } from 'node:net'
import { Fail } from '../kernel/fail.ts'
import { errorFields, type Log } from '../kernel/log.ts'
import { LIFECYCLE_ACTIONS, NDJSON, RUNNER_PATHS, type RunAnswer, RunRequest } from '../wire/lifecycle.ts'
import type { Tell } from './run.ts'

export type Perform = (run: RunRequest, tell: Tell, signal: AbortSignal) => Promise<RunAnswer['data']>

interface ServerParts {
  log: Log
  perform: Perform
  token: string
}

const MAX_BODY_BYTES = 64 * 1024
/** Bytes of output told on the way: a courtesy, the answer has its end anyway. */
const MAX_TOLD = 2 * 1024 * 1024
/** Pause between signs of life. */
const ALIVE_MS = 5000

export class RunnerServer {
  readonly #parts: ServerParts
  readonly #server: http.Server
  readonly #stopping = new AbortController()
  readonly #underWay = new Set<Promise<void>>()

  constructor(parts: ServerParts) {
    this.#parts = parts
    this.#server = http.createServer((request, response) => {
      const work = this.#handle(request, response).finally(() => this.#underWay.delete(work))
      this.#underWay.add(work)
    })
  }

  /** Resolves to the URL. Rejects when the address cannot be had. */
  async listen(host: string, port: number): Promise<string> {
    this.#server.listen(port, host)
    await once(this.#server, 'listening')
    const { address, family, port: given } = this.#server.address() as AddressInfo
    return `http://${family === 'IPv6' ? `[${address}]` : address}:${given}`
  }

  /** Aborts running actions; resolves when neither run nor connection is left. */
  async close(): Promise<void> {
    this.#stopping.abort()
    this.#server.close()
    await Promise.all(this.#underWay)
    this.#server.closeAllConnections()
  }

  async #handle(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    try {
      // "//" and the like are no addresses: nothing of ours is there.
      const path = URL.parse(request.url ?? '/', 'http://runner')?.pathname
      if (path === RUNNER_PATHS.health && request.method === 'GET') return answer(response, 200, { data: { ok: true } })
      if (path !== RUNNER_PATHS.runs) throw new Fail(404, 'not_found', '')
      if (request.method !== 'POST') throw new Fail(405, 'method_not_allowed', '')
      if (!isBearer(request.headers.authorization, this.#parts.token)) throw new Fail(401, 'unauthorized', '')
      await this.#run(runOf(await bodyOf(request)), request, response)
    } catch (e) {
      const { body, status } = this.#refusal(e)
      answer(response, status, body)
    }
  }

  async #run(run: RunRequest, request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const gone = new AbortController()
    response.once('close', () => gone.abort())
    const signal = AbortSignal.any([gone.signal, this.#stopping.signal])
    const live = request.headers.accept?.includes(NDJSON) ? new Live(response) : undefined
    const { log } = this.#parts
    const about = { action: run.action, nodeId: run.target.nodeId }
    log.info('run started', about)
    try {
      const data = await this.#parts.perform(run, (stream, text) => live?.tell({ output: { stream, text } }), signal)
      log.info('run ended', { ...about, exitCode: data.exitCode, runId: data.runId, targetHost: data.targetHost })
      if (live) live.end({ data })
      else answer(response, 200, { data })
    } catch (e) {
      if (!live) throw e
      live.end(this.#refusal(e).body)
    } finally {
      live?.stop()
    }
  }

  #refusal(e: unknown): { body: object; status: number } {
    const { log } = this.#parts
    // Refused before there was a run.
    if (e instanceof Fail && !e.message) return { body: { error: e.reason }, status: e.status }
    if (e instanceof Fail) {
      log.warn('run refused', { error: e.message, reason: e.reason })
      return { body: { error: e.reason, message: e.message }, status: e.status }
    }
    if (this.#stopping.signal.aborted) return { body: { error: 'runner_stopped' }, status: 503 }
    // The client has disconnected.
    if ((e as Error)?.name === 'AbortError') return { body: { error: 'run_given_up' }, status: 400 }
    log.error('internal error: a run failed; check the node before you try again. Please report this', errorFields(e))
    return { body: { error: 'internal_error' }, status: 500 }
  }
}

/** Lines of JSON while the run goes on: output as it comes, signs of life, at last the answer. */
class Live {
  readonly #alive: NodeJS.Timeout
  readonly #response: http.ServerResponse
  #told = 0

  constructor(response: http.ServerResponse) {
    this.#response = response
    response.writeHead(200, { 'cache-control': 'no-store', 'content-type': NDJSON })
    response.write('{}\n')
    this.#alive = setInterval(() => response.write('{}\n'), ALIVE_MS)
  }

  tell(line: object): void {
    const text = `${JSON.stringify(line)}\n`
    this.#told += Buffer.byteLength(text)
    if (this.#told <= MAX_TOLD) this.#response.write(text)
  }

  end(line: object): void {
    this.#response.end(`${JSON.stringify(line)}\n`)
  }

  stop(): void {
    clearInterval(this.#alive)
  }
}

function answer(response: http.ServerResponse, status: number, body: object): void {
  const headers = { 'cache-control': 'no-store', 'content-type': 'application/json' }
  // What is left of a request that was refused unread is not waited for.
  if (!response.req.complete) Object.assign(headers, { connection: 'close' })
  response.writeHead(status, headers).end(JSON.stringify(body))
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

function isBearer(header: string | undefined, token: string): boolean {
  const given = /^Bearer +(\S+)$/i.exec(header ?? '')?.[1]
  return given !== undefined && timingSafeEqual(digest(given), digest(token))
}

async function bodyOf(request: http.IncomingMessage): Promise<unknown> {
  let text = ''
  try {
    for await (const piece of request.setEncoding('utf8')) {
      text += piece
      if (text.length > MAX_BODY_BYTES) throw new Fail(413, 'payload_too_large', '')
    }
    return JSON.parse(text)
  } catch (e) {
    // A body that broke off or is no JSON: said to who asked, if that is still there.
    throw e instanceof Fail ? e : new Fail(400, 'invalid_json', '')
  }
}

/** @throws Fail 400 by the contract's names. */
function runOf(body: unknown): RunRequest {
  const result = RunRequest.safeParse(body)
  if (result.success) return result.data
  const { action, target } = (body ?? {}) as { action?: unknown; target?: { host?: unknown } | null }
  if (!LIFECYCLE_ACTIONS.some((known) => known === action)) throw new Fail(400, 'unsupported_lifecycle_action', '')
  if (typeof target?.host !== 'string') throw new Fail(400, 'target_host_required', '')
  throw new Fail(400, 'invalid_request', '')
}
