import { useSearchParams } from 'wouter-preact'
import type { HealthEvent, HealthMove, HealthSummary } from '../../wire/health.ts'
import { useRead, useWrite } from '../data/reads.ts'
import { NodeFilter } from '../recorders/filter.tsx'
import { When } from '../time/when.tsx'
import { ExportLink } from '../ui/export.tsx'
import { FilterBar, useFilters } from '../ui/filters.tsx'
import { Badge, Button, Loading, Section, Title } from '../ui/parts.tsx'
import { type Column, type PageMeta, Pager, type Selection, Table, useSelection } from '../ui/table.tsx'
import { useToast } from '../ui/toast.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import css from './alerts.module.css'
import { AlertDetail } from './detail.tsx'
import { Moves } from './moves.tsx'
import { NodeName } from './row.tsx'

interface Listed {
  data: HealthEvent[]
  meta: PageMeta
  summary: HealthSummary
}

const SIZE = 50

/** The queue, and one alert beside it: `?open=ID`. */
export function Alerts(_: { id: string }) {
  const words = useWords()
  const filters = useFilters(['status', 'severity', 'search', 'nodeId'])
  const [params, setParams] = useSearchParams()
  const selection = useSelection()
  const open = params.get('open')
  const list = useRead<Listed>(`/health-events?${filters.query(SIZE)}`, ['health'])
  const show = (id: string | null): void => {
    const next = new URLSearchParams(params)
    if (id === null) next.delete('open')
    else next.set('open', id)
    setParams(next)
  }
  return (
    <>
      <Title>{words.alerts.title}</Title>
      <FilterBar
        filters={filters}
        searches={[{ label: words.alerts.search, name: 'search' }]}
        choices={[
          { label: words.alerts.status, name: 'status', options: Object.entries(words.alerts.statuses) },
          { label: words.alerts.severity, name: 'severity', options: Object.entries(words.severity) },
        ]}
      >
        <NodeFilter filters={filters} />
      </FilterBar>
      <div class={open ? css.beside : undefined}>
        <Loading of={list}>
          {({ data, meta, summary }) => (
            <Section
              title={words.alerts.numbers(summary.open, summary.activeCritical)}
              aside={
                <div class={ui.row}>
                  <Button aria-pressed={selection.active} onClick={() => selection.setActive(!selection.active)}>
                    {words.common.select}
                  </Button>
                  <ExportLink filters={filters} of="health-events" />
                </div>
              }
            >
              {selection.active && <Bulk events={data} selection={selection} />}
              <Rows events={data} selection={selection} show={show} />
              <Pager go={filters.go} meta={meta} size={SIZE} />
            </Section>
          )}
        </Loading>
        {open && <AlertDetail key={open} id={open} close={() => show(null)} />}
      </div>
    </>
  )
}

interface RowsProps {
  events: readonly HealthEvent[]
  selection: Selection
  show(id: string): void
}

function Rows({ events, selection, show }: RowsProps) {
  const words = useWords()
  const columns: Column<HealthEvent>[] = [
    {
      cell: ({ severity }) => <Badge state={severity} word={words.severity[severity] ?? severity} />,
      head: words.alerts.severity,
    },
    {
      cell: ({ id, type }) => (
        <button type="button" class={css.link} onClick={() => show(id)}>
          {words.alert(type)}
        </button>
      ),
      head: words.alerts.what,
    },
    { cell: ({ nodeId }) => <NodeName id={nodeId} />, head: words.alerts.where },
    { cell: ({ openedAt }) => <When at={openedAt} />, head: words.alerts.since },
    { cell: ({ status }) => words.alerts.statuses[status], head: words.alerts.status },
  ]
  return (
    <Table
      caption={words.alerts.title}
      columns={columns}
      empty={words.alerts.empty}
      nameOf={({ type }) => words.alert(type)}
      rows={events}
      selection={selection}
    />
  )
}

const MOVES: readonly HealthMove[] = ['acknowledge', 'suppress', 'resolve', 'reopen']

/** One move for all that are chosen; what did not move stays chosen. */
function Bulk({ events, selection }: { events: readonly HealthEvent[]; selection: Selection }) {
  const words = useWords()
  const say = useToast()
  const eventIds = events.map(({ id }) => id).filter((id) => selection.ids.has(id))
  const write = useWrite<{ data: HealthEvent[] }>()
  const send = (action: HealthMove, more: object, done: () => void): void =>
    write.mutate(
      { body: { ...more, action, eventIds }, method: 'POST', path: '/health-events/bulk-lifecycle' },
      {
        onSuccess({ data }) {
          const left = eventIds.filter((id) => !data.some((event) => event.id === id))
          selection.set(left)
          done()
          say(
            [words.alerts.moved[action](data.length), left.length > 0 && words.alerts.notMoved(left.length)]
              .filter(Boolean)
              .join(' '),
          )
        },
      },
    )
  return (
    <Moves disabled={eventIds.length === 0} moves={MOVES} send={send} write={write}>
      <span class={ui.grow}>{words.common.selected(eventIds.length)}</span>
    </Moves>
  )
}
