import { Link, useSearchParams } from 'wouter-preact'
import type { CurrentUser, RoomRights } from '../../wire/access.ts'
import { useRead } from '../data/reads.ts'
import { FilterBar, useFilters } from '../ui/filters.tsx'
import { Badge, Loading, Name, Section } from '../ui/parts.tsx'
import { type PageMeta, Pager, Table } from '../ui/table.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'

const SIZE = 50

export const rightsPath = (userId: string): string => `/access/rights?${new URLSearchParams({ person: userId })}`

/** What one person may do, room by room, as the server decides it. */
export function Rights() {
  const words = useWords()
  const [params] = useSearchParams()
  const filters = useFilters(['search'])
  const id = params.get('person')
  const path = id === null ? undefined : `/auth/users/${encodeURIComponent(id)}`
  const person = useRead<{ data: CurrentUser }>(path, ['user'])
  const rooms = useRead<{ data: RoomRights[]; meta: PageMeta }>(path && `${path}/rooms?${filters.query(SIZE)}`, [
    'user',
    'room',
    'settings',
  ])
  if (path === undefined) return <p>{words.access.chooseSomebody}</p>
  return (
    <Loading of={person}>
      {({ data: { disabledAt, email, groups, name, roles } }) => (
        <Section title={words.access.rightsOf(name)} aside={<Link href="/access/users">{words.access.users}</Link>}>
          <p class={ui.row}>
            <Name>{email}</Name>
            <span>{roles.map((role) => words.access.roles[role]).join(', ')}</span>
            {groups.map((group) => (
              <Name key={group.id}>{group.name}</Name>
            ))}
            {disabledAt && <Badge state="failed" word={words.access.disabled} />}
          </p>
          <FilterBar filters={filters} searches={[{ label: words.access.searchRooms, name: 'search' }]} />
          <Loading of={rooms}>
            {({ data, meta }) => (
              <>
                <Table
                  caption={words.access.rightsOf(name)}
                  rows={data}
                  columns={[
                    { cell: ({ site }) => <Name>{site}</Name>, head: words.onboard.site },
                    { cell: (room) => <Name>{room.name}</Name>, head: words.onboard.room },
                    { cell: (room) => <May room={room} />, head: words.access.what },
                  ]}
                />
                <Pager go={filters.go} meta={meta} size={SIZE} />
              </>
            )}
          </Loading>
        </Section>
      )}
    </Loading>
  )
}

function May({ room: { permissions } }: { room: RoomRights }) {
  const words = useWords()
  const told = permissions.flatMap((permission) => words.access.deeds[permission] ?? [])
  return told.length === 0 ? <span class={ui.quiet}>{words.access.nothingThere}</span> : told.join(', ')
}
