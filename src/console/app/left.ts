const LEFT = 'roomtone.left'

/** Tells the other tabs of this browser that somebody has signed out. */
export function tellLeft(): void {
  try {
    localStorage.setItem(LEFT, String(Date.now()))
  } catch {
    // Storage may be forbidden: they learn it with their next request.
  }
}

/** Where another tab has signed out this one begins anew, and shows nothing of that person. @returns how to end it */
export function whenLeft(): () => void {
  const told = ({ key }: StorageEvent): void => {
    if (key === LEFT) location.assign('/')
  }
  window.addEventListener('storage', told)
  return () => window.removeEventListener('storage', told)
}
