import { aheadOf } from '../time/format.rules.ts'

/** What the server refused, in its own words. */
export class ApiError extends Error {
  readonly issues: { message: string; path: (number | string)[] }[]
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
  issues?: { message: string; path: (number | string)[] }[]
  message?: string
  permission?: string
  reason?: string
}

type Method = 'DELETE' | 'PATCH' | 'POST' | 'PUT'

export interface Api {
  /** The whole answer. @throws ApiError; TypeError when nothing answers */
  get<T>(path: string, signal?: AbortSignal): Promise<T>
  send<T>(method: Method, path: string, body?: unknown, headers?: Record<string, string>): Promise<T>
  /** Unix ms by the clock of the controller, as it last answered: that of a phone may be wrong. */
  now(): number
}

const DEADLINE_MS = 15_000
const SIGNS_IN = ['/auth/login', '/auth/sign-in-link', '/auth/display-session', '/display']

/** `ended` is called when the session has ended: a 401 of anything but signing in. */
export function createApi(ended: () => void): Api {
  let ahead = 0

  async function ask<T>(path: string, init: RequestInit, signal?: AbortSignal): Promise<T> {
    const deadline = AbortSignal.timeout(DEADLINE_MS)
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
