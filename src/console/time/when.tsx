import { useEffect, useState } from 'preact/hooks'
import { useApp } from '../app/context.ts'
import { instantOf, lengthOf, secondsBetween, soonOf, timeOf } from './format.rules.ts'
import { hourly, hourOf } from './hour.rules.ts'

/** An instant in the zone of the site; `time` leaves the day out, `soon` only today. */
export function When({ at, soon = false, time = false }: { at: string; soon?: boolean; time?: boolean }) {
  const { api, timeFormat } = useApp()
  const shown = time ? timeOf(at, timeFormat) : soon ? soonOf(at, api.now(), timeFormat) : instantOf(at, timeFormat)
  return (
    <time dateTime={at} title={timeFormat.zone}>
      {shown}
    </time>
  )
}

/** The time by the controller's clock, Unix ms; anew after every `ms`. */
export function useNow(ms = 1000): number {
  const { api } = useApp()
  const [now, setNow] = useState(api.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(api.now()), ms)
    return () => clearInterval(timer)
  }, [])
  return now
}

/** Seconds since an instant, counted on while it is shown. */
export const useElapsed = (since: string): string => lengthOf(secondsBetween(since, useNow()))

/** Begin of the present hour, Unix ms; moves on with the time. */
export function useHour(): number {
  const { api } = useApp()
  const [hour, setHour] = useState(() => hourOf(api.now()))
  useEffect(() => hourly(api.now, setHour), [])
  return hour
}
