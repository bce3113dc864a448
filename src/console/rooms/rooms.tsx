import { Link } from 'wouter-preact'
import type { Room } from '../../wire/rooms.ts'
import { useRead } from '../data/reads.ts'
import { classes, Loading, Name, Section, Title } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'

export function Rooms(_: { id: string }) {
  const words = useWords()
  const rooms = useRead<{ data: Room[] }>('/rooms', ['room', 'node'])
  return (
    <>
      <Title>{words.rooms.title}</Title>
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
