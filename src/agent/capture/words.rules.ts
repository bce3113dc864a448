/** Splits a line into words as a shell does: blanks, single and double quotes, backslash. Throws when unbalanced or empty. */
export function shellWords(line: string): string[] {
  const words: string[] = []
  let word: string | undefined
  let quote = ''
  for (let at = 0; at < line.length; at++) {
    const c = line[at]!
    if (c === '\\' && quote !== "'") {
      if (++at >= line.length) throw new Error('template ends with a backslash')
      word = (word ?? '') + line[at]
    } else if (quote !== '') {
      if (c === quote) quote = ''
      else word += c
    } else if (c === '"' || c === "'") {
      quote = c
      word ??= ''
    } else if (/\s/.test(c)) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else word = (word ?? '') + c
  }
  if (quote !== '') throw new Error('template has an unbalanced quote')
  if (word !== undefined) words.push(word)
  if (words.length === 0) throw new Error('template is empty')
  return words
}

/** Replaces `{name}` in every word; a name that is not known stays as it is. */
export const fillWords = (words: string[], values: Record<string, string | number>): string[] =>
  words.map((word) => word.replaceAll(/\{(\w+)\}/g, (all, name: string) => String(values[name] ?? all)))
