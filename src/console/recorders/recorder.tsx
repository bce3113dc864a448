import type { HealthEvent } from '../../wire/health.ts'
import type { Node } from '../../wire/nodes.ts'
import { AlertRow } from '../alerts/row.tsx'
import { useApp } from '../app/context.ts'
import { may } from '../app/may.rules.ts'
import { useRead } from '../data/reads.ts'
import { History } from '../library/history.tsx'
import { present } from '../meters/channels.rules.ts'
import { MeterStrip } from '../meters/strip.tsx'
import { When } from '../time/when.tsx'
import { Badge, type Fact, Facts, Loading, Name, Section, Tabs, Title } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { Maintenance } from './maintenance.tsx'
import { Setup } from './setup.tsx'

const TABS = ['live', 'setup', 'maintenance', 'history'] as const
type Tab = (typeof TABS)[number]

/** `part`: the tab, in the address. */
export function RecorderPage({ id, part }: { id: string; part: string }) {
  const node = useRead<{ data: Node }>(`/nodes/${encodeURIComponent(id)}`, ['node'])
  const tab = TABS.find((one) => one === part) ?? 'live'
  return <Loading of={node}>{({ data }) => <Shown node={data} tab={tab} />}</Loading>
}

function Shown({ node, tab }: { node: Node; tab: Tab }) {
  const words = useWords()
  const path = `/recorders/${encodeURIComponent(node.id)}`
  const addressOf = (one: Tab): string => (one === 'live' ? path : `${path}/${one}`)
  return (
    <>
      <div class={ui.heading}>
        <Title>
          <Name>{node.alias}</Name>
        </Title>
        <Badge state={node.status} word={words.status[node.status] ?? node.status} />
      </div>
      {node.problems?.map(({ code, message }) => (
        <p key={code} class={`${ui.notice} ${ui.bad}`}>
          <Name>{words.recorders.problems[code] ?? message}</Name>
        </p>
      ))}
      <Tabs
        at={addressOf(tab)}
        label={words.recorders.title}
        tabs={TABS.map((one) => [addressOf(one), words.recorders.tabs[one]] as const)}
      />
      {tab === 'live' && <Live node={node} />}
      {tab === 'setup' && <Setup node={node} />}
      {tab === 'maintenance' && <Maintenance node={node} />}
      {tab === 'history' && <Past node={node} />}
    </>
  )
}

function Live({ node }: { node: Node }) {
  const words = useWords()
  const { denoiser, kernelRelease, osName } = node.runtime ?? {}
  const facts: Fact[] = [
    [words.recorders.place, <Name key="place">{`${node.location.site}, ${node.location.room}`}</Name>],
    [words.recorders.seen, <When key="seen" at={node.lastSeenAt} />],
    [words.recorders.version, <Name key="version">{node.agentVersion}</Name>],
    [words.recorders.host, <Name key="host">{node.hostname}</Name>],
    [words.recorders.addresses, <Name key="addresses">{node.ipAddresses.join(', ')}</Name>],
    [words.recorders.system, osName && <Name key="system">{[osName, kernelRelease].filter(Boolean).join(', ')}</Name>],
    [words.recorders.denoiser, denoiser && `${denoiser.engine} (${denoiser.model})`],
  ]
  return (
    <>
      {present(node).map((device) => (
        <Section key={device.id} title={device.alias}>
          <MeterStrip device={device} nodeId={node.id} />
        </Section>
      ))}
      <Section title={words.recorders.name}>
        <Facts of={facts} />
      </Section>
    </>
  )
}

function Past({ node }: { node: Node }) {
  const words = useWords()
  const { me } = useApp()
  return (
    <>
      {may(me, 'health:read', node.roomId) && <PastAlerts nodeId={node.id} />}
      {may(me, 'audit:read') && <History id={node.id} kinds={['node']} />}
      {!may(me, 'health:read', node.roomId) && !may(me, 'audit:read') && <p>{words.common.needs('health:read')}</p>}
    </>
  )
}

function PastAlerts({ nodeId }: { nodeId: string }) {
  const words = useWords()
  const path = `/health-events?nodeId=${encodeURIComponent(nodeId)}&limit=50`
  const alerts = useRead<{ data: HealthEvent[] }>(path, ['health'])
  return (
    <Section title={words.recorders.alerts}>
      <Loading of={alerts}>
        {({ data }) =>
          data.length === 0 ? (
            <p class={ui.quiet}>{words.recorders.noAlerts}</p>
          ) : (
            <ul class={ui.rows}>
              {data.map((event) => (
                <AlertRow key={event.id} event={event} />
              ))}
            </ul>
          )
        }
      </Loading>
    </Section>
  )
}
