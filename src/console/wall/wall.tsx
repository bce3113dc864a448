import { Link } from 'wouter-preact'
import type { Node } from '../../wire/nodes.ts'
import type { Room } from '../../wire/rooms.ts'
import { useRead } from '../data/reads.ts'
import { present } from '../meters/channels.rules.ts'
import { MeterStrip } from '../meters/strip.tsx'
import { FilterBar, useFilters } from '../ui/filters.tsx'
import { Badge, Loading, Name, Title } from '../ui/parts.tsx'
import { type PageMeta, Pager } from '../ui/table.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import css from './wall.module.css'

/** Recorders on one screen; more of them are the next page. */
const SIZE = 200

/** The levels of every recorder that may be seen, for a screen on the wall. */
export function WallPage(_: { id: string }) {
  const words = useWords()
  const filters = useFilters(['site'])
  const rooms = useRead<{ data: Room[] }>('/rooms', ['room'])
  const sites = [...new Set((rooms.data?.data ?? []).map(({ site }) => site))]
  const nodes = useRead<{ data: Node[]; meta: PageMeta }>(`/nodes?${filters.query(SIZE)}`, ['node'])
  return (
    <>
      <Title>{words.wall.title}</Title>
      <FilterBar
        filters={filters}
        choices={[{ label: words.recorders.site, name: 'site', options: sites.map((site) => [site, site] as const) }]}
      />
      <Loading of={nodes}>
        {({ data, meta }) => (
          <>
            {data.length === 0 && <p>{words.recorders.empty}</p>}
            <ul class={css.wall}>
              {data.map((node) => (
                <Tile key={node.id} node={node} />
              ))}
            </ul>
            {meta.total > SIZE && <Pager go={filters.go} meta={meta} size={SIZE} />}
          </>
        )}
      </Loading>
    </>
  )
}

function Tile({ node }: { node: Node }) {
  const words = useWords()
  const { alias, id, location, status } = node
  return (
    <li class={css.tile}>
      <div class={ui.heading}>
        <Link href={`/recorders/${encodeURIComponent(id)}`}>
          <Name>{`${location.room}: ${alias}`}</Name>
        </Link>
        <Badge state={status} word={words.status[status] ?? status} />
      </div>
      {present(node).map((device) => (
        <MeterStrip key={device.id} dense device={device} nodeId={id} />
      ))}
    </li>
  )
}
