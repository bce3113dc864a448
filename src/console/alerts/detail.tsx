import { Link } from 'wouter-preact'
import type { HealthEvent } from '../../wire/health.ts'
import { useApp } from '../app/context.ts'
import { may } from '../app/may.rules.ts'
import { useNode, useRead, useWrite } from '../data/reads.ts'
import { When } from '../time/when.tsx'
import { Badge, Button, type Fact, Facts, Loading, Name, Section } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { isLink, offered, restOf, textsOf } from './moves.rules.ts'
import { Moves } from './moves.tsx'

export function AlertDetail({ close, id }: { close(): void; id: string }) {
  const event = useRead<{ data: HealthEvent }>(`/health-events/${encodeURIComponent(id)}`, ['health'])
  return <Loading of={event}>{({ data }) => <Shown close={close} event={data} />}</Loading>
}

function Shown({ close, event }: { close(): void; event: HealthEvent }) {
  const words = useWords()
  const { me } = useApp()
  const node = useNode(event.nodeId)
  const places: Fact[] = [
    [words.alerts.recorder, node.data && <Name key="node">{node.data.data.alias}</Name>],
    [words.alerts.since, <When key="since" at={event.openedAt} />],
    [
      words.alerts.acknowledgedAt,
      event.acknowledgedAt && (
        <Who key="acknowledged" at={event.acknowledgedAt} by={event.acknowledgedBy} name={event.acknowledgedByName} />
      ),
    ],
    [words.alerts.suppressedUntil, event.status === 'suppressed' && <Until key="until" at={event.suppressedUntil} />],
    [
      words.alerts.resolvedAt,
      event.resolvedAt && (
        <Who key="resolved" at={event.resolvedAt} by={event.resolvedBy} name={event.resolvedByName} />
      ),
    ],
  ]
  return (
    <Section
      title={words.alert(event.type)}
      aside={<Button icon="close" aria-label={words.common.close} onClick={close} />}
    >
      <div class={ui.row}>
        <Badge state={event.severity} word={words.severity[event.severity] ?? event.severity} />
        <span>{words.alerts.statuses[event.status]}</span>
      </div>
      {textsOf(event).map((said) => (
        <p key={said} lang="en">
          <Name>{said}</Name>
        </p>
      ))}
      <Facts of={places} />
      <div class={ui.row}>
        {node.data?.data.roomId && (
          <Link class={ui.button} href={`/rooms/${encodeURIComponent(node.data.data.roomId)}`}>
            {words.alerts.openRoom}
          </Link>
        )}
        {event.recordingId && (
          <Link class={ui.button} href={`/library/${encodeURIComponent(event.recordingId)}`}>
            {words.alerts.openTake}
          </Link>
        )}
        {event.scheduleId && (
          <Link class={ui.button} href={`/schedules/${encodeURIComponent(event.scheduleId)}`}>
            {words.alerts.openSchedule}
          </Link>
        )}
        {may(me, 'settings:read') && (
          <Link
            class={ui.button}
            href={`/settings/notifications/deliveries?healthEventId=${encodeURIComponent(event.id)}`}
          >
            {words.notifications.ofAlert}
          </Link>
        )}
      </div>
      <Details of={event.details} />
      <Actions event={event} roomId={node.data?.data.roomId} />
    </Section>
  )
}

interface WhoProps {
  at: string
  by: string | undefined
  name: string | undefined
}

const Who = ({ at, by, name = by }: WhoProps) => {
  const words = useWords()
  const who = by?.startsWith('system:')
    ? words.alerts.byItself
    : name && words.alerts[isLink(by) ? 'byLink' : 'by'](name)
  return (
    <>
      <When at={at} /> {who && <Name>{who}</Name>}
    </>
  )
}

const Until = ({ at }: { at: string | null }) => {
  const words = useWords()
  return at === null ? <span>{words.alerts.untilReopened}</span> : <When at={at} />
}

/** What the recorder or the controller told with it, as it was told. */
function Details({ of }: { of: Record<string, unknown> }) {
  const words = useWords()
  const entries = restOf(of)
  if (entries.length === 0) return null
  return (
    <details>
      <summary>{words.alerts.details}</summary>
      <Facts
        of={entries.map(([name, value]) => [
          name,
          <Name key={name}>{typeof value === 'string' ? value : JSON.stringify(value)}</Name>,
        ])}
      />
    </details>
  )
}

function Actions({ event, roomId }: { event: HealthEvent; roomId: string | undefined }) {
  const write = useWrite<{ data: HealthEvent }>()
  const path = `/health-events/${encodeURIComponent(event.id)}`
  return (
    <Moves
      moves={offered(event)}
      roomId={roomId}
      send={(action, body, done) =>
        write.mutate({ body, method: 'POST', path: `${path}/${action}` }, { onSuccess: done })
      }
      write={write}
    />
  )
}
