import { useMemo } from 'preact/hooks'
import type { Zone } from '../../kernel/zones.ts'
import type { CalendarItem } from '../../wire/schedules.ts'
import { useApp } from '../app/context.ts'
import { timeOf } from '../time/format.rules.ts'
import { dangersOf } from '../today/today.rules.ts'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { offsetOf } from './layout.rules.ts'

/** From when to when, in the zone of the page; in the hour that comes twice with its offset. */
export function useTimes({ recordingEndAt, recordingStartAt }: CalendarItem, clock: Zone): [from: string, to: string] {
  const { timeFormat } = useApp()
  return useMemo(() => {
    const told = (at: string): string => `${timeOf(at, timeFormat)} ${offsetOf(at, clock)}`.trimEnd()
    return [told(recordingStartAt), recordingEndAt === undefined ? '…' : told(recordingEndAt)]
  }, [clock, timeFormat, recordingEndAt, recordingStartAt])
}

/** What stands against it, in words. */
export function Risks({ of }: { of: CalendarItem }) {
  const words = useWords()
  const dangers = dangersOf(of)
  if (dangers.length === 0) return null
  return <small class={ui.bad}>{dangers.map((danger) => words.today.risks[danger]).join(', ')}</small>
}
