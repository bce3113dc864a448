// One request to the controller, one answer: what a stick and its maker need, before there is a recorder that has a link.
import * as http from 'node:http'
import * as https from 'node:https'
import { secureContext, tlsAdvice } from '../host/trust.ts'

/** No answer: in words, without the token. */
export class NoAnswer extends Error {}

export interface Controller {
  allowInsecure: boolean
  /** PEM text of certificate authorities: the only ones to trust, where there are any. */
  ca?: string | undefined
  url: string
}

export interface Question {
  body?: unknown
  method: 'GET' | 'POST'
  /** Below the API's root. */
  path: string
  signal: AbortSignal
  token?: string | undefined
}

export interface Answer {
  status: number
  text: string
}

const MOST_BYTES = 1024 * 1024
const SILENCE_MS = 20_000

/** Whatever the controller answers. @throws NoAnswer; the signal's reason when aborted. */
export async function ask(controller: Controller, question: Question): Promise<Answer> {
  try {
    return await once(controller, question)
  } catch (e) {
    question.signal.throwIfAborted()
    throw new NoAnswer(`${controller.url} does not answer: ${tlsAdvice(e) ?? (e as Error).message}`)
  }
}

function once(
  { allowInsecure, ca, url }: Controller,
  { body, method, path, signal, token }: Question,
): Promise<Answer> {
  const address = new URL(`${url}/api/v1${path}`)
  const text = body === undefined ? undefined : JSON.stringify(body)
  const headers = {
    ...(token ? { authorization: `Bearer ${token}` } : {}),
    ...(text ? { 'content-length': Buffer.byteLength(text), 'content-type': 'application/json' } : {}),
  }
  // A connection of its own: nothing stays open behind a program that ends.
  const options = { agent: agentFor(address, allowInsecure, ca), headers, method, signal, timeout: SILENCE_MS }
  return new Promise((resolve, reject) => {
    const request = (address.protocol === 'https:' ? https : http).request(address, options)
    request.on('timeout', () => request.destroy(new Error(`silent for ${SILENCE_MS / 1000} s`)))
    request.on('error', reject)
    request.on('response', (response) => read(response).then(resolve, reject))
    request.end(text)
  })
}

const agentFor = (address: URL, allowInsecure: boolean, ca: string | undefined): http.Agent =>
  address.protocol === 'https:'
    ? new https.Agent({ rejectUnauthorized: !allowInsecure, secureContext: secureContext({ ca }) })
    : new http.Agent()

async function read(response: http.IncomingMessage): Promise<Answer> {
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of response as AsyncIterable<Buffer>) {
    size += piece.length
    // A download that was not asked for: what is read so far is enough to go by.
    if (size > MOST_BYTES) break
    pieces.push(piece)
  }
  return { status: response.statusCode ?? 0, text: Buffer.concat(pieces).toString('utf8') }
}
