import { Link } from 'wouter-preact'
import type { HealthEvent } from '../../wire/health.ts'
import type { Node } from '../../wire/nodes.ts'
import type { Recording } from '../../wire/recordings.ts'
import type { Room } from '../../wire/rooms.ts'
import type { CalendarItem } from '../../wire/schedules.ts'
import type { Status } from '../../wire/status.ts'
import { AlertRow, isRisk } from '../alerts/row.tsx'
import { useApp } from '../app/context.ts'
import { may } from '../app/may.rules.ts'
import { useNode, useRead } from '../data/reads.ts'
import { StopButton } from '../library/stop.tsx'
import { present } from '../meters/channels.rules.ts'
import { MeterStrip } from '../meters/strip.tsx'
import { dayOf, lengthOf } from '../time/format.rules.ts'
import { useElapsed, useHour, When } from '../time/when.tsx'
import { Badge, classes, Loading, Name, Section, Title } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { ToDo } from '../welcome/todo.tsx'
import { useWords } from '../words/words.ts'
import { RecordButton } from './record.tsx'
import { dayAhead, onlyThere, whereMended } from './today.rules.ts'

const MAX_SHOWN = 30

interface Listed<T> {
  data: T[]
  meta: { total: number }
}

/** What records now, what is at risk, what comes. */
export function Today(_: { id: string }) {
  const words = useWords()
  const { me } = useApp()
  return (
    <>
      <div class={ui.heading}>
        <Title>{words.today.title}</Title>
        {may(me, 'recording:create') && <RecordButton />}
      </div>
      {may(me, 'settings:manage') && <ToDo />}
      {me.resourceGrants.length + me.roomCapabilities.length === 0 && !may(me, 'settings:manage') && <NoRoom />}
      {may(me, 'recording:read') && <Now />}
      {(may(me, 'health:read') || may(me, 'schedule:read')) && <AtRisk />}
      {may(me, 'schedule:read') && <Next />}
    </>
  )
}

/** Roles without a place show nothing, which is not the same as a quiet day. */
function NoRoom() {
  const words = useWords()
  const rooms = useRead<{ data: Room[] }>('/rooms', ['room'])
  const nodes = useRead<Listed<Node>>('/nodes?limit=1', ['node'])
  if (rooms.data?.data.length !== 0 || nodes.data?.data.length !== 0) return null
  return <p class={classes(ui.notice, ui.warn)}>{words.today.noRoom}</p>
}

function Now() {
  const words = useWords()
  const { api } = useApp()
  const running = useRead<Listed<Recording>>('/recordings?status=recording&limit=50', ['recording'])
  const missing = useRead<Listed<Recording>>('/recordings?cacheState=missing&limit=200', ['recording'])
  const seconds = onlyThere(missing.data?.data ?? [], api.now())
  return (
    <Section title={words.today.now}>
      <Loading of={running}>
        {({ data }) =>
          data.length === 0 ? (
            <p class={ui.quiet}>{words.today.nothingNow}</p>
          ) : (
            <ul class={ui.rows}>
              {data.map((take) => (
                <Running key={take.id} take={take} />
              ))}
            </ul>
          )
        }
      </Loading>
      {seconds > 0 && (
        <p class={ui.quiet}>
          <strong>{words.today.onePlace(lengthOf(seconds))}.</strong> {words.today.onePlaceExplained}
        </p>
      )}
    </Section>
  )
}

function Running({ take }: { take: Recording }) {
  const words = useWords()
  const elapsed = useElapsed(take.recordedAt)
  const node = useNode(take.nodeId)
  const device = node.data && present(node.data.data)[0]
  return (
    <li class={ui.stack}>
      <div class={ui.row}>
        <Badge state="recording" word={words.status.recording ?? ''} />
        <Link class={ui.grow} href={`/library/${encodeURIComponent(take.id)}`}>
          <Name>{take.name}</Name>
        </Link>
        <span class={ui.numbers}>{words.today.elapsed(elapsed)}</span>
        <StopButton take={take} />
      </div>
      {device && node.data && <MeterStrip device={device} nodeId={node.data.data.id} />}
    </li>
  )
}

