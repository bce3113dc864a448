import type { Node, NodeStatus } from '../../wire/nodes.ts'
import type { Recording } from '../../wire/recordings.ts'
import type { Room } from '../../wire/rooms.ts'
import type { CalendarItem } from '../../wire/schedules.ts'

/** The worst first: of several recorders a room is in the state of the worst. */
const GRAVITY: readonly NodeStatus[] = ['alerting', 'offline', 'degraded', 'recording', 'provisioning', 'online']

const SILENT: ReadonlySet<string> = new Set(['offline', 'provisioning', 'retired'])

/** Of one schedule at most three occurrences are told: beyond the third of any of them there would be holes. */
export function withoutHoles<T extends { recordingStartAt: string; scheduleId: string }>(told: readonly T[]): T[] {
  const cut = [...Map.groupBy(told, ({ scheduleId }) => scheduleId).values()].filter(({ length }) => length >= 3)
  const ends = cut.map((all) => all.at(-1)?.recordingStartAt ?? '').sort()
  return told.filter(({ recordingStartAt }) => ends[0] === undefined || recordingStartAt <= ends[0])
}

/** Whether a recorder sends nothing and takes no orders. */
export const isSilent = ({ status }: Pick<Node, 'status'>): boolean => SILENT.has(status)

/** Recorders by the rooms they stand in or have channels in. */
export function nodesByRoom(nodes: readonly Node[]): ReadonlyMap<string, Node[]> {
  const found = new Map<string, Node[]>()
  for (const node of nodes) {
    const channels = node.interfaces.flatMap((device) => device.channels)
    for (const id of new Set([node.roomId, ...channels.map(({ roomId }) => roomId)]))
      if (id !== undefined) found.set(id, [...(found.get(id) ?? []), node])
  }
  return found
}

export const stateOf = (nodes: readonly Node[]): NodeStatus | undefined =>
  GRAVITY.find((status) => nodes.some((node) => node.status === status))

/** Whether a room is what was searched: capital or small letters are the same. */
export const matches = (
  { building, floor, name, site }: Room,
  { q = '', site: at = '' }: Record<string, string>,
): boolean =>
  (at === '' || at === site) && [name, site, building, floor].join(' ').toLowerCase().includes(q.toLowerCase())

/** What comes first in a room. */
export const nextIn = (room: Room, items: readonly CalendarItem[], now: number): CalendarItem | undefined =>
  items
    .filter(({ recordingStartAt, roomId }) => roomId === room.id && Date.parse(recordingStartAt) > now)
    .toSorted((a, b) => Date.parse(a.recordingStartAt) - Date.parse(b.recordingStartAt))[0]

export const runningIn = (room: Room, takes: readonly Recording[]): Recording[] =>
  takes.filter(({ roomId, status }) => roomId === room.id && status === 'recording')

/** Site, building and floor of a room, as far as they are known; `floor` says a number of one in words. */
export const locationOf = (
  place: { building?: string | undefined; floor?: string | undefined; site?: string },
  floor: (number: string) => string,
): string =>
  [place.site, place.building, place.floor && /^-?\d+$/.test(place.floor) ? floor(place.floor) : place.floor]
    .filter(Boolean)
    .join(', ')
