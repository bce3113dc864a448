// What leaves a site in a support file holds no secret and tells nobody's name.
import { redacted } from '../kernel/redact.ts'

/** What a name belongs to; the word that stands for it is made of this. */
type NameKind = 'host' | 'name' | 'person' | 'place' | 'recorder' | 'recording' | 'room' | 'schedule' | 'site'

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
  // Links that acknowledge an alert.
  [/\/a\/[\w-]{40,}/g, `/a/${GONE}`],
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
const TOKENS = /[\p{L}\p{N}]+|[^\p{L}\p{N}]+/gu
/** Words at both ends, so that a name is found whatever stands around it. */
const CORE = /[\p{L}\p{N}](?:.*[\p{L}\p{N}])?/su

/** Names by their tokens, in small letters: words and what is between them. */
interface Branch {
  /** The word that stands for the name that ends here. */
  by?: string
  next: Map<string, Branch>
}

const tokensOf = (text: string): string[] => text.match(TOKENS) ?? []

/** Replaces names by words that are the same everywhere: `room-1`. Whole words only, in any case. */
export class NameHider {
  readonly #names: Branch = { next: new Map() }
  readonly #standing = new Set<string>()

  constructor(named: readonly Named[]) {
    const counts = new Map<NameKind, number>()
    const seen = new Map<string, string>()
    for (const { id, kind, name } of named) {
      const folded = name.trim().toLowerCase()
      if (folded.length < SHORTEST_NAME || COMMON.has(folded)) continue
      const known = seen.get(folded)
      const count = (counts.get(kind) ?? 0) + (known === undefined ? 1 : 0)
      const by = known ?? `${kind}-${count}`
      if (id !== undefined) this.#standing.add(`${by}\t${id}\n`)
      if (known !== undefined) continue
      counts.set(kind, count)
      seen.set(folded, by)
      this.#add(folded, by)
    }
  }

  #add(folded: string, by: string): void {
    // In logs it stands in JSON, and in JSON within JSON.
    const quoted = JSON.stringify(folded).slice(1, -1)
    for (const name of new Set([folded, quoted, JSON.stringify(quoted).slice(1, -1)])) {
      let at = this.#names
      for (const token of tokensOf(CORE.exec(name)?.[0] ?? '')) {
        const next = at.next.get(token) ?? { next: new Map() }
        at.next.set(token, next)
        at = next
      }
      if (at !== this.#names) at.by ??= by
    }
  }

  /** Which word stands for which id. */
  get table(): string {
    return [...this.#standing].join('')
  }

  hidden(text: string): string {
    return text.replace(/[^\n]+/g, (line) => this.#line(line))
  }

  #line(line: string): string {
    const tokens = tokensOf(line)
    const parts: string[] = []
    for (let at = 0; at < tokens.length; ) {
      const { by, length } = this.#longest(tokens, at)
      parts.push(by ?? (tokens[at] as string))
      at += length
    }
    return parts.join('')
  }

  /** The longest name that begins there, and how many tokens it has. */
  #longest(tokens: readonly string[], from: number): { by?: string; length: number } {
    let found: { by?: string; length: number } = { length: 1 }
    let branch: Branch | undefined = this.#names
    for (let at = from; branch && at < tokens.length; at++) {
      branch = branch.next.get((tokens[at] as string).toLowerCase())
      if (branch?.by !== undefined) found = { by: branch.by, length: at - from + 1 }
    }
    return found
  }
}
