import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import type { Room } from '../../wire/rooms.ts'
import { useApp } from '../app/context.ts'
import { may } from '../app/may.rules.ts'
import { useRead } from '../data/reads.ts'
import { Button, classes, Loading, Name, Section, Title } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { RoomDialog } from './edit.tsx'

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
        {({ data }) =>
          data.length === 0 ? (
            <p>{words.rooms.empty}</p>
          ) : (
            bySite(data).map(([site, own]) => <Site key={site} rooms={own} site={site} />)
          )
        }
      </Loading>
    </>
  )
}

const bySite = (rooms: Room[]): [string, Room[]][] =>
  Object.entries(Object.groupBy(rooms, ({ site }) => site) as Record<string, Room[]>)

function Site({ rooms, site }: { rooms: Room[]; site: string }) {
  const words = useWords()
  return (
    <Section title={site}>
      <ul class={ui.rows}>
        {rooms.map(({ building, floor, id, name, nodeCount = 0 }) => (
          <li key={id} class={ui.row}>
            <Link class={ui.grow} href={`/rooms/${encodeURIComponent(id)}`}>
              <Name>{name}</Name>
            </Link>
            <span class={classes(ui.quiet, ui.small)}>
              <Name>{[building, floor].filter(Boolean).join(', ')}</Name>
            </span>
            <span class={classes(ui.quiet, ui.small)}>{words.rooms.recorders(nodeCount)}</span>
          </li>
        ))}
      </ul>
    </Section>
  )
}
