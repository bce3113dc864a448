export interface Entered {
  checked: boolean
  /** What an empty field means: left out, null, or the empty text. */
  empty: 'null' | 'omit' | 'text'
  kind: 'checkbox' | 'list' | 'number' | 'text'
  name: string
  value: string
}

const LEFT_OUT = Symbol('left out')

function meant({ checked, empty, kind, value }: Entered): unknown {
  if (kind === 'checkbox') return checked
  const text = value.trim()
  if (kind === 'list')
    return text
      .split(',')
      .map((one) => one.trim())
      .filter(Boolean)
  if (text === '') return empty === 'null' ? null : empty === 'omit' ? LEFT_OUT : ''
  return kind === 'number' ? Number(text) : value
}

/** The body a form stands for; a name with dots is a value inside: `email.host`. An empty number is never 0. */
export function bodyOf(fields: readonly Entered[]): Record<string, unknown> {
  const body: Record<string, unknown> = {}
  for (const field of fields) {
    const value = meant(field)
    if (value === LEFT_OUT) continue
    const path = field.name.split('.')
    const last = path.pop() as string
    let place = body
    for (const step of path) {
      place[step] ??= {}
      place = place[step] as Record<string, unknown>
    }
    place[last] = value
  }
  return body
}

/** The fields that what is said of a value may stand at: its own, or the one that holds a whole list. */
export const namesOf = (path: readonly (number | string)[]): string[] =>
  typeof path.at(-1) === 'number' ? [path.slice(0, -1).join('.'), path.join('.')] : [path.join('.')]
