import { useApp } from '../app/context.ts'
import { dayOf, instantOf, timeOf } from '../time/format.rules.ts'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'

interface ZonedProps {
  at: string
  /** Without the day. */
  time?: boolean
  /** IANA zone of the schedule. */
  zone: string
}

/** A time of a schedule in its zone; where other pages have another one, its time there stands beside it. */
export function Zoned({ at, time = false, zone }: ZonedProps) {
  const words = useWords()
  const { timeFormat } = useApp()
  const own = { ...timeFormat, zone }
  const shown = (time ? timeOf : instantOf)(at, own)
  const there = (dayOf(at, own) === dayOf(at, timeFormat) ? timeOf : instantOf)(at, timeFormat)
  const other = instantOf(at, own) !== instantOf(at, timeFormat)
  return (
    <time dateTime={at} title={zone}>
      {shown}
      {other && !time && <span class={ui.quiet}> {words.schedule.elsewhere(there, timeFormat.zone)}</span>}
    </time>
  )
}
