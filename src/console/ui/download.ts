/** The browser reads the address after the click has returned: it is given back later. */
const KEPT_MS = 60_000

/** Hands a text over as a file. */
export function download(name: string, text: string, type = 'text/plain'): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([text], { type }))
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), KEPT_MS)
}
