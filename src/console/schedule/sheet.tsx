import { useEffect, useState } from 'preact/hooks'
import { DAY_MS, zone } from '../../kernel/zones.ts'
import type { CalendarItem } from '../../wire/schedules.ts'
import { useApp } from '../app/context.ts'
import { timeOf } from '../time/format.rules.ts'
import { Name } from '../ui/parts.tsx'
import { useWords } from '../words/words.ts'
import css from './grid.module.css'
import { wallOf } from './layout.rules.ts'

interface SheetProps {
  count: number
  first: number
  items: readonly CalendarItem[]
}

/** Whether the sheet is wanted: only while it is printed, by the button or by the browser. */
export function usePrinting(): { print(): void; wanted: boolean } {
  const [printing, setPrinting] = useState(false)
  const [asked, setAsked] = useState(false)
  useEffect(() => {
    const [begin, end] = [() => setPrinting(true), () => setPrinting(false)]
    window.addEventListener('beforeprint', begin)
    window.addEventListener('afterprint', end)
    return () => {
      window.removeEventListener('beforeprint', begin)
      window.removeEventListener('afterprint', end)
    }
  }, [])
  // Once the sheet is there.
  useEffect(() => {
    if (!asked) return
    print()
    setAsked(false)
  }, [asked])
  return { print: () => setAsked(true), wanted: printing || asked }
}

/** What a door or a desk wants of the days on the screen: paper has no room for cards, so it is a list. */
export function Sheet({ count, first, items }: SheetProps) {
  const words = useWords()
  const { timeFormat } = useApp()
  const clock = zone(timeFormat.zone)
  const name = new Intl.DateTimeFormat(words.locale, { dateStyle: 'full', timeZone: 'UTC' })
  const planned = items.toSorted(
    (a, b) => a.recordingStartAt.localeCompare(b.recordingStartAt) || a.room.localeCompare(b.room),
  )
  const days = Map.groupBy(planned, ({ recordingStartAt }) => wallOf(Date.parse(recordingStartAt), clock).day)
  return (
    <div class={css.sheet}>
      {Array.from({ length: count }, (_, i) => first + i).map((day) => (
        <section key={day}>
          <h2>{name.format(day * DAY_MS)}</h2>
          {(days.get(day) ?? []).length === 0 && <p>{words.schedule.nothing}</p>}
          <table>
            <tbody>
              {(days.get(day) ?? []).map((item) => (
                <tr key={`${item.scheduleId} ${item.recordingStartAt}`}>
                  <th scope="row">
                    {timeOf(item.recordingStartAt, timeFormat)}
                    {item.recordingEndAt && ` – ${timeOf(item.recordingEndAt, timeFormat)}`}
                  </th>
                  <td>
                    <Name>{item.room}</Name>
                  </td>
                  <td>
                    <Name>{item.scheduleName}</Name>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      ))}
    </div>
  )
}
