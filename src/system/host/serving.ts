// Which of the two boxes of a controller is the controller now (docs/standby.md).
import * as http from '../../kernel/http.ts'

interface Asking {
  signal: AbortSignal
  /** The header in which each box tells its term. */
  termHeader: string
  tls: NonNullable<http.Question['tls']>
}

const PATIENCE_MS = 5000
const MAX_BYTES = 64 * 1024

/** What a box says of itself. */
export interface BoxAnswer extends http.Answer {
  /** The change of hands that it knows; 0 where there is no pair. */
  term: number
}

/** What a box answers to a path, in short time. @throws NoAnswer */
export async function askBox(url: string, path: string, { signal, termHeader, tls }: Asking): Promise<BoxAnswer> {
  const address = new URL(`${url.replace(/\/+$/, '')}${path}`)
  const patience = { connectMs: PATIENCE_MS, maxBytes: MAX_BYTES, timeoutMs: PATIENCE_MS }
  const headers = { accept: 'application/json' }
  const secure = address.protocol === 'https:' ? { tls } : {}
  const answer = await http.ask({ ...patience, ...secure, headers, method: 'GET', signal, url: address })
  const term = Number(answer.headers[termHeader])
  return { ...answer, term: Number.isSafeInteger(term) && term > 0 ? term : 0 }
}

/**
 * The address to use: of two that answer as the controller the one with the higher term, as recorders choose; the first where
 * none does. A single one is not asked. @throws the signal's reason when aborted
 */
export async function servingOf(urls: readonly [string, ...string[]], options: Asking): Promise<string> {
  const [first] = urls
  if (urls.length === 1) return first
  const asked = await Promise.all(
    urls.map(async (url) => {
      const { status, term } = await askBox(url, '/readyz', options).catch(() => ({ status: 0, term: 0 }))
      return { serves: status === 200, term, url }
    }),
  )
  options.signal.throwIfAborted()
  const [best] = asked.filter(({ serves }) => serves).sort((a, b) => b.term - a.term)
  return best?.url ?? first
}
