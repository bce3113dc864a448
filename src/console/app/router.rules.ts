export interface Found {
  id: string
  pattern: string
}

/** The pattern an address fits, with its one `:id`; a pattern without one wins. */
export function find(patterns: readonly string[], path: string): Found | undefined {
  const plain = path.length > 1 ? path.replace(/\/$/, '') : path
  if (patterns.includes(plain)) return { id: '', pattern: plain }
  const cut = plain.lastIndexOf('/')
  const pattern = `${plain.slice(0, cut)}/:id`
  if (!patterns.includes(pattern)) return undefined
  try {
    return { id: decodeURIComponent(plain.slice(cut + 1)), pattern }
  } catch {
    // A percent sign that stands for nothing: no such page.
    return undefined
  }
}
