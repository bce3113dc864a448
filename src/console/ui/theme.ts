/** Calls whenever colours may have changed: a canvas knows no custom properties. Returns what ends it. */
export function whenRecoloured(draw: () => void): () => void {
  const queries = ['(prefers-color-scheme: dark)', '(forced-colors: active)'].map((query) => matchMedia(query))
  for (const query of queries) query.addEventListener('change', draw)
  const chosen = new MutationObserver(draw)
  chosen.observe(document.documentElement, { attributeFilter: ['data-theme'] })
  return () => {
    for (const query of queries) query.removeEventListener('change', draw)
    chosen.disconnect()
  }
}
