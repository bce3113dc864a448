// What makes a page begin anew: a secret pasted into its address, a sign-out in another tab, a part that an update took away.
import { keep } from '../data/kept.ts'

const LEFT = 'roomtone.left'
const RELOADED = 'roomtone.reloaded'
/** A page that was loaded anew less than this ago is not helped by it, ms. */
const LATELY_MS = 60_000

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

/** Tells the other tabs of this browser that somebody has signed out; where they cannot hear it, their next request says so. */
export const tellSignedOut = (): void => keep(LEFT, String(Date.now()))

/** Where another tab has signed out this one begins anew, and shows nothing of that person. @returns how to end it */
export function whenSignedOut(): () => void {
  const told = ({ key }: StorageEvent): void => {
    if (key === LEFT) location.assign('/')
  }
  window.addEventListener('storage', told)
  return () => window.removeEventListener('storage', told)
}

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
