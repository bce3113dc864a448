import { folded } from '../../../kernel/fold.ts'

// How free text becomes something an index can find: grams of one, two and three characters.

const FIELD_END = '\u0001'

/** What free text searches of a recording, one folded text; no match goes across two fields. */
export const searchText = (fields: readonly (string | null | undefined)[]): string =>
  fields.map((field) => folded(field ?? '')).join(FIELD_END)

// More grams in one query make a search slower, not narrower.
const MAX_ASKED = 8

/**
 * Every gram of a search text, once each, as tokens in one line. Of the last field, the id, only grams of three: shorter ones
 * would match nearly every recording.
 */
export function gramsOf(text: string): string {
  const grams = new Set<string>()
  const fields = text.split(FIELD_END)
  for (const [i, field] of fields.entries()) {
    const characters = Array.from(field, token)
    for (let size = i === fields.length - 1 ? 3 : 1; size <= 3; size++)
      for (let at = 0; at + size <= characters.length; at++) grams.add(characters.slice(at, at + size).join(''))
  }
  return [...grams].join(' ')
}

/** The full-text query for recordings that may contain all of these folded texts: those with their grams, in any order. */
export const gramQuery = (texts: readonly string[]): string => [...new Set(texts.flatMap(gramsAsked))].join(' ')

const gramsAsked = (text: string): string[] => spreadGrams([...text].map(token)).map((gram) => `"${gram}"`)

/** Grams of three characters, or of all when there are fewer, spread evenly over a text from its first to its last. */
export function spreadGrams(characters: readonly string[]): string[] {
  const size = Math.min(3, characters.length)
  const last = characters.length - size
  const steps = Math.min(last, MAX_ASKED - 1)
  const starts = Array.from({ length: steps + 1 }, (_, i) => (steps === 0 ? 0 : Math.round((i * last) / steps)))
  return starts.map((start) => characters.slice(start, start + size).join(''))
}

// The tokenizer accepts letters, digits and everything beyond ASCII in a token; other characters are moved to private use.
const token = (character: string): string =>
  /^[a-z0-9\u0080-\u{10ffff}]$/u.test(character) ? character : String.fromCharCode(0xe000 + character.charCodeAt(0))

/** Spellings of a tag that differ from `tag` in case alone, beyond ASCII: the index itself knows ASCII. */
export const caseVariants = (tag: string): string[] => [
  ...new Set([tag, tag.toLowerCase(), tag.toUpperCase(), capital(tag)]),
]

const capital = (text: string): string => {
  const [first = '', ...rest] = text
  return first.toUpperCase() + rest.join('').toLowerCase()
}
