import { aheadOf } from '../time/format.rules.ts'

/** What a schema of the server says of a value: an issue of zod, as far as people are told of it. */
export interface Issue {
  code?: string
  divisor?: number
  expected?: string
  format?: string
  inclusive?: boolean
  keys?: string[]
  maximum?: number
  message: string
  minimum?: number
  origin?: string
  path: (number | string)[]
}

/** What the server refused, in its own words. */
export class ApiError extends Error {
  readonly issues: Issue[]
  readonly permission: string | undefined
  readonly reason: string | undefined
  readonly retryAfter: number
  readonly status: number

  constructor(status: number, body: Refusal, retryAfter: number) {
    super(body.message ?? body.error ?? `HTTP ${status}`)
    this.status = status
    this.reason = body.reason
    this.permission = body.permission
    this.issues = body.issues ?? []
    this.retryAfter = retryAfter
  }
}

interface Refusal {
  error?: string
  issues?: Issue[]
  message?: string
  permission?: string
  reason?: string
}

type Method = 'DELETE' | 'GET' | 'PATCH' | 'POST' | 'PUT'

export interface Api {
  /** The whole answer. @throws ApiError; TypeError when nothing answers */
  get<T>(path: string, signal?: AbortSignal): Promise<T>
  send<T>(method: Method, path: string, body?: unknown, headers?: Record<string, string>): Promise<T>
  /** Unix ms by the clock of the controller, as it last answered: that of a phone may be wrong. */
  now(): number
}

/** After this long an answer is not waited for, ms. A write may still be done. */
const DEADLINE_MS = { slow: 60_000, usual: 15_000 }
/** Writes that wait for other machines, or do something many times. */
const SLOW =
  /\/(bulk-|lifecycle-jobs|notification-channels\/|ssh-credential|switchers\/|upload-destinations\/|upload-runner\/)/
/** Reads that wait for a recorder. */
const ASKING = /\/doctor$/
const SIGNS_IN = ['/auth/login', '/auth/sign-in-link', '/auth/display-session', '/display']

/** `ended` is called when the session has ended: a 401 of anything but signing in. */
export function createApi(ended: () => void): Api {
  let ahead = 0

  async function ask<T>(path: string, init: RequestInit, signal?: AbortSignal): Promise<T> {
    const slow = (init.method === 'GET' ? ASKING : SLOW).test(path)
    const deadline = AbortSignal.timeout(slow ? DEADLINE_MS.slow : DEADLINE_MS.usual)
    const response = await fetch(`/api/v1${path}`, {
      ...init,
      credentials: 'same-origin',
      signal: signal ? AbortSignal.any([signal, deadline]) : deadline,
    })
    const date = response.headers.get('date')
    if (date !== null) ahead = aheadOf(date, Date.now())
    if (response.status === 204) return undefined as T
    const body = response.headers.get('content-type')?.includes('json') ? await response.json() : {}
    if (response.ok) return body as T
    if (response.status === 401 && !SIGNS_IN.includes(path)) ended()
    throw new ApiError(response.status, body as Refusal, Number(response.headers.get('retry-after') ?? 0))
  }
  return {
    get: (path, signal) => ask(path, { method: 'GET' }, signal),
    send: (method, path, body, headers = {}) =>
      ask(path, {
        body: body === undefined ? null : JSON.stringify(body),
        headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
        method,
      }),
    now: () => Date.now() + ahead,
  }
}
