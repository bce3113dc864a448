import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import type { HealthEvent } from '../../wire/health.ts'
import type { Interface, Node } from '../../wire/nodes.ts'
import type { Recording } from '../../wire/recordings.ts'
import type { Room, RoomOverview } from '../../wire/rooms.ts'
import { AlertRow, isRisk } from '../alerts/row.tsx'
import { ActionButton, HistoryLink } from '../app/actionbutton.tsx'
import { useApp } from '../app/context.ts'
import { may } from '../app/may.rules.ts'
import { useRead } from '../data/reads.ts'
import { Length, TakeRows, TakeState } from '../library/rows.tsx'
import { StopButton } from '../library/stop.tsx'
import { MeterStrip } from '../meters/strip.tsx'
import { ChannelsDialog } from '../recorders/channels.tsx'
import { Heard } from '../schedule/preflight.tsx'
import { When } from '../time/when.tsx'
import { RecordButton } from '../today/record.tsx'
import { Badge, Button, Loading, Name, Section, Title } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { captureOf, sharesOf, titlesOf } from './channels.rules.ts'
import { DeleteRoom, RoomDialog } from './edit.tsx'
import { isSilent, locationOf, withoutHoles } from './list.rules.ts'
import { People } from './people.tsx'
import { TestTake } from './testtake.tsx'

/** What a technician does standing in the room: levels, listening, a test take. */
export function RoomPage({ id }: { id: string }) {
  const overview = useRead<{ data: RoomOverview }>(`/rooms/${encodeURIComponent(id)}/overview`, [
    'room',
    'node',
    'recording',
    'job',
    'schedule',
  ])
  return <Loading of={overview}>{({ data }) => <Shown overview={data} />}</Loading>
}

function Shown({ overview: { nodes, recentRecordings, room, upcoming } }: { overview: RoomOverview }) {
  const words = useWords()
  const { me, timeFormat } = useApp()
  const [next] = withoutHoles(upcoming)
  return (
    <>
      <div>
        <Title>
          <Name>{room.name}</Name>
        </Title>
        <p class={ui.quiet}>
          <Name>{locationOf(room, words.rooms.floor)}</Name>
        </p>
      </div>
      <RoomActions room={room} />
      <Running takes={recentRecordings} />
      {nodes.length === 0 && <p>{words.rooms.noRecorder}</p>}
      {nodes.map((node) => (
        <Recorder key={node.id} node={node} roomId={room.id} />
      ))}
      <Section title={words.rooms.recent}>
        <TakeRows empty={words.rooms.noRecent} takes={recentRecordings} />
      </Section>
      <Section title={words.rooms.upcoming}>
        {upcoming.length === 0 && <p class={ui.quiet}>{words.rooms.noUpcoming}</p>}
        <ul class={ui.rows}>
          {withoutHoles(upcoming).map(({ recordingStartAt, scheduleId, scheduleName }) => (
            <li key={`${scheduleId} ${recordingStartAt}`} class={ui.row}>
              <Link class={ui.grow} href={`/schedules/${encodeURIComponent(scheduleId)}`}>
                <Name>{scheduleName}</Name>
              </Link>
              <When at={recordingStartAt} />
            </li>
          ))}
        </ul>
      </Section>
      {next && <Heard mayLack scheduleId={next.scheduleId} zone={timeFormat.zone} />}
      {may(me, 'auth:manage') && <People roomId={room.id} />}
    </>
  )
}

/** What records here now, and how to end it. */
function Running({ takes }: { takes: readonly Recording[] }) {
  const words = useWords()
  const running = takes.filter(({ status }) => status === 'recording' || status === 'queued')
  if (running.length === 0) return null
  return (
    <Section title={words.today.now}>
      <ul class={ui.rows}>
        {running.map((take) => (
          <li key={take.id} class={ui.row}>
            <TakeState take={take} />
            <Link class={ui.grow} href={`/library/${encodeURIComponent(take.id)}`}>
              <Name>{take.name}</Name>
            </Link>
            <span class={ui.numbers}>
              <Length take={take} />
            </span>
            <StopButton take={take} />
          </li>
        ))}
      </ul>
    </Section>
  )
}

function RoomActions({ room }: { room: Room }) {
  const words = useWords()
  const [asking, setAsking] = useState<'delete' | 'edit'>()
  const close = (): void => setAsking(undefined)
  return (
    <div class={ui.row}>
      <Link class={ui.button} href={`/rooms/${encodeURIComponent(room.id)}/label`}>
        {words.edit.label}
      </Link>
      <ActionButton needs="node:manage" onClick={() => setAsking('edit')}>
        {words.common.edit}
      </ActionButton>
      <ActionButton kind="danger" needs="node:manage" onClick={() => setAsking('delete')}>
        {words.common.delete}
      </ActionButton>
      <HistoryLink target={room.id} />
      {asking === 'edit' && <RoomDialog close={close} room={room} />}
      {asking === 'delete' && <DeleteRoom close={close} room={room} />}
    </div>
  )
}

function Recorder({ node, roomId }: { node: Node; roomId: string }) {
  const words = useWords()
  const { me } = useApp()
  const shares = sharesOf(node, roomId)
  const titles = titlesOf(node)
  const [naming, setNaming] = useState<Interface>()
  return (
    <Section title={node.alias} aside={<Badge state={node.status} word={words.status[node.status] ?? node.status} />}>
      {may(me, 'health:read', roomId) && <Alerts nodeId={node.id} />}
      {shares.length === 0 && <p class={ui.quiet}>{words.rooms.noMeters}</p>}
      {shares.map(({ device }) => (
        <div key={device.id}>
          <div class={ui.heading}>
            <h3>
              <Name>{titles.get(device.id)}</Name>
            </h3>
            {may(me, 'node:manage') && (
              <Button onClick={() => setNaming(node.interfaces.find(({ id }) => id === device.id))}>
                {words.edit.channels}
              </Button>
            )}
          </div>
          <MeterStrip device={device} nodeId={node.id} />
        </div>
      ))}
      <div class={ui.row}>
        {!isSilent(node) &&
          may(me, 'recording:create', roomId) &&
          shares.map((share) => (
            <RecordButton
              key={share.device.id}
              of={{ alias: titles.get(share.device.id) ?? '', what: { nodeId: node.id, ...captureOf(share) } }}
            />
          ))}
        {may(me, 'schedule:manage', roomId) && (
          <Link class={ui.button} href={`/schedules/new?node=${encodeURIComponent(node.id)}`}>
            {words.schedule.new}
          </Link>
        )}
      </div>
      <TestTake node={node} roomId={roomId} />
      {naming && <ChannelsDialog close={() => setNaming(undefined)} device={naming} node={node} />}
    </Section>
  )
}

function Alerts({ nodeId }: { nodeId: string }) {
  const words = useWords()
  const alerts = useRead<{ data: HealthEvent[] }>(
    `/health-events?status=open&nodeId=${encodeURIComponent(nodeId)}&limit=10`,
    ['health'],
  )
  const open = (alerts.data?.data ?? []).filter(isRisk)
  if (open.length === 0) return null
  return (
    <ul class={ui.rows} aria-label={words.rooms.alerts}>
      {open.map((event) => (
        <AlertRow key={event.id} event={event} />
      ))}
    </ul>
  )
}
