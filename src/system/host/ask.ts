// One request to the controller, one answer: for the setup of a box, by hand or by a stick, before its recorder has a link.

import * as http from 'node:http'
import * as https from 'node:https'
import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { UserError } from '../../kernel/fail.ts'
import { faultWords } from '../../kernel/words.ts'
import { secureContext, type Trust, tlsAdvice } from './trust.ts'

/** No answer: in words, without the token. */
export class NoAnswer extends UserError {}

export interface Controller extends Trust {
  allowInsecure: boolean
  /** How a person names the authority of the site here: an option, a setting. Default: --controller-ca. */
  caOption?: string
  url: string
}

interface Question {
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
export const ask = (controller: Controller, question: Question): Promise<Answer> =>
  told(controller, question, async () => await read(await response(controller, question)))

/**
 * Puts the content behind a path into `to`, in pieces; the text of the answer is then empty. An answer other than 200 is
 * returned as `ask` does, and nothing is written.
 * @throws NoAnswer; the signal's reason when aborted; what `to` throws
 */
export async function download(controller: Controller, question: Question, to: Writable): Promise<Answer> {
  const content = await told(controller, question, () => response(controller, question))
  if (content.statusCode !== 200) return await told(controller, question, () => read(content))
  await pipeline(content, to, { signal: question.signal })
  return { status: 200, text: '' }
}

async function told<T>(controller: Controller, question: Question, answer: () => Promise<T>): Promise<T> {
  try {
    return await answer()
  } catch (e) {
    question.signal.throwIfAborted()
    if (e instanceof UserError) throw new NoAnswer(`${controller.url} was not asked: ${e.message}`)
    throw new NoAnswer(
      `${controller.url} does not answer: ${tlsAdvice(e, controller.caOption) ?? faultWords(e, new URL(controller.url).host)}`,
    )
  }
}

function response(
  controller: Controller,
  { body, method, path, signal, token }: Question,
): Promise<http.IncomingMessage> {
  const address = new URL(`${controller.url}/api/v1${path}`)
  const text = body === undefined ? undefined : JSON.stringify(body)
  const headers = {
    ...(token ? { authorization: `Bearer ${token}` } : {}),
    ...(text ? { 'content-length': Buffer.byteLength(text), 'content-type': 'application/json' } : {}),
  }
  // A connection of its own: nothing stays open behind a program that ends.
  const options = { agent: agentFor(address, controller), headers, method, signal, timeout: SILENCE_MS }
  return new Promise((resolve, reject) => {
    const request = (address.protocol === 'https:' ? https : http).request(address, options)
    request.on('timeout', () => request.destroy(new Error(`silent for ${SILENCE_MS / 1000} s`)))
    request.on('error', reject)
    request.on('response', resolve)
    request.end(text)
  })
}

const agentFor = (address: URL, { allowInsecure, ...trust }: Controller): http.Agent =>
  address.protocol === 'https:'
    ? new https.Agent({ rejectUnauthorized: !allowInsecure, secureContext: secureContext(trust) })
    : new http.Agent()

/** What the controller's answer says about a token; it is looked at, never spent. @throws NoAnswer when it says nothing. */
export function tokenIsGood({ status }: Answer, url: string): boolean {
  if (status === 401) return false
  if (status === 429 || status >= 500) throw new NoAnswer(`${url} is busy (status ${status})`)
  return true
}

/** Whether the controller would take this bootstrap token. @throws NoAnswer; the signal's reason when aborted */
export async function wouldTake(
  controller: Controller,
  { nodeId, signal, token }: { nodeId: string; signal: AbortSignal; token: string },
): Promise<boolean> {
  const path = `/nodes/${encodeURIComponent(nodeId)}/bootstrap`
  return tokenIsGood(await ask(controller, { method: 'GET', path, signal, token }), controller.url)
}

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
