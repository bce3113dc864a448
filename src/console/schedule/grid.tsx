import type { RefObject } from 'preact'
import { useMemo, useRef, useState } from 'preact/hooks'
import { DAY_MS, type Zone, zone } from '../../kernel/zones.ts'
import type { CalendarItem } from '../../wire/schedules.ts'
import { useApp } from '../app/context.ts'
import { may } from '../app/may.rules.ts'
import { instantOf } from '../time/format.rules.ts'
import { Button, classes } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { Risks, useTimes } from './cardtext.tsx'
import css from './grid.module.css'
import { changeOf, DAY_MINUTES, landing, layOut, moved, type Piece, STEP, wallOf, within } from './layout.rules.ts'
import { MoveDialog } from './move.tsx'

interface GridProps {
  /** Shows the day by rooms. */
  byRooms(): void
  count: number
  first: number
  items: readonly CalendarItem[]
  today: number
}

interface Place {
  day: number
  minute: number
}

/** A card in the air, and where it would land. */
interface Lifted {
  item: CalendarItem
  to: Place
}

/** Cards beside each other that can still be read. */
const MAX_LANES = 3
/** The hour that is seen first. */
const MORNING = 7
const HOURS = Array.from({ length: 24 }, (_, hour) => hour)

/** Days beside each other on a wall clock of 24 rows. Cards are moved by pointer, by keys, or by a dialog. */
export function Grid({ byRooms, count, first, items, today }: GridProps) {
  const words = useWords()
  const { timeFormat } = useApp()
  const clock = useMemo(() => zone(timeFormat.zone), [timeFormat.zone])
  const columns = useRef<HTMLDivElement>(null)
  const [lifted, setLifted] = useState<Lifted>()
  const [asking, setAsking] = useState<Lifted>()
  const [said, setSaid] = useState('')
  // A card in the air renders the grid at every step.
  const pieces = useMemo(() => layOut(items, clock, first, count), [items, clock, first, count])
  const byDay = useMemo(() => Map.groupBy(pieces, ({ day }) => day), [pieces])
  const lift = (item: CalendarItem): void => {
    setLifted({ item, to: wallOf(Date.parse(item.recordingStartAt), clock) })
    setSaid(words.schedule.lifted(item.scheduleName))
  }
  const carry = ({ item, to }: Lifted): void => {
    const kept = within(to, first, count)
    setLifted({ item, to: kept })
    const told = words.schedule.at(item.scheduleName, instantOf(landing(item, kept, clock), timeFormat))
    setSaid(kept.day === to.day ? told : words.schedule.edge(told))
  }
  const drop = (held: Lifted): void => {
    setLifted(undefined)
    setAsking(held)
  }
  const giveBack = (): void => {
    if (lifted) setSaid(words.schedule.back(lifted.item.scheduleName))
    setLifted(undefined)
  }
  const hands: Hands = { carry, columns, count, drop, first, giveBack, lift, lifted, open: setAsking }
  return (
    <>
      <p class={classes(css.keys, ui.quiet, ui.small)}>{words.schedule.keys}</p>
      {pieces.some(({ lanes }) => lanes > MAX_LANES) && (
        <div class={ui.notice}>
          <span class={ui.grow}>{words.schedule.crowded}</span>
          <Button onClick={byRooms}>{words.schedule.views.rooms}</Button>
        </div>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled by keys */}
      <section ref={atMorning} class={css.grid} aria-label={words.schedule.title} tabIndex={0}>
        <Hours />
        <div ref={columns} class={css.days}>
          {Array.from({ length: count }, (_, i) => first + i).map((day) => (
            <Day key={day} clock={clock} day={day} hands={hands} pieces={byDay.get(day) ?? []} today={day === today} />
          ))}
        </div>
      </section>
      <p role="status" class={ui.hidden}>
        {said}
      </p>
      {asking && (
        <MoveDialog close={() => setAsking(undefined)} item={asking.item} to={landing(asking.item, asking.to, clock)} />
      )}
    </>
  )
}

const atMorning = (element: HTMLElement | null): void => {
  const hour = element?.querySelector<HTMLElement>(`.${css.hours} span`)
  if (element && hour) element.scrollTop = MORNING * hour.offsetHeight
}

function Hours() {
  return (
    <div class={css.hours} aria-hidden="true">
      {HOURS.map((hour) => (
        <span key={hour}>{`${String(hour).padStart(2, '0')}:00`}</span>
      ))}
    </div>
  )
}

interface Hands {
  carry(held: Lifted): void
  columns: RefObject<HTMLDivElement>
  count: number
  drop(held: Lifted): void
  first: number
  giveBack(): void
  lift(item: CalendarItem): void
  lifted: Lifted | undefined
  open(held: Lifted): void
}

interface DayProps {
  clock: Zone
  day: number
  hands: Hands
  pieces: readonly Piece[]
  today: boolean
}

function Day({ clock, day, hands, pieces, today }: DayProps) {
  const words = useWords()
  const change = useMemo(() => changeOf(day, clock), [day, clock])
  const name = useMemo(
    () =>
      new Intl.DateTimeFormat(words.locale, { day: '2-digit', month: '2-digit', timeZone: 'UTC', weekday: 'short' }),
    [words.locale],
  )
  const landing = hands.lifted?.to.day === day ? hands.lifted : undefined
  return (
    <section class={css.column} aria-label={name.format(day * DAY_MS)}>
      <h2 class={classes(css.head, today && css.today)}>{name.format(day * DAY_MS)}</h2>
      <div class={css.body}>
        {change && (
          <p class={classes(css.change, change.doubled && css.doubled)} ref={placed(change.start, change.end)}>
            <span class={ui.hidden}>{change.doubled ? words.schedule.doubled : words.schedule.lost}</span>
          </p>
        )}
        {pieces.map((piece) => (
          <Card
            key={`${piece.item.scheduleId} ${piece.item.recordingStartAt}`}
            clock={clock}
            hands={hands}
            piece={piece}
          />
        ))}
        {landing && (
          <p class={css.landing} ref={placed(landing.to.minute, landing.to.minute + 30)} aria-hidden="true">
            {landing.item.scheduleName}
          </p>
        )}
      </div>
    </section>
  )
}

/** Puts an element on the wall clock: the policy of the page allows no style attribute. */
const placed =
  (start: number, end: number, lane = 0, lanes = 1) =>
  (element: HTMLElement | null): void => {
    if (!element) return
    const percent = (part: number, whole: number): string => `${(part / whole) * 100}%`
    element.style.insetBlockStart = percent(start, DAY_MINUTES)
    element.style.blockSize = percent(Math.max(end - start, 1), DAY_MINUTES)
    element.style.insetInlineStart = percent(lane, lanes)
    element.style.inlineSize = percent(1, lanes)
  }

const ARROWS: Record<string, [days: number, minutes: number]> = {
  ArrowDown: [0, STEP],
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -STEP],
}

