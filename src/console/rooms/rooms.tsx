import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import type { Node } from '../../wire/nodes.ts'
import type { Recording } from '../../wire/recordings.ts'
import type { Room } from '../../wire/rooms.ts'
import type { CalendarItem } from '../../wire/schedules.ts'
import { useApp } from '../app/context.ts'
import { may } from '../app/may.rules.ts'
import { useAll, useRead } from '../data/reads.ts'
import { MeterStrip } from '../meters/strip.tsx'
import { useElapsed, useHour, When } from '../time/when.tsx'
import { dayAhead } from '../today/today.rules.ts'
import { FilterBar, useFilters } from '../ui/filters.tsx'
import { Badge, Button, classes, Failure, Loading, Name, Section, Title } from '../ui/parts.tsx'
import { Pager } from '../ui/table.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { sharesOf } from './channels.rules.ts'
import { RoomDialog } from './edit.tsx'
import { isSilent, locationOf, matches, nextIn, nodesByRoom, runningIn, stateOf } from './list.rules.ts'

/** Rooms on one page: as many recorders as one stream of levels can name. */
const SIZE = 50

export function Rooms(_: { id: string }) {
  const words = useWords()
  const { me } = useApp()
  const [adding, setAdding] = useState(false)
  const rooms = useRead<{ data: Room[] }>('/rooms', ['room', 'node'])
  return (
    <>
      <div class={ui.heading}>
        <Title>{words.rooms.title}</Title>
        {may(me, 'node:manage') && (
          <div class={ui.row}>
            <Button onClick={() => setAdding(true)}>{words.edit.addRoom}</Button>
            <Link class={classes(ui.button, ui.primary)} href="/add">
              {words.edit.bringOnline}
            </Link>
          </div>
        )}
      </div>
      {adding && <RoomDialog close={() => setAdding(false)} />}
      <Loading of={rooms}>
        {({ data }) => (data.length === 0 ? <p>{words.rooms.empty}</p> : <Listed rooms={data} />)}
      </Loading>
    </>
  )
}

const bySite = (rooms: Room[]): [string, Room[]][] =>
  Object.entries(Object.groupBy(rooms, ({ site }) => site) as Record<string, Room[]>)

function Listed({ rooms }: { rooms: Room[] }) {
  const words = useWords()
  const filters = useFilters(['q', 'site'])
  const found = rooms.filter((room) => matches(room, filters.values))
  const shown = found.slice(filters.offset, filters.offset + SIZE)
  const now = useNow()
  const sites = [...new Set(rooms.map(({ site }) => site))]
  return (
    <>
      <FilterBar
        filters={filters}
        searches={[{ label: words.rooms.search, name: 'q' }]}
        choices={[{ label: words.edit.site, name: 'site', options: sites.map((site) => [site, site] as const) }]}
      />
      {now.error && <Failure error={now.error} />}
      {found.length === 0 && <p class={ui.quiet}>{words.common.noMatch}</p>}
      {bySite(shown).map(([site, own]) => (
        <Section key={site} title={site}>
          <ul class={ui.rows}>
            {own.map((room) => (
              <Row key={room.id} now={now} room={room} />
            ))}
          </ul>
        </Section>
      ))}
      {found.length > SIZE && (
        <Pager
          go={filters.go}
          meta={{ offset: filters.offset, returned: shown.length, total: found.length }}
          size={SIZE}
        />
      )}
    </>
  )
}

interface Now {
  /** Why there is nothing to say of the recorders. */
  error: Error | null
  items: readonly CalendarItem[]
  nodes: ReadonlyMap<string, Node[]>
  takes: readonly Recording[]
}

/** What is so in all rooms, however many there are. */
function useNow(): Now {
  const { me } = useApp()
  const { end, start } = dayAhead(useHour())
  const nodes = useAll<Node>('/nodes', ['node'])
  const takes = useRead<{ data: Recording[] }>(
    may(me, 'recording:read') ? '/recordings?status=recording&limit=200' : undefined,
    ['recording'],
  )
  const calendar = useRead<{ data: CalendarItem[] }>(
    may(me, 'schedule:read') ? `/schedules/calendar?start=${start}&end=${end}` : undefined,
    ['schedule', 'node'],
  )
  return {
    error: nodes.data ? null : nodes.error,
    items: calendar.data?.data ?? [],
    nodes: nodesByRoom(nodes.data ?? []),
    takes: takes.data?.data ?? [],
  }
}

function Row({ now, room }: { now: Now; room: Room }) {
  const words = useWords()
  const { api } = useApp()
  const { building, floor, id, name, nodeCount = 0 } = room
  const nodes = now.nodes.get(id) ?? []
  const state = stateOf(nodes)
  const next = nextIn(room, now.items, api.now())
  return (
    <li class={ui.stack}>
      <div class={ui.row}>
        <Link class={ui.grow} href={`/rooms/${encodeURIComponent(id)}`}>
          <Name>{name}</Name>
        </Link>
        <span class={classes(ui.quiet, ui.small)}>
          <Name>{locationOf({ building, floor }, words.rooms.floor)}</Name>
        </span>
        {nodeCount !== 1 && <span class={classes(ui.quiet, ui.small)}>{words.rooms.recorders(nodeCount)}</span>}
        {state && <Badge state={state} word={words.status[state] ?? state} />}
      </div>
      {runningIn(room, now.takes).map((take) => (
        <Running key={take.id} take={take} />
      ))}
      {next && (
        <p class={classes(ui.quiet, ui.small)}>
          {words.rooms.next} <When at={next.recordingStartAt} /> <Name>{next.scheduleName}</Name>
        </p>
      )}
      {nodes
        .filter((node) => !isSilent(node))
        .flatMap((node) =>
          sharesOf(node, id).map(({ device }) => (
            <MeterStrip key={`${node.id} ${device.id}`} dense device={device} nodeId={node.id} />
          )),
        )}
    </li>
  )
}

function Running({ take }: { take: Recording }) {
  const words = useWords()
  const elapsed = useElapsed(take.recordedAt)
  return (
    <div class={ui.row}>
      <Link class={ui.grow} href={`/library/${encodeURIComponent(take.id)}`}>
        <Name>{take.name}</Name>
      </Link>
      <span class={ui.numbers}>{words.today.elapsed(elapsed)}</span>
    </div>
  )
}
