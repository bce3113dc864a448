// The socket by which `roomtone takeover` reaches the standby on its own box: a line with the request, lines in return.
import * as fs from 'node:fs/promises'
import * as net from 'node:net'
import * as path from 'node:path'
import * as readline from 'node:readline'
import { asUserError, UserError } from '../../kernel/fail.ts'
import { jsonOf } from '../../kernel/http.ts'
import type { TakeoverRequest } from './takeover.ts'

/** What comes back: what happens now, then one of the two ends. */
interface Line {
  done?: string
  refused?: string
  say?: string
}

/** Carries a request out, and resolves to a sentence about the end. */
type TakeoverHandler = (request: TakeoverRequest, say: (sentence: string) => void) => Promise<string>

const socketOf = (dir: string): string => path.join(dir, 'standby.sock')

/** Listens for requests; only who may use the data directory can reach it. */
export async function listenForTakeoverRequests(
  dir: string,
  handle: TakeoverHandler,
): Promise<{ close(): Promise<void> }> {
  const file = socketOf(dir)
  await fs.rm(file, { force: true })
  const open = new Set<net.Socket>()
  const handling = new Set<Promise<unknown>>()
  const server = net.createServer((socket) => {
    open.add(socket)
    socket.on('error', () => {}).once('close', () => open.delete(socket))
    const tell = (line: Line): void => void socket.write(`${JSON.stringify(line)}\n`)
    readline.createInterface({ input: socket }).once('line', (text) => {
      const handled = Promise.try(() => handle(parseRequest(text), (sentence) => tell({ say: sentence })))
        .then((done) => tell({ done }))
        .catch((e) => tell({ refused: asUserError(e)?.message ?? String(e) }))
        .finally(() => handling.delete(handled) && socket.end())
      handling.add(handled)
    })
  })
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(file, resolve))
  return {
    async close() {
      await Promise.all(handling)
      for (const socket of open) socket.destroySoon()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** @throws UserError for anything else than a whole request: what is misread here changes who the controller is */
function parseRequest(text: string): TakeoverRequest {
  const { force, planned } = Object(jsonOf(text)) as Partial<TakeoverRequest>
  if (typeof force === 'boolean' && typeof planned === 'boolean') return { force, planned }
  throw new UserError('The standby does not understand this request: use the roomtone takeover of its version')
}

/** Sends a request and hears what becomes of it. @throws UserError for a refusal, or when no standby listens */
export async function sendTakeoverRequest(
  dir: string,
  request: TakeoverRequest,
  say: (sentence: string) => void,
): Promise<string> {
  const socket = net.connect(socketOf(dir))
  socket.write(`${JSON.stringify(request)}\n`)
  try {
    for await (const text of readline.createInterface({ input: socket })) {
      const { done, refused, say: said } = JSON.parse(text) as Line
      if (said !== undefined) say(said)
      if (done !== undefined) return done
      if (refused !== undefined) throw new UserError(refused)
    }
  } finally {
    socket.destroy()
  }
  throw new UserError('The standby ended before it had taken over: its log says why')
}

/** Whether a standby listens there. */
export const isListening = (dir: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = net.connect(socketOf(dir))
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
