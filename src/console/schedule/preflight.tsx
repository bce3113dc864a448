import type { ChannelVerdict, Preflight } from '../../wire/soundreadings.ts'
import { useRead } from '../data/reads.ts'
import { Badge, type Fact, Facts, Loading, Name, Section } from '../ui/parts.tsx'
import { type Column, Table } from '../ui/table.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { Zoned } from './zoned.tsx'

interface HeardProps {
  /** Whether nothing is shown while nothing was heard. */
  mayLack?: boolean
  scheduleId: string
  /** Of the schedule. */
  zone: string
}

const usePreflight = (scheduleId: string) =>
  useRead<{ data: Preflight | null }>(`/schedules/${encodeURIComponent(scheduleId)}/preflight`, ['schedule', 'node'])

/** What the recorder heard shortly before the last take, channel by channel. */
export function Heard({ mayLack = false, scheduleId, zone }: HeardProps) {
  const { preflight: words } = useWords()
  const heard = usePreflight(scheduleId)
  if (mayLack && !heard.data?.data) return null
  return (
    <Section title={words.title}>
      <Loading of={heard}>
        {({ data }) => (data ? <Found preflight={data} zone={zone} /> : <p class={ui.quiet}>{words.never}</p>)}
      </Loading>
    </Section>
  )
}

function Found({ preflight: { channels, fault, heardAt, startsAt }, zone }: { preflight: Preflight; zone: string }) {
  const { preflight: words } = useWords()
  const facts: Fact[] = [
    [words.heardAt, <Zoned key="heard" at={heardAt} zone={zone} />],
    [words.startsAt, <Zoned key="starts" at={startsAt} zone={zone} />],
  ]
  const isWell = fault === undefined && channels.every(({ verdict }) => verdict === 'ok')
  return (
    <>
      <p class={isWell ? ui.good : ui.bad}>{isWell ? words.well : words.notWell}</p>
      <Facts of={facts} />
      {fault === undefined ? <Channels of={channels} /> : <Unopened fault={fault} />}
    </>
  )
}

const Unopened = ({ fault }: { fault: string }) => {
  const { preflight: words } = useWords()
  return (
    <p>
      {words.unopened} <Name>{fault}</Name> {words.openIt}
    </p>
  )
}

/** Badges by their urgency. */
const LOOKS = { dead: 'critical', ok: 'ready' } as const
const looksOf = (verdict: ChannelVerdict['verdict']): string => (LOOKS as Record<string, string>)[verdict] ?? 'warning'

function Channels({ of }: { of: readonly ChannelVerdict[] }) {
  const { preflight: words } = useWords()
  type Row = ChannelVerdict & { id: string }
  const columns: Column<Row>[] = [
    { cell: ({ channelIndex, label }) => <Name>{`${channelIndex} ${label}`}</Name>, head: words.channel },
    {
      cell: ({ verdict }) => <Badge state={looksOf(verdict)} word={words.verdicts[verdict]} />,
      head: words.verdict,
    },
    { cell: (channel) => words.heard(channel), head: words.what },
    { cell: (channel) => words.remedy(channel), head: words.toDo },
  ]
  return (
    <Table
      caption={words.title}
      columns={columns}
      rows={of.map((channel) => ({ ...channel, id: String(channel.channelIndex) }))}
    />
  )
}
