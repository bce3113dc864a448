// Clients of object stores, and what each has to be held to: a store is somebody else's program.
import type { Readable } from 'node:stream'

const MIB = 1024 * 1024
/** Responses are a few hundred bytes of XML; longer ones are not read. */
const LARGEST_ANSWER = MIB
/** A page of a list has a thousand keys of up to a kilobyte. */
const LARGEST_LIST = 8 * MIB
const LISTS = ['list-type', 'uploads']
const ABORT_MS = 2_000

/** The part of a client of the AWS SDK that sends. */
interface Client {
  config: { requestHandler: { handle: (...args: never[]) => unknown } }
}

/** Where a store is, and whose keys sign. */
interface Account {
  accessKeyId?: string | undefined
  endpoint?: string | undefined
  forcePathStyle?: boolean | undefined
  region?: string | undefined
  secretAccessKey: string
}

/** The settings of a client that signs with the keys of an account. `own`: how patient it is. */
export const s3Settings = <Own extends object>(
  { accessKeyId = '', endpoint, forcePathStyle = false, region = 'us-east-1', secretAccessKey }: Account,
  own: Own,
) => ({
  ...own,
  credentials: { accessKeyId, secretAccessKey },
  ...(endpoint ? { endpoint } : {}),
  forcePathStyle,
  region,
  // Checksums are sent only where asked for: many services do not support those the SDK adds by default.
  requestChecksumCalculation: 'WHEN_REQUIRED' as const,
  responseChecksumValidation: 'WHEN_REQUIRED' as const,
})

/** The text of an object, cut off behind `largest` bytes: the caller refuses what is longer. */
export async function textOf(body: Readable, largest: number): Promise<string> {
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of body) {
    pieces.push(piece as Buffer)
    size += (piece as Buffer).length
    if (size > largest) break
  }
  return Buffer.concat(pieces).toString('utf8')
}

interface Asked {
  method: string
  query?: object
}

interface Handled {
  response: { body?: unknown; statusCode: number }
}

/** Limits the size of responses, else they end in `tooLarge`; with `signal` all requests end when it aborts. */
export function limitAnswers(client: Client, tooLarge: () => Error, signal?: AbortSignal): void {
  const handler = client.config.requestHandler
  const handle = handler.handle.bind(handler) as (request: never, options: object) => Promise<Handled>
  handler.handle = (async (request: Asked, options: { abortSignal?: AbortSignal }) => {
    // Aborting an upload has to get through after the attempt is over.
    const ended = request.method === 'DELETE' ? AbortSignal.timeout(ABORT_MS) : signal
    const signals = [signal && ended, options.abortSignal].filter((one) => one !== undefined)
    const handled = await handle(request as never, { ...options, abortSignal: AbortSignal.any(signals) })
    const isList = LISTS.some((name) => name in (request.query ?? {}))
    // Only a successful GET of an object returns a take, or a part of one.
    const isTake = request.method === 'GET' && !isList && [200, 206].includes(handled.response.statusCode)
    if (!isTake) limitSize(handled.response.body, isList ? LARGEST_LIST : LARGEST_ANSWER, tooLarge)
    return handled
  }) as never
}

function limitSize(body: unknown, largest: number, tooLarge: () => Error): void {
  const stream = body as NodeJS.ReadableStream & { destroy(e: Error): void; push?: unknown }
  if (typeof stream?.on !== 'function' || typeof stream.destroy !== 'function') return
  let size = 0
  const push = (stream as unknown as { push(chunk: Uint8Array | null): boolean }).push.bind(stream)
  // Counted by wrapping push: a data listener would start the stream flowing.
  ;(stream as unknown as { push: unknown }).push = (chunk: Uint8Array | null): boolean => {
    size += chunk?.length ?? 0
    if (size <= largest) return push(chunk)
    stream.destroy(tooLarge())
    return false
  }
}
