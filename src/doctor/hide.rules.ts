// What leaves a site in a support file holds no secret and tells nobody's name.
import { redacted } from '../kernel/redact.ts'

/** What a name belongs to; the word that stands for it is made of this. */
export type NameKind = 'host' | 'name' | 'person' | 'place' | 'recorder' | 'recording' | 'room' | 'schedule' | 'site'

export interface Named {
  id?: string | undefined
  kind: NameKind
  name: string
}

const GONE = '[redacted]'
const MAIL = /[\p{L}\p{N}._%+-]+@[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+/gu
const SECRET_WORD =
  '(?:[\\w-]*(?:password|passwd|passphrase|secret|token|api[_-]?key|private[_-]?key|credential|authorization|cookie|signature|pairing[ _-]?code|sign-in))'

const PATTERNS: [pattern: RegExp, by: string][] = [
  // Who signs in stands before the host of an address.
  [/\b([a-z][a-z0-9+.-]*:\/\/)[^\s/@"'\\]+@/gi, `$1${GONE}@`],
  // `"token": "..."`, `token=...`, `--token ...`, also within JSON within JSON.
  [new RegExp(`(${SECRET_WORD}\\\\*["']?\\s*[:=]\\s*\\\\*)(["'])(?:(?!\\\\*\\2).)*`, 'gi'), `$1$2${GONE}`],
  [new RegExp(`(${SECRET_WORD}\\\\*["']?\\s*[:=]\\s*)(?!["'\\\\[{])[^\\s,;&"'\\\\]+`, 'gi'), `$1${GONE}`],
  [new RegExp(`(--${SECRET_WORD}\\s+)(?!-)[^\\s"'\\\\]+`, 'gi'), `$1${GONE}`],
  [/\bBasic\s+[A-Za-z0-9+/=]{8,}/g, `Basic ${GONE}`],
  [/\b(?:svc_(?!node_lifecycle)|whsec_|tk_|gh[pousr]_|github_pat_)[A-Za-z0-9_-]{8,}/g, GONE],
  [/\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g, GONE],
  [/\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g, GONE],
  // Random text: capitals, small letters and digits together. Checksums, ids and paths have no capitals.
  [/(?<![\w/+:-])(?=[\w-]*[a-z])(?=[\w-]*[A-Z])(?=[\w-]*\d)[\w-]{40,}(?![\w/])/g, GONE],
]

/** Without keys, tokens, passwords, e-mail addresses, and the given secrets. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  // Longest first: one may begin another.
  const known = secrets.filter((secret) => secret.length >= SHORTEST_SECRET).toSorted((a, b) => b.length - a.length)
  const clean = PATTERNS.reduce((out, [pattern, by]) => out.replace(pattern, by), redacted(text, known))
  return clean.replace(MAIL, '[e-mail]')
}

const SHORTEST_SECRET = 6
/** A name of one character would be everywhere. */
const SHORTEST_NAME = 2
/** Names that tell nobody anything, and that logs are full of. */
const COMMON = new Set(
  'admin agent alsa at audio controller default device error false file info level local localhost main message microphone name node null recorder recording room roomtone schedule scheduled service site system take test true unknown user warn'.split(
    ' ',
  ),
)
const WORDS = /[\p{L}\p{N}]+/gu
const IN_WORD = /[\p{L}\p{N}]/u

interface Hidden {
  by: string
  /** Characters of the name before its first word. */
  lead: number
  name: string
}

/** Replaces names by words that are the same everywhere: `room-1`. Whole words only, in any case. */
export class NameHider {
  /** By the first word of the name, longest names first. */
  readonly #byWord = new Map<string, Hidden[]>()
  readonly #standing: { by: string; id: string | undefined }[] = []

  constructor(named: readonly Named[]) {
    const counts = new Map<NameKind, number>()
    const seen = new Map<string, string>()
    for (const { id, kind, name } of named) {
      const text = name.trim()
      const folded = text.toLowerCase()
      if (text.length < SHORTEST_NAME || !IN_WORD.test(text) || COMMON.has(folded)) continue
      const known = seen.get(folded)
      const count = (counts.get(kind) ?? 0) + (known === undefined ? 1 : 0)
      const by = known ?? `${kind}-${count}`
      counts.set(kind, count)
      if (id !== undefined) this.#standing.push({ by, id })
      if (known !== undefined) continue
      seen.set(folded, by)
      this.#add(text, by)
    }
    for (const names of this.#byWord.values()) names.sort((a, b) => b.name.length - a.name.length)
  }

  #add(text: string, by: string): void {
    // In logs it stands in JSON.
    for (const name of new Set([text, JSON.stringify(text).slice(1, -1)])) {
      const first = /[\p{L}\p{N}]+/u.exec(name)
      if (!first) continue
      const word = first[0].toLowerCase()
      const names = this.#byWord.get(word) ?? []
      names.push({ by, lead: first.index, name: name.toLowerCase() })
      this.#byWord.set(word, names)
    }
  }

  /** Which word stands for which id. */
  get table(): string {
    const lines = this.#standing.map(({ by, id }) => `${by}\t${id}\n`)
    return [...new Set(lines)].join('')
  }

  hidden(text: string): string {
    const folded = text.toLowerCase()
    // Where folding changes the length, places do not correspond; such text is rare, and is folded then.
    const source = folded.length === text.length ? text : folded
    const parts: string[] = []
    let done = 0
    for (const { 0: word, index } of folded.matchAll(WORDS)) {
      const found = index < done ? undefined : this.#at(folded, word, index, done)
      if (!found) continue
      const from = index - found.lead
      parts.push(source.slice(done, from), found.by)
      done = from + found.name.length
    }
    return parts.length === 0 ? text : parts.join('') + source.slice(done)
  }

  #at(folded: string, word: string, index: number, done: number): Hidden | undefined {
    return this.#byWord.get(word)?.find(({ lead, name }) => {
      const from = index - lead
      if (from < done || !folded.startsWith(name, from)) return false
      const after = folded[from + name.length] ?? ''
      return !(IN_WORD.test(after) && IN_WORD.test(name.at(-1) as string))
    })
  }
}
