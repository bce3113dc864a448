interface Difference {
  after: string
  before: string
  /** Where it changed: `location.room`. */
  id: string
}

/** What changed between two states of a thing, place by place; lists are compared whole. */
export function differences(before: unknown, after: unknown): Difference[] {
  const [was, is] = [flat(before), flat(after)]
  return [...new Set([...was.keys(), ...is.keys()])]
    .filter((id) => was.get(id) !== is.get(id))
    .map((id) => ({ after: is.get(id) ?? '', before: was.get(id) ?? '', id }))
}

function flat(value: unknown, path: readonly string[] = []): Map<string, string> {
  if (value === undefined || value === null) return new Map()
  if (typeof value !== 'object' || Array.isArray(value))
    return new Map([[path.join('.'), typeof value === 'string' ? value : JSON.stringify(value)]])
  return new Map(Object.entries(value).flatMap(([name, inner]) => [...flat(inner, [...path, name])]))
}
