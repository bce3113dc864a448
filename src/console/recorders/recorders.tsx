import { Link } from 'wouter-preact'
import type { AgentReleaseCheck, Node } from '../../wire/nodes.ts'
import type { Room } from '../../wire/rooms.ts'
import { useApp } from '../app/context.ts'
import { may } from '../app/may.rules.ts'
import { useRead } from '../data/reads.ts'
import { When } from '../time/when.tsx'
import { ExportLink } from '../ui/export.tsx'
import { FilterBar, useFilters } from '../ui/filters.tsx'
import { Badge, Loading, Name, Section, Title } from '../ui/parts.tsx'
import { type PageMeta, Pager, Table } from '../ui/table.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'

const SIZE = 50
const STATUSES = ['provisioning', 'online', 'offline', 'degraded', 'recording', 'alerting'] as const

export function RecordersPage(_: { id: string }) {
  const words = useWords()
  const { me } = useApp()
  const filters = useFilters(['q', 'agentVersion', 'site', 'status', 'retired'])
  const nodes = useRead<{ data: Node[]; meta: PageMeta }>(`/nodes?${filters.query(SIZE)}`, ['node'])
  const rooms = useRead<{ data: Room[] }>('/rooms', ['room'])
  const sites = [...new Set((rooms.data?.data ?? []).map(({ site }) => site))]
  const release = useRead<AgentReleaseCheck>('/nodes/agent-release', [])
  return (
    <>
      <div class={ui.heading}>
        <Title>{words.recorders.title}</Title>
        {may(me, 'node:manage') && (
          <Link class={ui.button} href="/add">
            {words.edit.bringOnline}
          </Link>
        )}
      </div>
      <FilterBar
        filters={filters}
        searches={[
          { label: words.recorders.search, name: 'q' },
          { label: words.recorders.version, name: 'agentVersion' },
        ]}
        choices={[
          { label: words.recorders.site, name: 'site', options: sites.map((site) => [site, site] as const) },
          {
            label: words.recorders.status,
            name: 'status',
            options: STATUSES.map((status) => [status, words.status[status] ?? status] as const),
          },
          { label: words.recorders.retiredOnly, name: 'retired', options: [['1', words.recorders.outOfService]] },
        ]}
      />
      <Loading of={nodes}>
        {({ data, meta }) => (
          <Section title={words.recorders.title} aside={<ExportLink filters={filters} of="nodes" />}>
            <Table
              caption={words.recorders.title}
              empty={words.recorders.empty}
              rows={data}
              columns={[
                {
                  cell: ({ alias, id }) => (
                    <Link href={`/recorders/${encodeURIComponent(id)}`}>
                      <Name>{alias}</Name>
                    </Link>
                  ),
                  head: words.recorders.name,
                },
                {
                  cell: ({ location: { room, site } }) => <Name>{`${site}, ${room}`}</Name>,
                  head: words.recorders.place,
                },
                {
                  cell: ({ status }) => <Badge state={status} word={words.status[status] ?? status} />,
                  head: words.recorders.status,
                },
                {
                  cell: ({ agentVersion }) => <Version latest={release.data?.data?.version} version={agentVersion} />,
                  head: words.recorders.version,
                },
                { cell: ({ lastSeenAt }) => <When at={lastSeenAt} />, head: words.recorders.seen },
              ]}
            />
            <Pager go={filters.go} meta={meta} size={SIZE} />
          </Section>
        )}
      </Loading>
    </>
  )
}

function Version({ latest, version }: { latest: string | undefined; version: string }) {
  const words = useWords()
  return (
    <>
      <Name>{version}</Name>
      {latest !== undefined && latest !== version && <p class={ui.small}>{words.recorders.update(latest)}</p>}
    </>
  )
}
