import { keep } from '../data/kept.ts'

const KEY = 'roomtone.left'

/** Tells the other tabs of this browser that somebody has signed out; where they cannot hear it, their next request says so. */
export const tellSignedOut = (): void => keep(KEY, String(Date.now()))

/** Where another tab has signed out this one begins anew, and shows nothing of that person. @returns how to end it */
export function whenSignedOut(): () => void {
  const told = ({ key }: StorageEvent): void => {
    if (key === KEY) location.assign('/')
  }
  window.addEventListener('storage', told)
  return () => window.removeEventListener('storage', told)
}
