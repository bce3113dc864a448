// One POST to a receiver on the network: what may be called, for how long, and what its status means.
import { type Answer, counted, NoAnswer, send } from '../../../kernel/http.ts'
import { guardedLookup, mayCall, Refused } from './addresses.ts'
import { tlsFault } from './faults.ts'
import { type TransportBase, TransportError } from './transport.ts'

const WHOLE_MS = 10_000
/** What is read of an answer; nobody looks at it. */
const MAX_ANSWER_BYTES = 64 * 1024
/** Statuses below 500 after which another attempt may succeed. */
const TEMPORARY = [408, 425, 429]
const GONE = 410

interface Post {
  body: string
  headers: Record<string, string>
  /** http or https. */
  url: string
}

/** Resolves once the receiver has answered with 2xx; redirects are not followed. @throws TransportError */
export async function post(post: Post, base: TransportBase, signal: AbortSignal, wholeMs = WHOLE_MS): Promise<void> {
  const url = new URL(post.url)
  const { headers, status } = await answerOf(url, post, base, signal, wholeMs)
  if (status < 200 || status > 299) throw statusFault(url.host, status, headers.location)
}

async function answerOf(url: URL, { body, headers }: Post, base: TransportBase, signal: AbortSignal, wholeMs: number) {
  let answer: Omit<Answer, 'text'> | undefined
  try {
    mayCall(url, base)
    const question = {
      body,
      headers: { 'content-type': 'application/json', 'user-agent': 'roomtone', ...headers },
      lookup: guardedLookup(url, base),
      method: 'POST' as const,
      signal,
      timeoutMs: wholeMs,
      tls: { rejectUnauthorized: true, ...base.tls },
      url,
    }
    await send(question, async (response) => {
      answer = { headers: response.headers, status: response.statusCode ?? 0 }
      for await (const _ of counted(response, MAX_ANSWER_BYTES));
    })
  } catch (e) {
    // The status says it all: it does not matter how long the rest of an answer is, or whether it ever ends.
    if (answer === undefined) throw callFault(e, url.host)
  }
  return answer as Omit<Answer, 'text'>
}

function callFault(e: unknown, host: string): TransportError {
  if (e instanceof Refused) return new TransportError(e.message, { cause: e })
  // Node refuses to send what is no header or no address.
  if (!(e instanceof NoAnswer)) return new TransportError(`${host} could not be asked: check address and secret`)
  if (e.reason === 'aborted') return new TransportError(`the attempt was cancelled before ${host} answered`)
  const words = tlsFault(e.cause, host)
  if (words !== undefined) return new TransportError(words, { cause: e })
  return new TransportError(e.message.includes(host) ? e.message : `${host}: ${e.message}`, { cause: e })
}

/** @param location of a redirect. */
function statusFault(host: string, status: number, location: string | undefined): TransportError {
  const said = `${host} answered ${status}`
  if (status === GONE) return new TransportError(`${said}: it wants no more messages`, { gone: true })
  if (status >= 300 && status < 400)
    return new TransportError(`${said}, a redirect${aim(location)}, which is not followed: enter the final address`, {
      final: true,
    })
  if (status >= 500 || TEMPORARY.includes(status))
    return new TransportError(`${said}: it cannot take messages at the moment`)
  return new TransportError(`${said}: check the address and the secret of the channel`, { final: true })
}

/** Without path: an address of a receiver may be a secret. */
const aim = (location: string | undefined): string =>
  location !== undefined && URL.canParse(location) ? ` to ${new URL(location).host}` : ''
