// The pairing code on a box: typed when asked for, and traded for a token before anything is set up.

import { createInterface } from 'node:readline'
import { misuse, UserError } from '../../kernel/fail.ts'
import { NoAnswer } from '../../kernel/http.ts'
import { pairingCodeOf } from '../../kernel/pairing.ts'
import { ask, type Controller } from './ask.ts'

const FLAG = '--pairing-code'
/** In place of a code: it is asked for, or read from standard input. */
const ASKED = '-'

/** Without a value the flag asks for the code. */
export const withAsked = (args: readonly string[]): string[] =>
  args.map((arg, at) => (arg === FLAG && (args[at + 1] ?? '--').startsWith('--') ? `${FLAG}=${ASKED}` : arg))

const TRIES = 3
const SHAPE = 'it has 8 letters and digits, like K7QM-3XPD'

/** The code as it was given or, for `-`, typed on the terminal or read from standard input. @throws UserError */
export async function givenCode(given: string): Promise<string> {
  if (given !== ASKED) return pairingCodeOf(given) ?? refuse(`${FLAG} is not a pairing code: ${SHAPE}`)
  const { isTTY } = process.stdin
  const lines = createInterface({ input: process.stdin })
  const say = (words: string) => process.stderr.write(words)
  try {
    const question = "Pairing code, from the recorder's page in the console: "
    if (isTTY) say(question)
    let left = isTTY ? TRIES : 1
    for await (const line of lines) {
      const code = pairingCodeOf(line)
      if (code !== undefined) return code
      if (--left === 0) break
      say(`This is not a pairing code: ${SHAPE}.\n${question}`)
    }
  } finally {
    lines.close()
  }
  return refuse(`no pairing code was given: ${SHAPE}`)
}

const refuse = (words: string): never => {
  throw misuse(words)
}

/** Why the controller gave nothing for a code, and what to do; `status`: of its answer. */
export function refusedCode(status: number | undefined): string | undefined {
  if (status === 401)
    return "the controller refused the pairing code: it is mistyped, has expired, or was already used. Get a new one on the recorder's page in the console."
  if (status === 404) return 'the controller knows no pairing codes: use a bootstrap token'
  if (status === 429)
    return 'too many pairing codes were tried: wait a minute and type it again, the code is still good'
  return undefined
}

interface PairedAs {
  nodeId: string
  token: string
}

/** Trades a code for a bootstrap token; the code is spent. @throws UserError; the signal's reason when aborted */
export async function pairBox(controller: Controller, code: string, signal: AbortSignal): Promise<PairedAs> {
  const answer = await ask(controller, { body: { code }, method: 'POST', path: '/nodes/pair', signal }).catch((e) => {
    throw e instanceof NoAnswer ? new UserError(e.message) : e
  })
  const words = refusedCode(answer.status)
  if (words) throw new UserError(words)
  return pairedIn(answer.text) ?? strange(controller.url, answer.status)
}

const strange = (url: string, status: number): never => {
  throw new UserError(`${url} does not look like a Roomtone controller (status ${status}): check the address`)
}

function pairedIn(text: string): PairedAs | undefined {
  try {
    const { nodeId, token } = JSON.parse(text).data
    return typeof nodeId === 'string' && typeof token === 'string' ? { nodeId, token } : undefined
  } catch {
    return undefined // a portal's page, or an error
  }
}
