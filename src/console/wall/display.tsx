import { useEffect, useMemo, useState } from 'preact/hooks'
import type { Wall, WallNode } from '../../wire/displays.ts'
import { type Api, ApiError } from '../data/api.ts'
import { MeterStrip } from '../meters/strip.tsx'
import { createMeters, MetersContext } from '../meters/thread.ts'
import { timeOf } from '../time/format.rules.ts'
import { Badge, Failure, Name, Title } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import css from './wall.module.css'

/** Names and states change seldom; levels come by themselves. */
const AGAIN_MS = 60_000

interface DisplayWallProps {
  api: Api
  /** As it was read when the page was opened. */
  first: Wall
  /** The link was revoked, or has expired. */
  over(): void
}

/** The wall on a screen that nobody is signed in at. */
export function DisplayWall({ api, first, over }: DisplayWallProps) {
  const words = useWords()
  const [wall, setWall] = useState(first)
  const [error, setError] = useState<Error>()
  const read = async (): Promise<void> => {
    try {
      const { data } = await api.get<{ data: Wall }>('/display')
      if (data.version !== first.version) location.reload()
      setWall(data)
      setError(undefined)
    } catch (e) {
      if (e instanceof ApiError && e.status === 401) over()
      else setError(e as Error)
    }
  }
  const meters = useMemo(() => createMeters(() => void read(), '/display/meter-events'), [])
  useEffect(() => {
    const timer = setInterval(() => void read(), AGAIN_MS)
    return () => [clearInterval(timer), meters.close()]
  }, [])
  return (
    <MetersContext.Provider value={meters}>
      <main class={css.screen}>
        <div class={ui.heading}>
          <Title>{wall.site.name}</Title>
          <Name>{wall.name}</Name>
          <Clock now={api.now} zone={wall.site.timezone} />
        </div>
        {error && <Failure error={error} />}
        {wall.nodes.length === 0 && <p>{words.screen.empty}</p>}
        <ul class={css.wall}>
          {wall.nodes.map((node) => (
            <Tile key={node.id} node={node} />
          ))}
        </ul>
        {wall.total > wall.nodes.length && <p>{words.screen.more(wall.total - wall.nodes.length)}</p>}
      </main>
    </MetersContext.Provider>
  )
}

function Clock({ now, zone }: { now(): number; zone: string }) {
  const { locale } = useWords()
  const shown = (): string => timeOf(new Date(now()).toISOString(), { locale, zone })
  const [time, setTime] = useState(shown)
  useEffect(() => {
    const timer = setInterval(() => setTime(shown()), 1000)
    return () => clearInterval(timer)
  }, [locale, zone])
  return (
    <time class={ui.numbers} title={zone}>
      {time}
    </time>
  )
}

function Tile({ node: { alias, devices, id, room, status } }: { node: WallNode }) {
  const words = useWords()
  return (
    <li class={css.tile}>
      <div class={ui.heading}>
        <Name>{`${room}: ${alias}`}</Name>
        <Badge state={status} word={words.status[status] ?? status} />
      </div>
      {devices.map((device) => (
        <MeterStrip key={device.id} dense device={{ ...device, channelCount: device.channels.length }} nodeId={id} />
      ))}
    </li>
  )
}
