import { useState } from 'preact/hooks'
import type { AuditEvent, AuditFacets } from '../../wire/audit.ts'
import { useRead } from '../data/reads.ts'
import { When } from '../time/when.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { ExportLink } from '../ui/export.tsx'
import { FilterBar, type Filters, useFilters } from '../ui/filters.tsx'
import { Badge, Button, Facts, Loading, Name, Section, Title } from '../ui/parts.tsx'
import { type PageMeta, Pager, Table } from '../ui/table.tsx'
import ui from '../ui/ui.module.css'
import type { Words } from '../words/en.ts'
import { useWords } from '../words/words.ts'
import { actionText, actorText } from './action.rules.ts'
import { differences } from './differences.rules.ts'

const SIZE = 50
/** Values shown of one kind. */
const MAX_VALUES = 12
const TONES: Record<string, string> = { denied: 'failed', failed: 'failed', partial: 'warning', succeeded: 'uploaded' }

export function AuditPage(_: { id: string }) {
  const words = useWords()
  const filters = useFilters(['action', 'actor', 'target', 'outcome', 'changes', 'from', 'to', 'permission', 'reason'])
  const [shown, setShown] = useState<AuditEvent>()
  const list = useRead<{ data: AuditEvent[]; meta: PageMeta }>(`/audit-events?${filters.query(SIZE)}`, [])
  return (
    <>
      <Title>{words.audit.title}</Title>
      <FilterBar
        filters={filters}
        searches={[
          { label: words.audit.action, name: 'action' },
          { label: words.audit.actor, name: 'actor' },
          { label: words.audit.target, name: 'target' },
        ]}
        instants={[
          { label: words.audit.from, name: 'from' },
          { label: words.audit.to, name: 'to' },
        ]}
        choices={[
          { label: words.audit.outcome, name: 'outcome', options: Object.entries(words.audit.outcomes) },
          { label: words.audit.changes, name: 'changes', options: [['1', words.audit.changesOnly]] },
        ]}
      />
      <Facets filters={filters} />
      <Loading of={list}>
        {({ data, meta }) => (
          <Section title={words.audit.title} aside={<ExportLink filters={filters} of="audit-events" />}>
            <Table
              caption={words.audit.title}
              empty={words.audit.empty}
              rows={data}
              columns={[
                { cell: ({ createdAt }) => <When at={createdAt} />, head: words.audit.when },
                { cell: ({ actor }) => <Name>{actorText(actor, words)}</Name>, head: words.audit.actor },
                {
                  cell: ({ action }) => <span title={action}>{actionText(action, words)}</span>,
                  head: words.audit.action,
                },
                {
                  cell: ({ target }) => <Name>{target.name ?? target.id ?? target.type}</Name>,
                  head: words.audit.target,
                },
                {
                  cell: ({ outcome }) => (
                    <Badge state={TONES[outcome] ?? outcome} word={words.audit.outcomes[outcome]} />
                  ),
                  head: words.audit.outcome,
                },
                {
                  cell: (event) => <Button onClick={() => setShown(event)}>{words.audit.details}</Button>,
                  head: words.audit.details,
                },
              ]}
            />
            <Pager go={filters.go} meta={meta} size={SIZE} />
          </Section>
        )}
      </Loading>
      {shown && <Detail close={() => setShown(undefined)} event={shown} />}
    </>
  )
}

/** Which filters what the newest matching events say, and what each list of facets sets. */
const FACETS = [
  ['actions', 'action'],
  ['outcomes', 'outcome'],
  ['reasons', 'reason'],
  ['permissions', 'permission'],
  ['targetTypes', 'target'],
] as const

const facetText = (name: string, value: string, words: Words): string =>
  name === 'action' ? actionText(value, words) : value

/** What there is to narrow by, with counts; read once it is opened. */
function Facets({ filters }: { filters: Filters }) {
  const words = useWords()
  const [open, setOpen] = useState(false)
  const query = new URLSearchParams(filters.values)
  const facets = useRead<{ data: AuditFacets }>(open ? `/audit-events/facets?${query}` : undefined, [])
  const chosen = FACETS.filter(([, name]) => filters.values[name] !== undefined)
  return (
    <details class={ui.card} open={open} onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>{words.audit.narrow}</summary>
      {chosen.length > 0 && (
        <p class={ui.row}>
          {chosen.map(([, name]) => (
            <Button key={name} icon="close" onClick={() => filters.set({ [name]: '' })}>
              <Name>{facetText(name, filters.values[name] ?? '', words)}</Name>
            </Button>
          ))}
        </p>
      )}
      {open && (
        <Loading of={facets}>
          {({ data }) => (
            <Facts
              of={FACETS.map(([list, name]) => [
                words.audit.facets[list],
                data[list].length > 0 && (
                  <div class={ui.row}>
                    {data[list].slice(0, MAX_VALUES).map(({ count, value }) => (
                      <Button key={value} title={value} onClick={() => filters.set({ [name]: value })}>
                        <Name>{facetText(name, value, words)}</Name>{' '}
                        <span class={ui.quiet}>{count.toLocaleString(words.locale)}</span>
                      </Button>
                    ))}
                  </div>
                ),
              ])}
            />
          )}
        </Loading>
      )}
    </details>
  )
}

/** One row whole; what it changed as a difference. */
function Detail({ close, event }: { close(): void; event: AuditEvent }) {
  const words = useWords()
  const { action, actor, actorContext, after, before, createdAt, details, permission, reason, target } = event
  return (
    <Dialog title={actionText(action, words)} close={close}>
      <Facts
        of={[
          [words.audit.action, <code key="action">{action}</code>],
          [words.audit.when, <When key="when" at={createdAt} />],
          [words.audit.actor, <Name key="actor">{`${actorText(actor, words)} (${actor.type} ${actor.id})`}</Name>],
          [
            words.audit.target,
            <Name key="target">{[target.type, target.name, target.id].filter(Boolean).join(', ')}</Name>,
          ],
          [words.audit.permission, permission],
          [words.audit.reason, reason && <Name key="reason">{reason}</Name>],
          [words.audit.address, actorContext.ipAddress && <Name key="ip">{actorContext.ipAddress}</Name>],
          [words.audit.program, actorContext.userAgent && <Name key="agent">{actorContext.userAgent}</Name>],
        ]}
      />
      <Differences rows={differences(before, after)} />
      {Object.keys(details).length > 0 && <pre class={ui.output}>{JSON.stringify(details, null, 2)}</pre>}
    </Dialog>
  )
}

function Differences({ rows }: { rows: ReturnType<typeof differences> }) {
  const words = useWords()
  if (rows.length === 0) return null
  return (
    <Table
      caption={words.audit.details}
      rows={rows}
      columns={[
        { cell: ({ id }) => <code>{id}</code>, head: words.audit.target },
        { cell: ({ before }) => <Name>{before}</Name>, head: words.audit.before },
        { cell: ({ after }) => <Name>{after}</Name>, head: words.audit.after },
      ]}
    />
  )
}
