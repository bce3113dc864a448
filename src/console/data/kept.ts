// What this browser keeps of what its user chose.

/** Null where nothing was kept. */
export function kept(key: string): string | null {
  try {
    return localStorage.getItem(key)
  } catch {
    // Storage may be forbidden: then nothing is kept.
    return null
  }
}

export function keep(key: string, value: string): void {
  try {
    localStorage.setItem(key, value)
  } catch {
    // Storage may be forbidden: it holds until the page is closed.
  }
}
