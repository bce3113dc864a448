import type { Recording, RecordingFacets } from '../../wire/recordings.ts'
import { useApp } from '../app/context.ts'
import { may } from '../app/may.rules.ts'
import { useRead } from '../data/reads.ts'
import { NodeFilter } from '../recorders/filter.tsx'
import { ExportLink } from '../ui/export.tsx'
import { FilterBar, type Filters, useFilters } from '../ui/filters.tsx'
import { Button, Loading, Section, Title } from '../ui/parts.tsx'
import { type PageMeta, Pager, useSelection } from '../ui/table.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { Bulk } from './bulk.tsx'
import { TakeRows } from './rows.tsx'

const SIZE = 50
const FILTERS = [
  'search',
  'status',
  'folder',
  'tag',
  'nodeId',
  'healthStatus',
  'recordedFrom',
  'recordedTo',
  'sortBy',
  'sortOrder',
  'scheduleId',
]

/** Finding takes, and changing several at once. */
export function Library(_: { id: string }) {
  const words = useWords()
  const { me } = useApp()
  const filters = useFilters(FILTERS)
  const selection = useSelection()
  const takes = useRead<{ data: Recording[]; meta: PageMeta }>(`/recordings?${filters.query(SIZE)}`, [
    'recording',
    'job',
  ])
  const changes = may(me, 'recording:edit') || may(me, 'recording:delete') || may(me, 'recording:control')
  return (
    <>
      <Title>{words.library.title}</Title>
      <Search filters={filters} />
      <Loading of={takes}>
        {({ data, meta }) => (
          <Section
            title={words.library.takes}
            aside={
              <div class={ui.row}>
                {changes && (
                  <Button aria-pressed={selection.active} onClick={() => selection.setActive(!selection.active)}>
                    {words.common.select}
                  </Button>
                )}
                <ExportLink filters={filters} of="recordings" />
              </div>
            }
          >
            {selection.active && <Bulk selection={selection} takes={data} />}
            <TakeRows empty={words.library.empty} selection={selection} takes={data} />
            <Pager go={filters.go} meta={meta} size={SIZE} />
          </Section>
        )}
      </Loading>
    </>
  )
}

type Facets = { data: RecordingFacets }

function Search({ filters }: { filters: Filters }) {
  const words = useWords()
  const facets = useRead<Facets>('/recordings/facets', []).data?.data
  const counted = (name: keyof RecordingFacets): [string, string][] =>
    (facets?.[name] ?? []).map(({ count, value }) => [value, `${value} (${count.toLocaleString(words.locale)})`])
  return (
    <FilterBar
      filters={filters}
      searches={[{ label: words.library.search, name: 'search' }]}
      instants={[
        { label: words.library.from, name: 'recordedFrom' },
        { label: words.library.to, name: 'recordedTo' },
      ]}
      choices={[
        { label: words.take.status, name: 'status', options: words.library.statuses },
        { label: words.take.health, name: 'healthStatus', options: Object.entries(words.take.healths) },
        { label: words.library.folder, name: 'folder', options: counted('folders') },
        { label: words.library.tag, name: 'tag', options: counted('tags') },
        { label: words.library.sortBy, name: 'sortBy', options: words.library.sorts, unset: words.library.byTime },
        {
          label: words.library.sortOrder,
          name: 'sortOrder',
          options: words.library.orders,
          unset: words.library.usual,
        },
      ]}
    >
      <NodeFilter filters={filters} />
    </FilterBar>
  )
}
