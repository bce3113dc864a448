// Two addresses of one controller: it is one of two boxes, and whichever holds the higher term is it.
import { readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { replaceFile } from '../../kernel/durable.ts'
import { type Answer, jsonOf } from '../../kernel/http.ts'
import { HEADERS } from '../../wire/headers.ts'
import { AWAY } from '../../wire/lease.ts'
import { createHttp, type Http, type HttpOptions } from './http.ts'
import { LinkError } from './link.ts'

export interface ReachOptions extends HttpOptions {
  /** Hears that another address is used from now on. */
  moved?: ((url: string) => void) | undefined
  /** The second address; undefined where there is one box. */
  standbyUrl?: string | undefined
  /** Where the highest term seen is kept; undefined: it is forgotten with the process. */
  termFile?: string | undefined
}

/** A box that lost its power says nothing: a request that is answered at once waits no longer for it where there is another. */
const QUICK_MS = 15_000
/** Changes of hands that a recorder may have missed; more than that was never told by a controller. */
const MOST_TERMS = 1000
/** How often the other address is looked at while this one answers: its term may be higher. */
const LOOK_MS = 60_000

export interface Reached extends Http {
  /** The highest term seen; 0 where there is no second box. */
  term(): number
}

/** Like `createHttp`. What one address does not answer, or not as the controller, is asked of the other. @throws LinkError as that */
export function createReach(options: ReachOptions): Reached {
  const { standbyUrl, url } = options
  const terms = createTerms(options.termFile)
  const sides = [url, standbyUrl]
    .filter((one) => one !== undefined)
    .map((one) => ({ http: createHttp({ ...options, url: one }), url: one }))
  return sides.length === 1 ? guarded(sides[0]!.http, terms) : new Reach(sides as [Side, Side], terms, options)
}

interface Side {
  http: Http
  url: string
}

interface Terms {
  /** @throws LinkError for an answer of a box that is not the controller */
  check(answer: Answer): Promise<Answer>
  /** Whether a box has a higher term than any before. */
  isHigher(answer: Answer): boolean
  highest(): number
}

const guarded = (http: Http, terms: Terms): Reached => ({
  ask: async (ask) => terms.check(await http.ask(ask)),
  close: () => http.close(),
  term: terms.highest,
})

class Reach implements Reached {
  readonly #moved: (url: string) => void
  readonly #sides: [Side, Side]
  readonly #terms: Terms
  #current: 0 | 1 = 0
  #lookedAt = performance.now()

  constructor(sides: [Side, Side], terms: Terms, { moved = () => {} }: ReachOptions) {
    this.#sides = sides
    this.#terms = terms
    this.#moved = moved
  }

  async ask(ask: Parameters<Http['ask']>[0]): Promise<Answer> {
    this.#lookAround()
    const first = this.#current
    try {
      return await this.#askOf(first, ask)
    } catch (e) {
      // A body that streams is gone; whoever sends it begins with a question, which finds the way.
      if (!isElsewhere(e) || ask.signal?.aborted || ask.body instanceof Readable) throw e
      const other = first === 0 ? 1 : 0
      const answer = await this.#askOf(other, ask).catch((second) => {
        // Neither is the controller: the first says why.
        throw isElsewhere(second) ? e : second
      })
      this.#move(other)
      return answer
    }
  }

  term(): number {
    return this.#terms.highest()
  }

  close(): void {
    for (const { http } of this.#sides) http.close()
  }

  async #askOf(side: 0 | 1, ask: Parameters<Http['ask']>[0]): Promise<Answer> {
    const isQuick = ask.method !== 'PUT' && !(ask.body instanceof Readable)
    return this.#terms.check(await this.#sides[side].http.ask(isQuick ? { silenceMs: QUICK_MS, ...ask } : ask))
  }

  #move(to: 0 | 1): void {
    if (this.#current === to) return
    this.#current = to
    this.#moved(this.#sides[to].url)
  }

  /** Nobody waits for it: a controller that was cut off from the lease still answers, and the other has the higher term. */
  #lookAround(): void {
    if (performance.now() - this.#lookedAt < LOOK_MS) return
    this.#lookedAt = performance.now()
    const other = this.#current === 0 ? 1 : 0
    const probe = {
      headers: { accept: 'application/json' },
      method: 'GET',
      path: '/readyz',
      silenceMs: QUICK_MS,
    } as const
    this.#sides[other].http.ask(probe).then(
      async (answer) => {
        if (answer.status !== 200 || !this.#terms.isHigher(answer)) return
        await this.#terms.check(answer)
        this.#move(other)
      },
      // It is off, or not reached from here: nothing changes.
      () => undefined,
    )
  }
}

/** No answer, or one of a box that is not the controller. */
const isElsewhere = (e: unknown): boolean =>
  e instanceof LinkError && (e.status === undefined || (AWAY as readonly unknown[]).includes(e.reason))

const termOf = ({ headers }: Answer): number | undefined => {
  const text = headers[HEADERS.term]
  return typeof text === 'string' && /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined
}

/** The highest term seen. A controller with a lower one has lost the lease, whether it knows or not. */
function createTerms(file: string | undefined): Terms {
  let highest = file === undefined ? 0 : readTerm(file)
  const isHigher = (answer: Answer): boolean => (termOf(answer) ?? 0) > highest
  return {
    async check(answer) {
      if (answer.status === 503) refuseAway(answer)
      const term = termOf(answer)
      if (term === undefined || term === highest) return answer
      if (term < highest)
        throw new LinkError(
          `this controller was replaced: its term is ${term}, and there was ${highest}`,
          503,
          'fenced',
        )
      // Only a controller that knows this recorder tells it who comes next, and terms grow one by one.
      if (answer.status >= 300 || (highest > 0 && term > highest + MOST_TERMS)) return answer
      highest = term
      // Before anything is done with the answer: what is let go of now must not be told to an older one after a restart.
      if (file !== undefined) await replaceFile(file, `${JSON.stringify({ term })}\n`).catch(() => undefined)
      return answer
    },
    highest: () => highest,
    isHigher,
  }
}

/** The reason is in a header as well: a HEAD has no body. @throws LinkError */
function refuseAway({ headers, text }: Answer): void {
  const reason = headers[HEADERS.reason]
  if (!(AWAY as readonly unknown[]).includes(reason)) return
  const { error = 'this box is not the controller' } = (jsonOf(text) ?? {}) as { error?: unknown }
  throw new LinkError(String(error).slice(0, 200), 503, String(reason))
}

function readTerm(file: string): number {
  try {
    const { term } = JSON.parse(readFileSync(file, 'utf8')) as { term?: unknown }
    return Number.isSafeInteger(term) ? (term as number) : 0
  } catch {
    // None yet, or damaged: the next answer says it anew.
    return 0
  }
}
