import { useMemo } from 'preact/hooks'
import { Link, useSearchParams } from 'wouter-preact'
import { dateOf, dayNumber, zone } from '../../kernel/zones.ts'
import type { Room } from '../../wire/rooms.ts'
import type { CalendarItem } from '../../wire/schedules.ts'
import { useApp } from '../app/context.ts'
import { may } from '../app/may.rules.ts'
import { useRead } from '../data/reads.ts'
import { daysOf } from '../time/format.rules.ts'
import { FilterBar, type Filters, useFilters } from '../ui/filters.tsx'
import { Button, classes, Loading, Title } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import css from './grid.module.css'
import { Grid } from './grid.tsx'
import { wallOf, weekOf } from './layout.rules.ts'
import { List } from './list.tsx'
import { RoomRows } from './roomrows.tsx'
import { Sheet, usePrinting } from './sheet.tsx'

const VIEWS = ['week', 'day', 'rooms', 'list'] as const
type View = (typeof VIEWS)[number]

/** View and date stand in the address. On a phone the week is a day. */
export function SchedulePage(_: { id: string }) {
  const words = useWords()
  const { api, timeFormat, me } = useApp()
  const [params, setParams] = useSearchParams()
  const narrow = matchMedia('(max-width: 50rem)').matches
  const view: View = VIEWS.find((one) => one === params.get('view')) ?? (narrow ? 'day' : 'week')
  const today = wallOf(api.now(), zone(timeFormat.zone)).day
  const asked = dayNumber(params.get('date') ?? '')
  const day = Number.isFinite(asked) ? asked : today
  const show = (next: { date?: string; view?: View }): void => {
    const wanted = new URLSearchParams(params)
    for (const [name, value] of Object.entries(next)) wanted.set(name, value)
    setParams(wanted)
  }
  return (
    <>
      <div class={ui.heading}>
        <Title>{words.schedule.title}</Title>
        {may(me, 'schedule:manage') && (
          <Link class={classes(ui.button, ui.primary)} href="/schedules/new">
            {words.schedule.new}
          </Link>
        )}
      </div>
      <div class={ui.row} role="radiogroup" aria-label={words.schedule.title}>
        {VIEWS.map((one) => (
          <label key={one} class={ui.button}>
            <input type="radio" name="view" checked={view === one} onChange={() => show({ view: one })} />
            {words.schedule.views[one]}
          </label>
        ))}
      </div>
      {view === 'list' ? (
        <List />
      ) : (
        <Calendar
          byRooms={() => show({ view: 'rooms' })}
          day={day}
          show={(to) => show({ date: dateOf(to) })}
          today={today}
          view={view}
        />
      )}
    </>
  )
}

interface CalendarProps {
  byRooms(): void
  day: number
  show(day: number): void
  today: number
  view: Exclude<View, 'list'>
}

interface Answer {
  data: CalendarItem[]
  meta: { truncated: boolean }
}

function Calendar({ byRooms, day, show, today, view }: CalendarProps) {
  const words = useWords()
  const { timeFormat, me } = useApp()
  const week = view === 'week'
  const first = week ? weekOf(day, me.site.weekStartsOn) : day
  const count = week ? 7 : 1
  const clock = useMemo(() => zone(timeFormat.zone), [timeFormat.zone])
  const span = new URLSearchParams({
    end: new Date(clock.at(first + count, 0)).toISOString(),
    start: new Date(clock.at(first, 0)).toISOString(),
  })
  const paper = usePrinting()
  const filters = useFilters(['site', 'roomId'])
  for (const [name, value] of Object.entries(filters.values)) span.set(name, value)
  const rooms = useRead<{ data: Room[] }>(may(me, 'node:read') ? '/rooms' : undefined, ['room', 'node']).data?.data
  const { roomId, site } = filters.values
  const shown = useMemo(
    () => rooms?.filter((room) => (site ?? room.site) === room.site && (roomId ?? room.id) === room.id) ?? [],
    [rooms, roomId, site],
  )
  const items = useRead<Answer>(`/schedules/calendar?${span}`, ['schedule', 'node'])
  return (
    <>
      <div class={ui.row}>
        <Button onClick={() => show(day - count)}>{words.schedule.previous}</Button>
        <Button onClick={() => show(today)}>{words.schedule.today}</Button>
        <Button onClick={() => show(day + count)}>{words.schedule.next}</Button>
        <input
          class={classes(ui.input, css.jump)}
          type="date"
          aria-label={words.schedule.jump}
          value={dateOf(day)}
          onChange={(e) => e.currentTarget.value && show(dayNumber(e.currentTarget.value))}
        />
        <Button onClick={paper.print}>{words.schedule.print}</Button>
        <span class={classes(ui.quiet, ui.small)}>{words.schedule.zone(timeFormat.zone)}</span>
      </div>
      {rooms && <Places filters={filters} rooms={rooms} />}
      <h2 class={css.period}>{daysOf(first, count, words.locale)}</h2>
      <Loading of={items}>
        {({ data, meta }) => (
          <>
            {paper.wanted && <Sheet count={count} first={first} items={data} />}
            {meta.truncated && <p class={ui.warn}>{words.schedule.truncated}</p>}
            {view === 'rooms' ? (
              <RoomRows day={first} items={data} rooms={shown} />
            ) : (
              <Grid byRooms={byRooms} count={count} first={first} items={data} today={today} />
            )}
          </>
        )}
      </Loading>
    </>
  )
}

/** Which rooms are shown: a week of many of them cannot be read. */
function Places({ filters, rooms }: { filters: Filters; rooms: readonly Room[] }) {
  const words = useWords()
  const sites = [...new Set(rooms.map(({ site }) => site))].sort()
  const within = rooms.filter(({ site }) => filters.values.site === undefined || site === filters.values.site)
  return (
    <FilterBar
      filters={filters}
      choices={[
        { label: words.onboard.site, name: 'site', options: sites.map((site) => [site, site] as const) },
        { label: words.schedule.room, name: 'roomId', options: within.map(({ id, name }) => [id, name] as const) },
      ]}
    />
  )
}
