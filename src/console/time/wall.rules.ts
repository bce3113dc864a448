import { dayNumber, zone } from '../../kernel/zones.ts'

/** The instant at which clocks of the zone show `2026-03-29T14:05`; in a lost hour the first one after it, in a doubled one the earlier. */
export function instantAt(wall: string, zoneName: string): string {
  const [date = '', time = ''] = wall.split('T')
  const [hours = 0, minutes = 0] = time.split(':').map(Number)
  return new Date(zone(zoneName).at(dayNumber(date), hours * 60 + minutes)).toISOString()
}

/** What clocks of the zone show at an instant: `2026-03-29T14:05`. */
export function wallTimeOf(at: string, zoneName: string): string {
  const ms = Date.parse(at)
  return new Date(ms + zone(zoneName).offset(ms)).toISOString().slice(0, 16)
}

/** The instant a field of wall time stands for; as long as it shows that of `at`, it is `at`: seconds and the second hour of autumn stay. */
export const instantKept = (wall: string, at: string, zoneName: string): string =>
  wall === wallTimeOf(at, zoneName) ? at : instantAt(wall, zoneName)
