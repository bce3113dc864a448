/** How long a page is hidden until its streams end, ms. A browser has six connections to a controller, over all its tabs. */
const HIDDEN_MS = 5000

/** Tells of a page that is seen again, and of one that is not any more. @returns how to end it */
export function whileSeen(shown: () => void, hidden: () => void): () => void {
  let timer: number | undefined
  const look = (): void => {
    clearTimeout(timer)
    if (document.hidden) timer = window.setTimeout(hidden, HIDDEN_MS)
    else shown()
  }
  document.addEventListener('visibilitychange', look)
  // The browser may keep the page that is left for its back button, and the connections with it.
  window.addEventListener('pagehide', hidden)
  if (document.hidden) look()
  return () => {
    clearTimeout(timer)
    document.removeEventListener('visibilitychange', look)
    window.removeEventListener('pagehide', hidden)
  }
}
