import * as z from 'zod'
import { DEEPEST_OFFSET } from './paging.ts'

const trimmed = (min: number, max: number) => z.string().trim().min(min).max(max)

/**
 * One trimmed line of `min`..`max` characters: a name, an alias, a tag, a type, an id. Line breaks and control characters
 * are refused: these texts end in logs, file names, mails and terminals, where a break would begin a line of its own.
 */
export const text = (min: number, max: number) =>
  trimmed(min, max).regex(
    /^[^\p{Cc}\p{Zl}\p{Zp}]*$/u,
    'expected one line: line breaks and control characters are not allowed',
  )

/** Trimmed text of `min`..`max` characters that people write and read in paragraphs: line breaks and tabs are fine. */
export const prose = (min: number, max: number) =>
  trimmed(min, max)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: refusing them is the point
    .regex(/^[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]*$/, 'control characters are not allowed')

// Beside breaks what turns the order of a line around: a command would read as another one than it is.
const BREAKS = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/gu

/** The text with a space in place of each line break, control character and mark that overrides the direction of writing. */
export const onOneLine = (value: string): string => value.replace(BREAKS, ' ')

/**
 * One line as hardware or an operating system tells it: what `text` would refuse becomes a space, for a device with an odd
 * name must not make a whole report invalid.
 */
export const toldText = (min: number, max: number) => z.string().overwrite(onOneLine).trim().min(min).max(max)

/** A file-system safe id given by a client: no path separators, no leading dot. */
export const clientId = z
  .string()
  .trim()
  .regex(/^[A-Za-z0-9_][A-Za-z0-9_.:@-]{0,159}$/, 'expected 1 to 160 letters, digits or _ . : @ -')

/** Any instant the JavaScript date parser accepts, normalised to fixed-width ISO-8601 UTC. */
export const instant = z
  .string()
  .max(64)
  .refine((s) => !Number.isNaN(Date.parse(s)), 'expected a date and time such as 2026-03-29T14:05:00Z')
  .transform((s) => new Date(s).toISOString())

/** ISO date-time with `Z` or an offset, normalised to UTC. */
export const offsetInstant = z.iso.datetime({ offset: true }).transform((s) => new Date(s).toISOString())

const blankIsUnset = (v: unknown): unknown => (v === '' ? undefined : v)

/** A query value: blank means unset. */
export const query = <T extends z.ZodType>(schema: T) => z.preprocess(blankIsUnset, schema.optional())

/** `limit` 1..500 and `offset` >= 0 as query text. */
export const Page = z.object({
  limit: query(z.coerce.number().int().min(1).max(500)),
  offset: query(z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER)),
})

const TOO_DEEP = `at most ${DEEPEST_OFFSET}: to go further, send the meta.nextCursor of a page as cursor`

/** The same for lists that grow without end: `cursor` is the `meta.nextCursor` of the page before. */
export const CursorPage = z.object({
  cursor: query(z.string().max(4096)),
  limit: Page.shape.limit,
  offset: query(z.coerce.number().int().min(0).max(DEEPEST_OFFSET, TOO_DEEP)),
})

/** Refuses a patch without a single recognised key. */
export const someField = (v: object): boolean => Object.values(v).some((x) => x !== undefined)
