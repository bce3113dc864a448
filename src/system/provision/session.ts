// An operator's session with the controller: login, answers, logout.

import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { UserError } from '../../kernel/fail.ts'
import type { Answer } from '../../kernel/http.ts'
import { ask } from '../host/ask.ts'
import type { Operator } from './config.ts'

/** Asks for a line on the terminal, without echo. @throws UserError without a terminal */
async function typed(question: string): Promise<string> {
  if (!process.stdin.isTTY)
    throw new UserError('There is no terminal to ask for the password: use --password-file (- is standard input).')
  const nowhere = new Writable({ write: (_, __, done) => done() })
  const line = createInterface({ input: process.stdin, output: nowhere, terminal: true })
  // Only now: before, the terminal would echo what is typed.
  process.stderr.write(question)
  try {
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    line.once('line', resolve).once('close', () => reject(new UserError('No password was given.')))
    return await promise
  } finally {
    line.close()
    process.stderr.write('\n')
  }
}

/** `data` of a successful answer. @throws UserError quoting the controller */
export function dataOf(what: string, { status, text }: Answer): unknown {
  const body = parsed(text)
  if (status < 300 && body?.data !== undefined) return body.data
  const issues = (body?.issues ?? []).map(({ message, path = [] }) => `${path.join('.')}: ${message}`)
  const words = [body?.error ?? 'its answer cannot be read', ...issues].join('; ').slice(0, 500)
  throw new UserError(`The controller refused the ${what} (status ${status}): ${words}`)
}

interface Body {
  data?: unknown
  error?: string
  issues?: { message: string; path?: (string | number)[] }[]
}

function parsed(text: string): Body | undefined {
  try {
    return JSON.parse(text) as Body
  } catch {
    return undefined // a proxy's error page
  }
}

/** Runs `work` with a session: the given one, or one of its own that it ends again. */
export async function withSession<T>(
  config: Operator,
  signal: AbortSignal,
  work: (token: string) => Promise<T>,
): Promise<T> {
  if (config.session !== undefined) return await work(config.session)
  const password = config.password ?? (await typed(`Password of ${config.email}: `))
  const body = { email: config.email, password }
  const login = await ask(config.controller, { body, method: 'POST', path: '/auth/login', signal })
  const { token } = dataOf('login', login) as { token: string }
  try {
    return await work(token)
  } finally {
    // A session that is not ended expires by itself.
    await ask(config.controller, { method: 'POST', path: '/auth/logout', signal, token }).catch(() => {})
  }
}