function Card({ clock, hands, piece }: { clock: Zone; hands: Hands; piece: Piece }) {
  const words = useWords()
  const { me } = useApp()
  const { item, lane, lanes } = piece
  const movable = may(me, 'schedule:manage', item.roomId)
  const mine = hands.lifted?.item === item ? hands.lifted : undefined
  const drag = useDrag(hands, item, clock)
  const [from, to] = useTimes(item, clock)
  const key = (e: KeyboardEvent): void => {
    const arrow = ARROWS[e.key]
    if (e.key === 'Enter' && movable) {
      e.preventDefault()
      if (mine) hands.drop(mine)
      else hands.lift(item)
    } else if (mine && arrow) {
      e.preventDefault()
      hands.carry({ item, to: moved(mine.to, arrow[0], arrow[1] * (e.shiftKey ? 12 : 1)) })
    } else if (mine && e.key === 'Escape') hands.giveBack()
  }
  return (
    <button
      type="button"
      ref={placed(piece.start, piece.end, lane, lanes)}
      class={classes(css.card, mine && css.lifted, (item.risks ?? item.foreseen) && css.clash)}
      title={lanes > MAX_LANES ? `${from} ${item.scheduleName}` : undefined}
      onBlur={() => mine && hands.giveBack()}
      onClick={() => drag.settled() && hands.open({ item, to: wallOf(Date.parse(item.recordingStartAt), clock) })}
      onKeyDown={key}
      {...(movable ? drag.on : {})}
    >
      <span class={lanes > MAX_LANES ? ui.hidden : undefined}>
        <strong>{from}</strong> <bdi>{item.scheduleName}</bdi>
        <br />
        <small>
          <bdi>{item.room}</bdi>
        </small>{' '}
        <Risks of={item} />
      </span>
      <span class={ui.hidden}>{words.schedule.until(to)}</span>
    </button>
  )
}

/** A pointer is a drag once it has gone this far, px. */
const SLACK_PX = 6

/** Moving a card with mouse, pen or finger; a tap stays a tap. */
function useDrag(hands: Hands, item: CalendarItem, clock: Zone) {
  const begun = useRef<{ id: number; moving: boolean; x: number; y: number } | undefined>(undefined)
  const dragged = useRef(false)
  const at = (e: PointerEvent): Lifted | undefined => {
    const area = hands.columns.current?.querySelector(`.${css.body}`)?.getBoundingClientRect()
    const start = begun.current
    if (!area || !start) return undefined
    const wall = wallOf(Date.parse(item.recordingStartAt), clock)
    const minutes = ((e.clientY - start.y) / area.height) * DAY_MINUTES
    const days = Math.round((e.clientX - start.x) / (area.width || 1))
    return { item, to: moved(within({ ...wall, day: wall.day + days }, hands.first, hands.count), 0, minutes) }
  }
  const ended = (e: PointerEvent): void => {
    const held = at(e)
    const was = begun.current
    begun.current = undefined
    dragged.current = was?.moving === true
    if (was?.moving && held && e.type === 'pointerup') hands.drop(held)
    else if (was?.moving) hands.giveBack()
  }
  return {
    on: {
      onPointerCancel: ended,
      onPointerDown(e: PointerEvent & { currentTarget: HTMLElement }): void {
        if (e.button !== 0 || e.pointerType === 'touch') return
        begun.current = { id: e.pointerId, moving: false, x: e.clientX, y: e.clientY }
        e.currentTarget.setPointerCapture(e.pointerId)
      },
      onPointerMove(e: PointerEvent): void {
        const start = begun.current
        if (!start) return
        if (Math.hypot(e.clientX - start.x, e.clientY - start.y) > SLACK_PX) start.moving = true
        const held = start.moving ? at(e) : undefined
        if (held) hands.carry(held)
      },
      onPointerUp: ended,
    },
    /** Whether a click is one: after a drag the browser sends one more. */
    settled(): boolean {
      const was = dragged.current
      dragged.current = false
      return !was
    },
  }
}
