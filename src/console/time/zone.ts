export const ZONES_OF = ['site', 'device'] as const
/** Whose zone times are shown in. */
export type ZoneOf = (typeof ZONES_OF)[number]
const KEY = 'roomtone.zone'

export const deviceZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone

export function preferredZone(): ZoneOf {
  try {
    return localStorage.getItem(KEY) === 'device' ? 'device' : 'site'
  } catch {
    // Storage may be forbidden: the zone of the site it is.
    return 'site'
  }
}

export function rememberZone(of: ZoneOf): void {
  try {
    localStorage.setItem(KEY, of)
  } catch {
    // Storage may be forbidden: it holds until the page is closed.
  }
}
