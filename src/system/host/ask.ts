// Single requests to the controller, for setup programs that run before the agent has a link.

import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { UserError } from '../../kernel/fail.ts'
import * as http from '../../kernel/http.ts'
import { type Trust, tlsAdvice, tlsOptions } from './trust.ts'

export interface Controller extends Trust {
  allowInsecure: boolean
  /** The option or setting that names the site's authority, for messages. Default: --controller-ca. */
  caOption?: string
  url: string
}

interface Question {
  body?: unknown
  method: 'GET' | 'POST'
  /** Relative to /api/v1. */
  path: string
  signal: AbortSignal
  token?: string | undefined
}

const MAX_ANSWER_BYTES = 1024 * 1024
const SILENCE_MS = 20_000

/** Resolves with any answer. @throws NoAnswer; the signal's reason when aborted */
export const ask = (controller: Controller, question: Question): Promise<http.Answer> =>
  asking(controller, question, (response) => http.whole(response, MAX_ANSWER_BYTES))

/**
 * Streams the content of a path into `to`; the text of the answer is then empty. An answer other than 200 is returned as by
 * `ask`, and nothing is written.
 * @throws NoAnswer; the signal's reason when aborted
 */
export const download = (controller: Controller, question: Question, to: Writable): Promise<http.Answer> =>
  asking(controller, question, async (response) => {
    if (response.statusCode !== 200) return await http.whole(response, MAX_ANSWER_BYTES)
    await pipeline(http.counted(response, Number.POSITIVE_INFINITY), to, { signal: question.signal })
    return { headers: response.headers, status: 200, text: '' }
  })

async function asking(
  { allowInsecure, caOption, url, ...trust }: Controller,
  { body, method, path, signal, token }: Question,
  take: Parameters<typeof http.send<http.Answer>>[1],
): Promise<http.Answer> {
  const address = new URL(`${url}/api/v1${path}`)
  const text = body === undefined ? undefined : JSON.stringify(body)
  const headers = {
    ...(token ? { authorization: `Bearer ${token}` } : {}),
    ...(text ? { 'content-length': Buffer.byteLength(text), 'content-type': 'application/json' } : {}),
  }
  try {
    const tls = address.protocol === 'https:' ? tlsOptions(trust, allowInsecure) : {}
    return await http.send({ body: text, headers, method, signal, silenceMs: SILENCE_MS, tls, url: address }, take)
  } catch (e) {
    signal.throwIfAborted()
    if (e instanceof http.NoAnswer)
      throw new http.NoAnswer(`${url} does not answer: ${tlsAdvice(e.cause, caOption) ?? e.message}`, e.reason, e.cause)
    throw e instanceof UserError ? new http.NoAnswer(`${url} could not be asked: ${e.message}`) : e
  }
}

/** Whether an answer says that the token is valid. @throws NoAnswer when it says nothing about it */
export function tokenIsGood({ status }: Pick<http.Answer, 'status'>, url: string): boolean {
  if (status === 401) return false
  if (status === 429 || status >= 500) throw new http.NoAnswer(`${url} is busy (status ${status})`)
  return true
}

/** Whether the controller would accept this bootstrap token, without using it. @throws NoAnswer; the signal's reason when
 * aborted */
export async function wouldTake(
  controller: Controller,
  { nodeId, signal, token }: { nodeId: string; signal: AbortSignal; token: string },
): Promise<boolean> {
  const path = `/nodes/${encodeURIComponent(nodeId)}/bootstrap`
  return tokenIsGood(await ask(controller, { method: 'GET', path, signal, token }), controller.url)
}
