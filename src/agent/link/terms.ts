// The highest term that a controller ever told: one with a lower term was replaced, whether it knows or not.
import { readFileSync } from 'node:fs'
import type { OutgoingHttpHeaders } from 'node:http'
import { replaceFile } from '../../kernel/durable.ts'
import { type Answer, jsonOf } from '../../kernel/http.ts'
import { HEADERS } from '../../wire/headers.ts'
import { AWAY, termIn } from '../../wire/lease.ts'
import { LinkError } from './link.ts'

export interface TermsOptions {
  /** Where the highest term seen is kept; undefined: it is forgotten with the process. */
  termFile?: string | undefined
  /** Hears once that the file cannot be written, and why; with undefined that it is written again. */
  termKept?: ((fault: unknown) => void) | undefined
}

/** Changes of hands that a recorder may have missed; more than that was never told by a controller. */
const MOST_TERMS = 1000
/** How often a file that could not be written is tried again. */
const AGAIN_MS = 60_000

export interface Terms {
  /** @throws LinkError for an answer of a box that is not the controller */
  check(answer: Answer): Promise<Answer>
  highest(): number
  /** Whether a box has a higher term than any before. */
  isHigher(answer: Answer): boolean
  /** The same question, telling the term: a controller that was replaced does not count this recorder as its own. */
  telling<A extends { headers: OutgoingHttpHeaders }>(ask: A): A
}

export function createTerms({ termFile, termKept }: TermsOptions): Terms {
  const kept = termFile === undefined ? undefined : keeper(termFile, termKept)
  let highest = kept?.term() ?? 0
  return {
    async check(answer) {
      if (answer.status === 503) refuseAway(answer)
      const term = termOf(answer)
      if (term === undefined) return answer
      if (term < highest)
        throw new LinkError(
          `this controller was replaced: its term is ${term}, and there was ${highest}`,
          503,
          'fenced',
        )
      // Only a controller that knows this recorder tells it who comes next, and terms grow one by one.
      const mayGrow = answer.status < 300 && (highest === 0 || term <= highest + MOST_TERMS)
      if (mayGrow) highest = term
      // Before anything is done with the answer: what is let go of now must not be told to an older one after a restart.
      await kept?.keep(highest)
      return answer
    },
    highest: () => highest,
    isHigher: (answer) => (termOf(answer) ?? 0) > highest,
    telling: (ask) => (highest === 0 ? ask : { ...ask, headers: { ...ask.headers, [HEADERS.term]: String(highest) } }),
  }
}

/**
 * Keeps a term in a file. Where the disk does not take it, the recorder goes on with what it knows in memory: refusing the
 * only controller there is would cost takes, forgetting the term costs something only if an older one comes back after a
 * restart. That is told, and tried again.
 */
function keeper(file: string, tell: NonNullable<TermsOptions['termKept']> = () => {}) {
  let written = readTerm(file)
  let failedAt: number | undefined
  let writing: Promise<void> | undefined
  const write = async (term: number): Promise<void> => {
    try {
      await replaceFile(file, `${JSON.stringify({ term })}\n`)
      written = term
      if (failedAt !== undefined) tell(undefined)
      failedAt = undefined
    } catch (e) {
      if (failedAt === undefined) tell(e)
      failedAt = performance.now()
    }
  }
  return {
    /** Durable when it resolves, unless the disk does not take it. Never rejects. */
    async keep(term: number): Promise<void> {
      await writing
      if (term <= written || (failedAt !== undefined && performance.now() - failedAt < AGAIN_MS)) return
      writing = write(term)
      await writing
    },
    term: () => written,
  }
}

const termOf = ({ headers }: Answer): number | undefined => termIn(headers[HEADERS.term])

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
