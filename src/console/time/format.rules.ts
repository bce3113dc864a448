// Times as people read them, always in a named zone. Pure: zone, locale and now are arguments.
import { DAY_MS } from '../../kernel/zones.ts'

export interface TimeFormat {
  locale: string
  zone: string
}

const formats = new Map<string, Intl.DateTimeFormat>()
function format({ locale, zone }: TimeFormat, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = JSON.stringify([locale, zone, options])
  const made = formats.get(key) ?? new Intl.DateTimeFormat(locale, { ...options, timeZone: zone })
  formats.set(key, made)
  return made
}

/** `Monday 2 March 2026` of one day, `2 – 8 March 2026` of more; `first`: days since 1970. */
export function daysOf(first: number, count: number, locale: string): string {
  const weekday = count === 1 ? ({ weekday: 'long' } as const) : {}
  const written = format({ locale, zone: 'UTC' }, { ...weekday, day: 'numeric', month: 'long', year: 'numeric' })
  return written.formatRange(first * DAY_MS, (first + count - 1) * DAY_MS)
}

/** `14:05`. */
export const timeOf = (at: string, timeFormat: TimeFormat): string =>
  format(timeFormat, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }).format(new Date(at))

/** `Mon 02 Mar 2026`. */
export const dayOf = (at: string, timeFormat: TimeFormat): string =>
  format(timeFormat, { day: '2-digit', month: 'short', weekday: 'short', year: 'numeric' }).format(new Date(at))

/** `Mon 02 Mar 2026, 14:05`. */
export const instantOf = (at: string, timeFormat: TimeFormat): string =>
  `${dayOf(at, timeFormat)}, ${timeOf(at, timeFormat)}`

/** The calendar day of an instant as a number of days. */
const dayNumber = (at: string, { zone }: TimeFormat): number =>
  Date.parse(
    format({ locale: 'sv-SE', zone }, { day: '2-digit', month: '2-digit', year: 'numeric' }).format(new Date(at)),
  ) / DAY_MS

/** `14:05` of the day of `now` (Unix ms), `Tomorrow, 14:05` of the next, `Mon 02 Mar 2026, 14:05` of another. */
export function soonOf(at: string, now: number, timeFormat: TimeFormat): string {
  const days = dayNumber(at, timeFormat) - dayNumber(new Date(now).toISOString(), timeFormat)
  if (days === 0) return timeOf(at, timeFormat)
  if (days !== 1) return instantOf(at, timeFormat)
  const [first = '', ...rest] = new Intl.RelativeTimeFormat(timeFormat.locale, { numeric: 'auto' }).format(1, 'day')
  return `${first.toLocaleUpperCase(timeFormat.locale)}${rest.join('')}, ${timeOf(at, timeFormat)}`
}

/** `1:02:03` or `2:03` of seconds. */
export function lengthOf(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds))
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60]
  const two = (n: number): string => String(n).padStart(2, '0')
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`
}

/** Seconds between two instants. */
export const secondsBetween = (from: string, to: number): number => (to - Date.parse(from)) / 1000

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB']

/** `3.4 GB` of bytes. */
export function bytesOf(bytes: number, locale: string): string {
  const power = Math.min(UNITS.length - 1, bytes < 1 ? 0 : Math.floor(Math.log10(bytes) / 3))
  const value = (bytes / 1000 ** power).toLocaleString(locale, { maximumFractionDigits: power === 0 ? 0 : 1 })
  return `${value} ${UNITS[power]}`
}

const TOLERATED_MS = 3000

/**
 * How far the controller's clock is ahead of the one that shows `now` (Unix ms); ms. The header counts whole seconds and
 * was some time on its way: a difference below 3 s is none.
 */
export function aheadOf(date: string, now: number): number {
  const difference = Date.parse(date) - now
  return Math.abs(difference) >= TOLERATED_MS ? difference : 0
}
