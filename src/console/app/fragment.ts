/** Takes a secret out of the address, `#name=secret`, before anything else can keep or show it. */
export function takeSecret(name: string): string | undefined {
  const secret = new URLSearchParams(location.hash.slice(1)).get(name)
  if (secret === null) return undefined
  // Two slashes at the beginning would be the name of another host.
  history.replaceState(null, '', location.pathname.replace(/^\/+/, '/') + location.search)
  return secret
}

/** An address with such a secret, pasted into an open tab, begins like one opened anew. @returns how to end it */
export function whenPasted(names: readonly string[]): () => void {
  const changed = (): void => {
    const given = new URLSearchParams(location.hash.slice(1))
    if (names.some((name) => given.has(name))) location.reload()
  }
  window.addEventListener('hashchange', changed)
  return () => window.removeEventListener('hashchange', changed)
}
