import { errorFields } from './log.ts'
import { systemWords } from './words.ts'

type FailStatus =
  | 400
  | 401
  | 403
  | 404
  | 405
  | 408
  | 409
  | 410
  | 413
  | 415
  | 416
  | 422
  | 429
  | 500
  | 502
  | 503
  | 504
  | 507

interface FailExtra {
  /** Written beside the audit row of the failure, in its transaction. */
  also?: (now: string) => void
  /** Further facts for the audit row. */
  details?: Record<string, unknown>
  /** Validation issues in zod's shape; every 400 carries the key, even when the list is empty. */
  issues?: readonly unknown[]
  /** Further members of the error body, for example `busyChannels`. */
  body?: Record<string, unknown>
  headers?: Record<string, string>
  /** Audit outcome when it is not `failed`: naming an invisible id is a denial. */
  outcome?: 'denied'
}

/** The one error the HTTP layer answers with: what the caller may know. Anything else thrown is a bug (500). */
export class Fail extends Error {
  readonly status: FailStatus
  readonly reason: string
  readonly extra: FailExtra

  constructor(status: FailStatus, reason: string, message: string, extra: FailExtra = {}) {
    super(message)
    this.status = status
    this.reason = reason
    this.extra = extra
  }
}

/** 404 whose reason is derived from the thing's name: `Recording job` gives `recording_job_not_found`. */
export const notFound = (what: string): Fail =>
  new Fail(404, `${what.toLowerCase().replaceAll(' ', '_')}_not_found`, `${what} not found`)

/** 409: the request is well formed, the state does not allow it. */
export const conflict = (reason: string, message: string, body?: Record<string, unknown>): Fail =>
  new Fail(409, reason, message, body ? { body } : {})

/** 400 with one issue at `path`, in the shape zod gives its own. */
export const invalid = (
  message: string,
  path: readonly (string | number)[],
  why: string,
  reason = 'invalid_request',
): Fail => new Fail(400, reason, message, { issues: [{ code: 'custom', path, message: why }] })

/** Unwraps a lookup: the value, or 404 naming `what`. */
export function found<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw notFound(what)
  return value
}

const FAILED = 1
/** Exit code for wrong usage, or when the program cannot start with its settings. */
const MISUSED = 2

/** Ends a program with a message for the person who called it, without secrets, and an exit code. */
export class UserError extends Error {
  readonly exitCode: number

  constructor(message: string, exitCode: number = FAILED) {
    super(message)
    this.exitCode = exitCode
  }
}

/** The caller has to change an option, a setting or a file first. */
export const misuse = (message: string): UserError => new UserError(message, MISUSED)

/** Whether `parseArgs` refused the command line; its message says why. */
const isOptionError = (e: unknown): e is Error =>
  e instanceof TypeError && String((e as NodeJS.ErrnoException).code).startsWith('ERR_PARSE_ARGS')

/** What a person can do something about: bad input, the network, the disk, the database. Undefined for a bug. */
export function asUserError(e: unknown): UserError | undefined {
  if (e instanceof UserError) return e
  // What Node says after its first sentence is advice for whoever writes the program.
  if (isOptionError(e)) return misuse(`${e.message.split('. ')[0]}: see --help`)
  if (e instanceof Fail) return misuse(e.message)
  return systemWords(e) === undefined ? undefined : new UserError(errorFields(e).error)
}
