// Bodies that are held in memory whole: how large, how long they may take, how much of them at once.
import { Readable } from 'node:stream'
import { Fail } from '../../kernel/fail.ts'
import { ConcurrencyLimit } from './concurrency.ts'

/** Largest body of an unauthenticated caller, bytes: a login takes a few hundred. */
export const STRANGER_LIMIT = 16 * 1024
/** Largest JSON body of a known caller, bytes (ADR-0008). */
export const JSON_LIMIT = 1024 * 1024

interface BodyLimits {
  /** From the start of reading to the last byte, ms. */
  deadlineMs: number
  /** What the bodies of all callers may come to that are received or handled at once, bytes. */
  overallBytes: number
  /** Bodies of one caller at once. */
  perCaller: number
}
/** A body counts for at least so many bytes: its request holds more than the body. */
export const LEAST_COUNTED = 32 * 1024
// 2,000 recorders that come back in the same second find room with all five requests of each: what they send is small.
export const KNOWN_LIMITS: BodyLimits = { deadlineMs: 15_000, overallBytes: 16_384 * LEAST_COUNTED, perCaller: 32 }
export const STRANGER_LIMITS: BodyLimits = { ...KNOWN_LIMITS, overallBytes: 512 * LEAST_COUNTED }

/** A body as it arrives, and the length its sender declares. */
export interface Source {
  chunks: AsyncIterable<Uint8Array>
  /** Bytes, from `Content-Length`; undefined without one. */
  declared: number | undefined
}

/** Reads whole bodies of one kind of callers, so much at once. */
export interface Bodies {
  /**
   * The whole body in the pieces it came in. Counts for `caller` until `held` settles.
   * @throws Fail 413 above `maxBytes`, 408 past the deadline, 429 or 503 when too many are under way, 400 when it broke off.
   */
  read(source: Source, caller: string, maxBytes: number, held?: Promise<unknown>): Promise<Uint8Array[]>
}

const tooLarge = (maxBytes: number): Fail =>
  new Fail(413, 'payload_too_large', `The request body is larger than ${maxBytes} bytes`)
const timedOut = (deadlineMs: number): Fail =>
  new Fail(
    408,
    'request_timeout',
    `The request body took longer than ${deadlineMs / 1000} s: send it again, without pauses`,
  )
const retrySoon = { headers: { 'retry-after': '5' } }
const crowded = (): Fail =>
  new Fail(503, 'too_many_bodies', 'Too many request bodies at once: try again in a few seconds', retrySoon)

/** A body that is being received. */
interface Receiving {
  /** Refuses it at once, for somebody else. */
  giveWay(): void
}

/** Bodies that are being received, by caller. */
function waiting() {
  const byCaller = new Map<string, Set<Receiving>>()
  return {
    enter(caller: string, one: Receiving): void {
      byCaller.set(caller, (byCaller.get(caller) ?? new Set()).add(one))
    },
    leave(caller: string, one: Receiving): void {
      const own = byCaller.get(caller)
      own?.delete(one)
      if (own?.size === 0) byCaller.delete(caller)
    },
    /** The oldest one of whoever has most of them; undefined when `caller` has as many. */
    longest(caller: string): Receiving | undefined {
      let most = byCaller.get(caller)
      for (const own of byCaller.values()) if (own.size > (most?.size ?? 0)) most = own
      return most === byCaller.get(caller) ? undefined : most?.values().next().value
    },
  }
}

/**
 * So many at once. Where there is no room, whoever has most that are not whole yet gives way to who has fewer: connections that
 * send a head and then nothing cost nobody else a request.
 */
export function bodies({ deadlineMs, overallBytes, perCaller }: BodyLimits): Bodies {
  const places = new ConcurrencyLimit(perCaller)
  const receiving = waiting()
  let all = 0

  const makeRoom = (caller: string, bytes: number): void => {
    while (all + bytes > overallBytes) {
      const longest = receiving.longest(caller)
      if (!longest) throw crowded()
      longest.giveWay()
    }
  }

  /** @returns the function that gives the place and the bytes back */
  const admit = (caller: string, bytes: number): (() => void) => {
    // Requests that came over no socket (in tests) are not counted.
    if (caller !== '' && places.full(caller))
      throw new Fail(
        429,
        'too_many_bodies',
        `More than ${perCaller} request bodies at once: send fewer together`,
        retrySoon,
      )
    makeRoom(caller, bytes)
    const leave = places.take(caller)
    all += bytes
    let held = bytes
    return () => {
      leave()
      all -= held
      held = 0
    }
  }
  const received = async (chunks: Readable, caller: string, maxBytes: number, leave: () => void) => {
    const { parts, refuse } = readStream(chunks, maxBytes, deadlineMs)
    const own: Receiving = {
      giveWay() {
        receiving.leave(caller, own)
        leave()
        refuse(crowded())
      },
    }
    receiving.enter(caller, own)
    try {
      return await parts
    } finally {
      receiving.leave(caller, own)
    }
  }
  return {
    async read({ chunks, declared }, caller, maxBytes, held = Promise.resolve()) {
      if (declared !== undefined && declared > maxBytes) throw tooLarge(maxBytes)
      // Without a declared length it may become the longest.
      const leave = admit(caller, Math.max(declared ?? maxBytes, LEAST_COUNTED))
      try {
        const parts = await (chunks instanceof Readable
          ? received(chunks, caller, maxBytes, leave)
          : readIterable(chunks, maxBytes))
        void held.finally(leave)
        return parts
      } catch (e) {
        leave()
        throw e
      }
    },
  }
}

/** Listens to the stream's events: an iterator over a socket would cost more than parsing a heartbeat. `refuse` ends it early. */
function readStream(stream: Readable, maxBytes: number, deadlineMs: number) {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array[]>()
  const parts: Uint8Array[] = []
  let size = 0
  const take = (chunk: Uint8Array) => {
    size += chunk.length
    parts.push(chunk)
    if (size > maxBytes) refuse(tooLarge(maxBytes))
  }
  const deadline = setTimeout(() => refuse(timedOut(deadlineMs)), deadlineMs)
  const refuse = (e: Fail) => {
    clearTimeout(deadline)
    stream.off('data', take).pause()
    reject(e)
  }
  stream.on('data', take)
  stream.once('end', () => {
    clearTimeout(deadline)
    resolve(parts)
  })
  stream.once('error', () => refuse(brokenOff()))
  stream.once('close', () => stream.readableEnded || refuse(brokenOff()))
  return { parts: promise, refuse }
}

// The client's socket error is not a bug of ours.
const brokenOff = (): Fail => new Fail(400, 'request_aborted', 'The request body ended early')

async function* unbroken(chunks: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  try {
    yield* chunks
  } catch {
    throw brokenOff()
  }
}

async function readIterable(chunks: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Uint8Array[]> {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const chunk of unbroken(chunks)) {
    size += chunk.length
    if (size > maxBytes) throw tooLarge(maxBytes)
    parts.push(chunk)
  }
  return parts
}
