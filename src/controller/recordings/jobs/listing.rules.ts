/** Matches up to which their set is fetched and sorted; more are met often enough on a walk from the newest on. */
export const SMALL_SET = 4000

// Most trigrams asked for at once: more make a search slower, not narrower.
const MOST_GRAMS = 8

/** The full-text query for ids that may contain a text of three characters or more: those with its trigrams. */
export function gramQuery(text: string): string {
  const characters = [...text]
  const last = characters.length - 3
  const steps = Math.min(last, MOST_GRAMS - 1)
  const starts = Array.from({ length: steps + 1 }, (_, i) => (steps === 0 ? 0 : Math.round((i * last) / steps)))
  const grams = starts.map((at) => characters.slice(at, at + 3).join(''))
  return [...new Set(grams)].map((gram) => `"${gram.replaceAll('"', '""')}"`).join(' AND ')
}

// What every id is made of: one or two characters of it are found in nearly all.
const FIXED = 'job_ rec_ .mp3 .wav .flac'

/** Whether one or two characters can be in no id, so that among many jobs only their words are worth a look. */
export const onlyInWords = (text: string): boolean => !/^[0-9a-f-]+$/.test(text) && !FIXED.includes(text)
