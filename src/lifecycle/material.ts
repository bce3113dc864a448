// SSH keys of nodes, from the controller over HTTP or from its own store.
import { Fail } from '../kernel/fail.ts'
import { type Answer, ask, jsonOf, NoAnswer, type Question } from '../kernel/http.ts'
import { isLoopback } from '../kernel/loopback.ts'
import { type Trust, tlsAdvice, tlsOptions } from '../system/host/trust.ts'
import { Material } from '../wire/lifecycle.ts'

export interface MaterialSource {
  /**
   * Undefined when there is nothing to ask, or the node has no managed key: only then another key may be used.
   * @throws Fail for everything else.
   */
  fetch(nodeId: string, mint: boolean, signal: AbortSignal): Promise<Material | undefined>
}

/** There is a key, but it could not be fetched. */
export const materialFail = (what: string | number, message: string): Fail =>
  new Fail(400, `controller_ssh_fetch_${what}`, message)

export interface ControllerAccess {
  allowInsecure: boolean
  token: string | undefined
  trust: Trust
  url: string | undefined
}

const TIMEOUT_MS = 20_000
const MAX_BYTES = 256 * 1024

/** Asks the controller. Without its address or the token nobody is asked. @throws UserError for unusable certificates. */
export function controllerMaterial({ allowInsecure, token, trust, url }: ControllerAccess): MaterialSource {
  if (url === undefined || token === undefined) return { fetch: async () => undefined }
  const tls = tlsOptions(trust, allowInsecure)
  const headers = { authorization: `Bearer ${token}` }
  return {
    async fetch(nodeId, mint, signal) {
      const route = `/api/v1/nodes/${encodeURIComponent(nodeId)}/ssh-credential/material?mintToken=${mint ? 1 : 0}`
      const address = guarded(new URL(`${url}${route}`), allowInsecure)
      const { status, text } = await answerOf({ headers, method: 'GET', tls, url: address }, signal)
      if (status === 404) return undefined
      if (status !== 200) throw materialFail(status, refusal(status, text))
      return materialOf(text)
    },
  }
}

function refusal(status: number, text: string): string {
  const words = (jsonOf(text) as { error?: unknown } | null | undefined)?.error
  return `The controller refused the key (status ${status})${typeof words === 'string' ? `: ${words.slice(0, 300)}` : ''}.`
}

function guarded(url: URL, allowInsecure: boolean): URL {
  if (url.protocol === 'https:' || allowInsecure || isLoopback(url.hostname)) return url
  const words = `Refusing to fetch private keys over plain http from ${url.host}: use https, or SVC_RUNNER_ALLOW_INSECURE.`
  throw materialFail('insecure', words)
}

function materialOf(text: string): Material | undefined {
  const data = (jsonOf(text) as { data?: { privateKey?: unknown } | null } | undefined)?.data
  if (data?.privateKey === '') return undefined
  const found = Material.safeParse(data)
  if (found.success) return found.data
  throw materialFail('invalid_answer', 'The controller did not answer with a key.')
}

/** @throws Fail when no whole answer came; the signal's reason when aborted */
async function answerOf(question: Question, signal: AbortSignal): Promise<Answer> {
  try {
    return await ask({ ...question, maxBytes: MAX_BYTES, signal, timeoutMs: TIMEOUT_MS })
  } catch (e) {
    signal.throwIfAborted()
    if (!(e instanceof NoAnswer)) throw e
    if (e.reason === 'timeout')
      throw materialFail('timeout', `The controller did not answer within ${TIMEOUT_MS / 1000} s.`)
    throw materialFail(
      'unreachable',
      `The controller cannot be reached: ${tlsAdvice(e.cause, 'SVC_RUNNER_CONTROLLER_CA') ?? e.message}.`,
    )
  }
}
