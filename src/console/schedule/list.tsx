import { Link } from 'wouter-preact'
import type { Schedule } from '../../wire/schedules.ts'
import { useApp } from '../app/context.ts'
import { may } from '../app/may.rules.ts'
import { useRead } from '../data/reads.ts'
import { ExportLink } from '../ui/export.tsx'
import { FilterBar, useFilters } from '../ui/filters.tsx'
import { Button, Loading, Name, Section } from '../ui/parts.tsx'
import { type PageMeta, Pager, Table, useSelection } from '../ui/table.tsx'
import { useWords } from '../words/words.ts'
import { Bulk } from './bulk.tsx'
import { sentenceOf } from './recurrence.rules.ts'
import { Zoned } from './zoned.tsx'

const SIZE = 50

/** All schedules, also those that are off, and what can be done to several. */
export function List() {
  const words = useWords()
  const { me } = useApp()
  const filters = useFilters(['search', 'enabled'])
  const selection = useSelection()
  const list = useRead<{ data: Schedule[]; meta: PageMeta }>(`/schedules?${filters.query(SIZE)}`, ['schedule'])
  return (
    <>
      <FilterBar
        filters={filters}
        searches={[{ label: words.schedule.search, name: 'search' }]}
        choices={[{ label: words.schedule.enabled, name: 'enabled', options: Object.entries(words.schedule.states) }]}
      />
      <Loading of={list}>
        {({ data, meta }) => (
          <Section
            title={words.schedule.views.list}
            aside={
              <>
                {may(me, 'schedule:manage') && (
                  <Button aria-pressed={selection.active} onClick={() => selection.setActive(!selection.active)}>
                    {words.common.select}
                  </Button>
                )}
                <ExportLink filters={filters} of="schedules" />
              </>
            }
          >
            {selection.active && <Bulk schedules={data} selection={selection} />}
            <Table
              caption={words.schedule.title}
              empty={words.schedule.nothing}
              nameOf={({ name }) => name}
              rows={data}
              selection={selection}
              columns={[
                {
                  cell: ({ id, name }) => (
                    <Link href={`/schedules/${encodeURIComponent(id)}`}>
                      <Name>{name}</Name>
                    </Link>
                  ),
                  head: words.schedule.name,
                },
                { cell: ({ room }) => <Name>{room}</Name>, head: words.schedule.room },
                {
                  cell: ({ recurrence, timezone }) => sentenceOf(recurrence, timezone, words),
                  head: words.schedule.rule,
                },
                {
                  cell: ({ enabled, nextRunAt, timezone }) =>
                    enabled ? nextRunAt && <Zoned at={nextRunAt} zone={timezone} /> : words.schedule.off,
                  head: words.schedule.nextRun,
                },
              ]}
            />
            <Pager go={filters.go} meta={meta} size={SIZE} />
          </Section>
        )}
      </Loading>
    </>
  )
}
