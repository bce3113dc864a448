import { useMemo, useState } from 'preact/hooks'
import { type Zone, zone } from '../../kernel/zones.ts'
import type { CalendarItem } from '../../wire/schedules.ts'
import { useApp } from '../app/context.ts'
import { useNode } from '../data/reads.ts'
import { daysOf } from '../time/format.rules.ts'
import { classes, Name } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { Risks, useTimes } from './cardtext.tsx'
import css from './grid.module.css'
import { DAY_MINUTES, type Piece, type Place, type Row, rowsOf } from './layout.rules.ts'
import { MoveDialog } from './move.tsx'

/** Height of a card with its gap. */
const LANE_REM = 3
/** What is seen first of a day. */
const MORNING = 7
const HOURS = Array.from({ length: 24 }, (_, hour) => hour)

interface RoomRowsProps {
  day: number
  items: readonly CalendarItem[]
  /** All that are shown, also the free ones. */
  rooms: readonly Place[]
}

/** A day with one row for each room: what overlaps in a room stands below each other. */
export function RoomRows({ day, items, rooms }: RoomRowsProps) {
  const words = useWords()
  const { timeFormat } = useApp()
  const [asking, setAsking] = useState<CalendarItem>()
  const clock = useMemo(() => zone(timeFormat.zone), [timeFormat.zone])
  const rows = useMemo(() => rowsOf(items, clock, day, rooms), [items, clock, day, rooms])
  return (
    <>
      {rows.length === 0 && <p class={ui.quiet}>{words.schedule.nothing}</p>}
      {rows.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled by keys
        <section ref={atMorning} class={css.rooms} aria-label={daysOf(day, 1, words.locale)} tabIndex={0}>
          <div class={css.times} aria-hidden="true">
            {HOURS.map((hour) => (
              <span key={hour}>{String(hour).padStart(2, '0')}</span>
            ))}
          </div>
          <ul>
            {rows.map((row) => (
              <RoomRow key={row.key} clock={clock} open={setAsking} row={row} />
            ))}
          </ul>
        </section>
      )}
      {asking && <MoveDialog close={() => setAsking(undefined)} item={asking} to={asking.recordingStartAt} />}
    </>
  )
}

interface RoomRowProps {
  clock: Zone
  open(item: CalendarItem): void
  row: Row
}

function RoomRow({ clock, open, row: { nodeId, pieces, room, site } }: RoomRowProps) {
  const node = useNode(nodeId)
  return (
    <li class={css.roomrow}>
      <span class={css.roomname}>
        <Name>{room}</Name>{' '}
        <small class={ui.quiet}>
          <Name>{site ?? node.data?.data.alias}</Name>
        </small>
      </span>
      <div class={css.track} ref={high(Math.max(1, ...pieces.map(({ lanes }) => lanes)))}>
        {pieces.map((piece) => (
          <Bar
            key={`${piece.item.scheduleId} ${piece.item.recordingStartAt}`}
            clock={clock}
            open={open}
            piece={piece}
          />
        ))}
      </div>
    </li>
  )
}

function Bar({ clock, open, piece }: { clock: Zone; open(item: CalendarItem): void; piece: Piece }) {
  const words = useWords()
  const { item, lanes } = piece
  const [from, to] = useTimes(item, clock)
  return (
    <button
      type="button"
      ref={along(piece)}
      class={classes(css.card, (lanes > 1 || item.risks || item.foreseen) && css.clash)}
      onClick={() => open(item)}
    >
      <strong>{from}</strong> <Risks of={item} />
      <br />
      <bdi>{item.scheduleName}</bdi>
      <span class={ui.hidden}>{words.schedule.until(to)}</span>
    </button>
  )
}

const atMorning = (element: HTMLElement | null): void => {
  const hour = element?.querySelector<HTMLElement>(`.${css.times} span`)
  if (element && hour) element.scrollLeft = MORNING * hour.offsetWidth
}

/** The policy of the page allows no style attribute. */
const high =
  (lanes: number) =>
  (element: HTMLElement | null): void => {
    if (element) element.style.blockSize = `${lanes * LANE_REM}rem`
  }

const along =
  ({ end, lane, start }: Piece) =>
  (element: HTMLElement | null): void => {
    if (!element) return
    const percent = (minutes: number): string => `${(minutes / DAY_MINUTES) * 100}%`
    element.style.insetInlineStart = percent(start)
    element.style.inlineSize = percent(Math.max(end - start, 1))
    element.style.insetBlockStart = `${lane * LANE_REM}rem`
  }
