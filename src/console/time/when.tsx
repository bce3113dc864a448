import { useEffect, useState } from 'preact/hooks'
import { useApp } from '../app/context.ts'
import { instantOf, lengthOf, secondsBetween, timeOf } from './format.rules.ts'

/** An instant in the zone of the site; `time` leaves the day out. */
export function When({ at, time = false }: { at: string; time?: boolean }) {
  const { clockwork } = useApp()
  return (
    <time dateTime={at} title={clockwork.zone}>
      {time ? timeOf(at, clockwork) : instantOf(at, clockwork)}
    </time>
  )
}

/** Seconds since an instant, counted on while it is shown. */
export function useElapsed(since: string): string {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000)
    return () => clearInterval(timer)
  }, [])
  return lengthOf(secondsBetween(since, now))
}
