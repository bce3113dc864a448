const RELOADED = 'roomtone.reloaded'
/** A page that was loaded anew less than this ago is not helped by it, ms. */
const LATELY_MS = 60_000

/** Whether to load the page anew, which is noted: what is gone for good must not make it load for ever. */
function mayReload(): boolean {
  try {
    const [href, at] = JSON.parse(sessionStorage.getItem(RELOADED) ?? '[]') as [string?, number?]
    if (href === location.href && Date.now() - (at ?? 0) < LATELY_MS) return false
    sessionStorage.setItem(RELOADED, JSON.stringify([location.href, Date.now()]))
    return true
  } catch {
    // Storage may be forbidden: then nothing is known of an earlier time.
    return false
  }
}

/** A part of the program. One that is gone after an update makes the page load anew, once. @throws what `load` throws */
export async function loaded<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (e) {
    if (!mayReload()) throw e
    location.reload()
    return await new Promise(() => {})
  }
}
