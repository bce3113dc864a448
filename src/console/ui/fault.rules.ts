import { ApiError, type Issue } from '../data/api.ts'
import type { Words } from '../words/en.ts'

/** A body that its schema refuses is told so: the rest of the message is its first issue. */
const UNFIT = 'Invalid request: '

/** The server no longer shows it: what was read of it before must go. */
export const isWithdrawn = (e: Error): boolean => e instanceof ApiError && (e.status === 403 || e.status === 404)

/** The session has ended, which the sign-in over the page tells. */
export const isEnded = (e: Error): boolean => e instanceof ApiError && e.status === 401

/** What went wrong, for a person. */
export function faultText(e: Error, words: Words): string {
  const { failures, refusals } = words
  if (e.name === 'TimeoutError') return failures.slow
  if (e instanceof TypeError) return failures.offline
  if (!(e instanceof ApiError)) return `${failures.page} ${e.message}`
  if (e.status === 429) return failures.tooOften(Math.max(1, e.retryAfter))
  if (e.status === 404) return failures.gone
  // A reason beside the permission tells that something else is in the way.
  if (e.status === 403 && e.permission && !e.reason) return failures.deniedBecause(e.permission)
  return refusals.reasons[e.reason ?? ''] ?? toldOf(e, words)
}

/** As the server tells it, with what it says of the first value where that says more. */
function toldOf({ issues: [issue], message }: ApiError, words: Words): string {
  const told = saidText(message, words)
  if (!issue) return told
  const why = issueText(issue, words)
  if (message.startsWith(UNFIT)) return words.refusals.at(issue.path.join('.'), why)
  return message.includes(':') || told === why ? told : `${told}: ${why}`
}

/** Sentences of the library; any other was written for this very value, and says more than its code. */
const BY_CODE = /^(Invalid|Too (big|small)|Unrecognized)\b/

/** A sentence of the controller in the language of the page; one that nobody has put into it, as it is. */
export function saidText(sentence: string, { refusals: { said, shaped } }: Words): string {
  for (const [shape, made] of shaped) {
    const [whole, ...parts] = shape.exec(sentence) ?? []
    if (whole !== undefined) return made(...parts)
  }
  return said[sentence] ?? sentence
}

/** What is wrong with a value, for a person. */
export function issueText(issue: Issue, texts: Words): string {
  const { locale } = texts
  const words = texts.refusals.issue
  const { code, divisor = 1, format = '', keys = [], message } = issue
  if (!BY_CODE.test(message)) return saidText(message, texts)
  const told = (value: number): string => value.toLocaleString(locale)
  switch (code) {
    case 'invalid_type':
      return typeText(issue, words)
    case 'too_small':
      return leastText(issue, told, words)
    case 'too_big':
      return mostText(issue, told, words)
    case 'invalid_format':
      return words.formats[format] ?? words.other
    case 'invalid_value':
      return words.choice
    case 'not_multiple_of':
      return words.steps(told(divisor))
    case 'unrecognized_keys':
      return words.unknown(keys.join(', '))
    default:
      return words.other
  }
}

type Texts = Words['refusals']['issue']
type Told = (value: number) => string

function typeText({ expected, message }: Issue, words: Texts): string {
  if (/received (null|undefined)$/.test(message)) return words.required
  if (expected === 'int') return words.whole
  return expected === 'number' ? words.number : words.other
}

function leastText({ inclusive, minimum = 0, origin }: Issue, told: Told, words: Texts): string {
  if (origin === 'string') return minimum === 1 ? words.required : words.longer(told(minimum))
  if (origin === 'array') return minimum === 1 ? words.required : words.more(told(minimum))
  return inclusive ? words.atLeast(told(minimum)) : words.above(told(minimum))
}

function mostText({ inclusive, maximum = 0, origin }: Issue, told: Told, words: Texts): string {
  if (origin === 'string') return words.shorter(told(maximum))
  if (origin === 'array') return words.fewer(told(maximum))
  return inclusive ? words.atMost(told(maximum)) : words.below(told(maximum))
}
