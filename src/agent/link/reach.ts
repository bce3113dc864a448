// Two addresses of one controller: it is one of two boxes, and whichever holds the higher term is it.
import { Readable } from 'node:stream'
import type { Answer } from '../../kernel/http.ts'
import { AWAY } from '../../wire/lease.ts'
import { createHttp, type Http, type HttpOptions } from './http.ts'
import { LinkError } from './link.ts'
import { createTerms, type Terms, type TermsOptions } from './terms.ts'

export interface ReachOptions extends HttpOptions, TermsOptions {
  /** Hears that another address is used from now on. */
  moved?: ((url: string) => void) | undefined
  /** The second address; undefined where there is one box. */
  standbyUrl?: string | undefined
}

/** A box that lost its power says nothing: a request that is answered at once waits no longer for it where there is another. */
const QUICK_MS = 15_000
/** How often the other address is looked at while this one answers: its term may be higher. */
const LOOK_MS = 60_000

interface Reached extends Http {
  /** The highest term seen; 0 where there is no second box. */
  term(): number
}

/** Like `createHttp`. What one address does not answer, or not as the controller, is asked of the other. @throws LinkError as that */
export function createReach(options: ReachOptions): Reached {
  const { standbyUrl, url } = options
  const terms = createTerms(options)
  const sides = [url, standbyUrl]
    .filter((one) => one !== undefined)
    .map((one) => ({ http: createHttp({ ...options, url: one }), url: one }))
  return sides.length === 1 ? guarded(sides[0]!.http, terms) : new Reach(sides as [Side, Side], terms, options)
}

interface Side {
  http: Http
  url: string
}

const guarded = (http: Http, terms: Terms): Reached => ({
  ask: async (ask) => terms.check(await http.ask(terms.telling(ask))),
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
    const told = this.#terms.telling(ask)
    return this.#terms.check(await this.#sides[side].http.ask(isQuick ? { silenceMs: QUICK_MS, ...told } : told))
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