function AtRisk() {
  const words = useWords()
  const { api, clockwork, me } = useApp()
  const sees = may(me, 'health:read')
  const alerts = useRead<Listed<HealthEvent>>(sees ? '/health-events?status=open&limit=20' : undefined, ['health'])
  const due = useDayAhead()
  const status = useRead<{ data: Status }>(may(me, 'node:read') ? '/status' : undefined, ['settings', 'node'])
  const { certificateExpiresAt: ends, offlineNodes = 0 } = status.data?.data ?? {}
  const offline = useRead<Listed<Node>>(offlineNodes > 0 ? '/nodes?status=offline&limit=50' : undefined, ['node'])
  const soon = ends !== undefined && Date.parse(ends) - api.now() < 21 * 86_400_000
  const threatened = (due.data?.data ?? []).filter(({ risks }) => risks !== undefined)
  const named = new Set(threatened.map(({ nodeId }) => nodeId))
  // A recorder whose next recording is told of is not told of twice.
  const down = (offlineNodes > 0 ? (offline.data?.data ?? []) : []).filter(({ id }) => !named.has(id))
  const risks = (alerts.data?.data ?? []).filter(isRisk)
  // Nothing is said to be well before all of it has been read.
  const reads: { data: unknown; error: Error | null; refetch(): unknown }[] = [
    ...(sees ? [alerts] : []),
    ...(may(me, 'schedule:read') ? [due] : []),
    ...(may(me, 'node:read') ? [status] : []),
    ...(offlineNodes > 0 ? [offline] : []),
  ]
  return (
    <Section title={words.today.risk}>
      <Loading<unknown> of={reads.find(({ data }) => data === undefined) ?? { data: true, error: null, refetch() {} }}>
        {() => (
          <>
            {risks.length + down.length + threatened.length === 0 && !soon && (
              <p class={ui.good}>{words.today.nothingRisk}</p>
            )}
            <ul class={ui.rows}>
              {soon && <li class={classes(ui.row, ui.warn)}>{words.today.certificate(dayOf(ends, clockwork))}</li>}
              {threatened.slice(0, MAX_SHOWN).map((item) => (
                <Threatened key={`${item.scheduleId} ${item.recordingStartAt}`} item={item} />
              ))}
              {down.map((node) => (
                <li key={node.id} class={ui.row}>
                  <Badge state="offline" word={words.status.offline ?? ''} />
                  <Place node={node} />
                  <span class={classes(ui.small, ui.quiet)}>
                    <When at={node.lastSeenAt} />
                  </span>
                </li>
              ))}
              {risks.map((event) => (
                <AlertRow key={event.id} event={event} />
              ))}
            </ul>
          </>
        )}
      </Loading>
    </Section>
  )
}

/** What is recorded and where; each a way to its page. */
const Due = ({ item: { room, roomId, scheduleId, scheduleName } }: { item: CalendarItem }) => (
  <>
    <Link class={ui.grow} href={`/schedules/${encodeURIComponent(scheduleId)}`}>
      <Name>{scheduleName}</Name>
    </Link>
    <span class={classes(ui.small, ui.quiet)}>
      {roomId === undefined ? (
        <Name>{room}</Name>
      ) : (
        <Link href={`/rooms/${encodeURIComponent(roomId)}`}>
          <Name>{room}</Name>
        </Link>
      )}
    </span>
  </>
)

/** One recording that may not be made, and the way to what mends it. */
function Threatened({ item }: { item: CalendarItem }) {
  const words = useWords()
  const [risk] = item.risks ?? []
  if (!risk) return null
  return (
    <li class={ui.row}>
      <Badge state="warning" word={words.today.risks[risk]} />
      <span class={ui.numbers}>
        <When at={item.recordingStartAt} soon />
      </span>
      <Due item={item} />
      <Link href={whereMended(risk, item)}>{words.today.mend[risk]}</Link>
    </li>
  )
}

const Place = ({ node: { alias, roomId } }: { node: Node }) =>
  roomId === undefined ? (
    <span class={ui.grow}>
      <Name>{alias}</Name>
    </span>
  ) : (
    <Link class={ui.grow} href={`/rooms/${encodeURIComponent(roomId)}`}>
      <Name>{alias}</Name>
    </Link>
  )

/** What is due, read again when a recorder comes or goes: what stands against it changes with them. */
function useDayAhead() {
  const { me } = useApp()
  const { end, start } = dayAhead(useHour())
  const path = may(me, 'schedule:read') ? `/schedules/calendar?start=${start}&end=${end}` : undefined
  return useRead<{ data: CalendarItem[] }>(path, ['schedule', 'node'])
}

function Next() {
  const words = useWords()
  const next = useDayAhead()
  return (
    <Section title={words.today.next}>
      <Loading of={next}>
        {({ data }) =>
          data.length === 0 ? (
            <p class={ui.quiet}>{words.today.nothingNext}</p>
          ) : (
            <ul class={ui.rows}>
              {data.slice(0, MAX_SHOWN).map((item) => (
                <li key={`${item.scheduleId} ${item.recordingStartAt}`} class={ui.row}>
                  <span class={ui.numbers}>
                    <When at={item.recordingStartAt} soon />
                  </span>
                  <Due item={item} />
                </li>
              ))}
            </ul>
          )
        }
      </Loading>
    </Section>
  )
}
