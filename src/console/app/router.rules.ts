export interface Found {
  /** What stands in place of the first `:name` of the pattern, and of the second. */
  id: string
  part: string
  pattern: string
}

/** The pattern an address fits; one without names wins. */
export function find(patterns: readonly string[], path: string): Found | undefined {
  const plain = path.length > 1 ? path.replace(/\/$/, '') : path
  if (patterns.includes(plain)) return { id: '', part: '', pattern: plain }
  const steps = plain.split('/')
  const pattern = patterns.find((one) => {
    const wanted = one.split('/')
    return (
      wanted.length === steps.length && wanted.every((step, i) => step === steps[i] || (step[0] === ':' && steps[i]))
    )
  })
  if (pattern === undefined) return undefined
  try {
    const names = pattern.split('/').flatMap((step, i) => (step[0] === ':' ? [decodeURIComponent(steps[i] ?? '')] : []))
    return { id: names[0] ?? '', part: names[1] ?? '', pattern }
  } catch {
    // A percent sign that stands for nothing: no such page.
    return undefined
  }
}
