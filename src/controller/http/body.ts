import type * as z from 'zod'
import { Fail } from '../../kernel/fail.ts'

const MAX_DEPTH = 64

const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * The JSON in the pieces of a body; no byte at all is `{}`. `most`: values in it, as schemas take their time for each.
 * @throws Fail 400 for broken UTF-8, broken JSON, absurd nesting or more values.
 */
export const parseBody = (parts: readonly Uint8Array[], most = Number.POSITIVE_INFINITY): unknown =>
  parts.length === 0 ? {} : parseJson(parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts), most)

function parseJson(bytes: Uint8Array, most: number): unknown {
  try {
    const text = utf8.decode(bytes)
    const found = extent(text)
    if (found.depth > MAX_DEPTH) throw new Error(`nested deeper than ${MAX_DEPTH} levels`)
    if (found.values <= most) return JSON.parse(text)
  } catch (e) {
    throw refused('The request body is not valid JSON', 'invalid_json', (e as Error).message)
  }
  throw refused('The request body holds too many values', 'too_big', `more than ${most} values: send fewer at once`)
}

const refused = (words: string, code: string, message: string): Fail =>
  new Fail(400, 'invalid_request', words, { issues: [{ code, path: [], message }] })

// Counted before parsing: code that walks the value later (schemas, stringify) recurses. One pass by hand: a regular
// expression for strings would backtrack from every quote of a text that never closes one.
function extent(text: string): { depth: number; values: number } {
  let [level, depth, values] = [0, 0, 1]
  let quoted = false
  for (let at = 0; at < text.length; at++) {
    const c = text.charCodeAt(at)
    if (quoted && c === CODE['\\']) at++
    else if (c === CODE['"']) quoted = !quoted
    else if (quoted) continue
    else if (c === CODE[',']) values++
    else if (c === CODE['['] || c === CODE['{']) depth = Math.max(depth, ++level)
    else if (c === CODE[']'] || c === CODE['}']) level--
  }
  return { depth, values }
}
// Codes are compared several times faster than characters.
const CODE = { '"': 34, ',': 44, '[': 91, '\\': 92, ']': 93, '{': 123, '}': 125 } as const

// Limits that keep the answer short: number of issues, and length of each text.
const MAX_ISSUES = 50
const MAX_KEYS = 20
const MAX_TEXT = 400

/** The value parsed by the schema. @throws Fail 400 whose issues say where and why it is invalid. */
export function parsed<T>(schema: z.ZodType<T>, value: unknown, reason: string): T {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const [first] = result.error.issues
  const where = first && first.path.length > 0 ? `${first.path.join('.')}: ` : ''
  throw new Fail(400, reason, `Invalid request: ${where}${first?.message ?? 'not accepted'}`.slice(0, MAX_TEXT), {
    issues: result.error.issues.slice(0, MAX_ISSUES).map(publicIssue),
  })
}

// Issues may contain the refused input: a password or key must not be echoed in the answer.
const publicIssue = ({ input: _, ...issue }: z.core.$ZodIssue): unknown => ({
  ...issue,
  message: issue.message.slice(0, MAX_TEXT),
  ...('keys' in issue ? { keys: issue.keys.slice(0, MAX_KEYS).map((key) => String(key).slice(0, MAX_TEXT)) } : {}),
})
