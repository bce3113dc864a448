// Fetches the files of a release from the controller, with the node's own token. Of two boxes from the one that is it now.

import * as fs from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { UserError } from '../../kernel/fail.ts'
import { counted, NoAnswer, send } from '../../kernel/http.ts'
import { isLoopback } from '../../kernel/loopback.ts'
import { isOn } from '../../kernel/settings.ts'
import { faultWords } from '../../kernel/words.ts'
import { HEADERS } from '../../wire/headers.ts'
import { servingOf } from '../host/serving.ts'
import { tlsAdvice, tlsOptions } from '../host/trust.ts'
import { maintenanceError } from './error.ts'

/** The controller may pack its own executable first. */
const SILENCE_MS = 120_000
/** To find out which of two boxes is the controller. */
const CHOICE_MS = 10_000
const SMALL_BYTES = 1024 * 1024
/** Far more than any release, to keep a mistake from filling the disk. */
const ARCHIVE_BYTES = 1024 * 1024 * 1024

type Settings = Record<string, string | undefined>

export interface Depot {
  /** A small file. @throws UserError */
  read(name: string): Promise<Buffer>
  /** Streams a file to `to`, which must not exist. @throws UserError */
  save(name: string, to: string): Promise<void>
}

/** @throws UserError when the settings name no controller, or its address or CA files may not be used */
export function depotOf(settings: Settings, token: string | undefined): Depot {
  const { SVC_CONTROLLER_URL: address, SVC_NODE_ID: node } = settings
  if (!token || !address || !node)
    throw maintenanceError(
      'failed',
      'This box has not joined a controller: its settings name no controller, node or token.',
    )
  const { SVC_CONTROLLER_STANDBY_URL: standby } = settings
  const boxes: [string, ...string[]] = [address, ...(standby ? [standby] : [])]
  const question = { headers: { authorization: `Bearer ${token}` }, method: 'GET', silenceMs: SILENCE_MS } as const
  const [tls] = boxes.map((url) => trusted(baseOf(url, node), settings))
  let serving: Promise<string> | undefined
  const chosen = async (): Promise<URL> => {
    serving ??= servingOf(boxes, {
      ...{ signal: AbortSignal.timeout(CHOICE_MS), termHeader: HEADERS.term, tls: tls ?? {} },
    })
    return baseOf(await serving, node)
  }
  const get = async <T>(name: string, take: (response: IncomingMessage) => Promise<T>): Promise<T> => {
    const base = await chosen()
    return await send({ ...question, tls, url: new URL(encodeURIComponent(name), base) }, async (response) => {
      if (response.statusCode !== 200) throw maintenanceError('failed', refusal(name, response.statusCode ?? 0))
      return await take(response)
    }).catch((e) => {
      throw e instanceof NoAnswer ? maintenanceError('failed', noAnswer(name, base, e)) : e
    })
  }
  return {
    read: (name) =>
      get(name, async (response) => {
        const pieces: Buffer[] = []
        for await (const piece of counted(response, SMALL_BYTES)) pieces.push(piece)
        return Buffer.concat(pieces)
      }),
    save: (name, to) =>
      get(name, async (response) => {
        const file = fs.createWriteStream(to, { flags: 'wx', mode: 0o600 })
        await pipeline(counted(response, ARCHIVE_BYTES), file).catch((e: Error) => {
          const { syscall } = e as NodeJS.ErrnoException
          throw syscall === 'write' || syscall === 'open'
            ? maintenanceError('failed', `${name} cannot be stored: ${faultWords(e)}.`)
            : e
        })
      }),
  }
}

const baseOf = (address: string, node: string): URL =>
  new URL(`${address.replace(/\/+$/, '')}/api/v1/nodes/${encodeURIComponent(node)}/agent-release/`)

/** As in the agent: https, or plain http to this machine only, unless the settings allow more (ADR-0031). */
function trusted(base: URL, settings: Settings): ReturnType<typeof tlsOptions> | undefined {
  const insecure = isOn(settings.SVC_ALLOW_INSECURE_CONTROLLER)
  if (base.protocol !== 'https:') {
    if (insecure || isLoopback(base.hostname)) return undefined
    throw maintenanceError(
      'failed',
      `Refusing plain http to ${base.host}: a program that runs as root must be fetched over https.`,
    )
  }
  try {
    const trust = {
      caFile: settings.SVC_CONTROLLER_CA_CERT_PATH,
      clientCertFile: settings.SVC_CONTROLLER_CLIENT_CERT_PATH,
      clientKeyFile: settings.SVC_CONTROLLER_CLIENT_KEY_PATH,
    }
    return tlsOptions(trust, insecure)
  } catch (e) {
    if (e instanceof UserError) throw maintenanceError('failed', `The controller cannot be asked: ${e.message}.`)
    throw e
  }
}

function noAnswer(name: string, { host }: URL, { cause, message, reason }: NoAnswer): string {
  if (reason === 'too_large') return `${name}: ${message}.`
  const words = tlsAdvice(cause, 'SVC_CONTROLLER_CA_CERT_PATH') ?? message
  return reason === 'broken' ? `The download of ${name} broke off: ${words}.` : `No answer from ${host}: ${words}.`
}

function refusal(name: string, status: number): string {
  if (status === 401)
    return 'The controller refuses the token of this node: run install_dependencies to give it a new one.'
  if (status === 404)
    return `The controller does not have ${name}: choose a release it has, or add this one to its release directory.`
  return `The controller answered ${status} for ${name}.`
}
