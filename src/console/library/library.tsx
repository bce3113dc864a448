import type { Recording } from '../../wire/recordings.ts'
import { useRead } from '../data/reads.ts'
import { FilterBar, useFilters } from '../ui/filters.tsx'
import { Loading, Section, Title } from '../ui/parts.tsx'
import { type PageMeta, Pager } from '../ui/table.tsx'
import { useWords } from '../words/words.ts'
import { TakeRows } from './rows.tsx'

const SIZE = 50

export function Library(_: { id: string }) {
  const words = useWords()
  const filters = useFilters(['search'])
  const takes = useRead<{ data: Recording[]; meta: PageMeta }>(`/recordings?${filters.query(SIZE)}`, ['recording'])
  return (
    <>
      <Title>{words.library.title}</Title>
      <FilterBar filters={filters} search={{ label: words.library.search, name: 'search' }} />
      <Loading of={takes}>
        {({ data, meta }) => (
          <Section title={words.library.takes}>
            <TakeRows empty={words.library.empty} takes={data} />
            <Pager go={filters.go} meta={meta} size={SIZE} />
          </Section>
        )}
      </Loading>
    </>
  )
}
