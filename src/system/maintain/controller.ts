// What maintenance asks of the controller, with the node's own token: the files of a release. Nothing else is asked.

import * as fs from 'node:fs'
import * as http from 'node:http'
import * as https from 'node:https'
import { pipeline } from 'node:stream/promises'
import { UserError } from '../../kernel/fail.ts'
import { isLoopback } from '../../kernel/loopback.ts'
import { isOn } from '../../kernel/settings.ts'
import { faultWords } from '../../kernel/words.ts'
import { secureContext, tlsAdvice } from '../host/trust.ts'
import { maintenanceError } from './error.ts'

/** Longest silence of the controller: it may pack its own executable first. */
const SILENCE_MS = 120_000
const SMALL_BYTES = 1024 * 1024
/** Far more than any release: a disk is not filled by a mistake. */
const ARCHIVE_BYTES = 1024 * 1024 * 1024

type Settings = Record<string, string | undefined>

export interface Depot {
  /** A small file. @throws UserError */
  read(name: string): Promise<Buffer>
  /** Streams a file to `to`, which must not exist. @throws UserError */
  save(name: string, to: string): Promise<void>
}

/** @throws UserError when the settings do not say where the controller is, or its address or files may not be used */
export function depotOf(settings: Settings, token: string | undefined): Depot {
  const ask = asking(settings, token)
  return {
    read: async (name) => {
      const pieces: Buffer[] = []
      for await (const piece of counted(await ask(name), name, SMALL_BYTES)) pieces.push(piece)
      return Buffer.concat(pieces)
    },
    save: async (name, to) => {
      const answer = await ask(name)
      const file = fs.createWriteStream(to, { flags: 'wx', mode: 0o600 })
      await pipeline(counted(answer, name, ARCHIVE_BYTES), file).catch((e: Error) => {
        throw e instanceof UserError ? e : maintenanceError('failed', `${name} cannot be kept here: ${faultWords(e)}.`)
      })
    },
  }
}

/** Also refuses less than was announced: a broken connection is not the end of a file. */
async function* counted(answer: http.IncomingMessage, name: string, most: number): AsyncGenerator<Buffer> {
  let size = 0
  try {
    for await (const piece of answer as AsyncIterable<Buffer>) {
      size += piece.length
      if (size > most) throw maintenanceError('failed', `${name} is longer than ${most} bytes.`)
      yield piece
    }
  } catch (e) {
    if (e instanceof UserError) throw e
    throw maintenanceError('failed', `The download of ${name} broke off after ${size} bytes: ${faultWords(e)}.`)
  } finally {
    answer.destroy()
  }
}

function asking(settings: Settings, token: string | undefined): (name: string) => Promise<http.IncomingMessage> {
  const { SVC_CONTROLLER_URL: address, SVC_NODE_ID: node } = settings
  if (!token || !address || !node)
    throw maintenanceError(
      'failed',
      'This box has not joined a controller: its settings name no controller, node or token.',
    )
  const base = new URL(`${address.replace(/\/+$/, '')}/api/v1/nodes/${encodeURIComponent(node)}/agent-release/`)
  const options = { agent: agentFor(base, settings), headers: { authorization: `Bearer ${token}` } }
  return (name) =>
    new Promise((resolve, reject) => {
      const url = new URL(encodeURIComponent(name), base)
      const request = base.protocol === 'https:' ? https.get(url, options) : http.get(url, options)
      request.setTimeout(SILENCE_MS, () => request.destroy(new Error(`it was silent for ${SILENCE_MS / 1000} s`)))
      request.once('error', (e) => reject(maintenanceError('failed', noAnswer(base, e))))
      request.once('response', (answer) => {
        if (answer.statusCode === 200) return resolve(answer)
        answer.destroy()
        reject(maintenanceError('failed', refusal(name, answer.statusCode ?? 0)))
      })
    })
}

/** As the agent does it: https, or plain http to this machine only, unless the settings allow more (decision 25). */
function agentFor(base: URL, settings: Settings): http.Agent | https.Agent {
  const insecure = isOn(settings.SVC_ALLOW_INSECURE_CONTROLLER)
  if (base.protocol !== 'https:') {
    if (insecure || isLoopback(base.hostname)) return new http.Agent()
    throw maintenanceError(
      'failed',
      `Refusing plain http to ${base.host}: a program that runs as root must come by https.`,
    )
  }
  try {
    const trust = {
      caFile: settings.SVC_CONTROLLER_CA_CERT_PATH,
      clientCertFile: settings.SVC_CONTROLLER_CLIENT_CERT_PATH,
      clientKeyFile: settings.SVC_CONTROLLER_CLIENT_KEY_PATH,
    }
    return new https.Agent({ rejectUnauthorized: !insecure, secureContext: secureContext(trust) })
  } catch (e) {
    if (e instanceof UserError) throw maintenanceError('failed', `The controller cannot be asked: ${e.message}.`)
    throw e
  }
}

const noAnswer = ({ host }: URL, e: Error): string =>
  `No answer from ${host}: ${tlsAdvice(e, 'SVC_CONTROLLER_CA_CERT_PATH') ?? faultWords(e, host)}.`

function refusal(name: string, status: number): string {
  if (status === 401)
    return 'The controller does not accept the token of this node: install_dependencies gives it a new one.'
  if (status === 404)
    return `The controller has no ${name}: name a release it has, or put it into its release directory.`
  return `The controller answered ${status} for ${name}.`
}
