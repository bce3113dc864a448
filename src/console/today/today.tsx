import { Link } from 'wouter-preact'
import type { UndeliveredTotal } from '../../wire/captures.ts'
import type { HealthEvent } from '../../wire/health.ts'
import type { Node } from '../../wire/nodes.ts'
import type { Recording } from '../../wire/recordings.ts'
import type { Room } from '../../wire/rooms.ts'
import type { CalendarItem } from '../../wire/schedules.ts'
import { AlertRow, isRisk } from '../alerts/row.tsx'
import { useApp } from '../app/context.ts'
import { may } from '../app/may.rules.ts'
import { useRead, useStatus } from '../data/reads.ts'
import { TakeState } from '../library/rows.tsx'
import { hasNotBegun } from '../library/sound.rules.ts'
import { StopButton } from '../library/stop.tsx'
import { MeterStrip } from '../meters/strip.tsx'
import { dayOf, lengthOf, secondsBetween } from '../time/format.rules.ts'
import { useHour, useNow, When } from '../time/when.tsx'
import { Badge, classes, Loading, Name, Section, Title } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { ToDo } from '../welcome/todo.tsx'
import { useWords } from '../words/words.ts'
import { RecordButton } from './record.tsx'
import {
  allOnlyThere,
  coming,
  dangersOf,
  dayAhead,
  deviceOf,
  microphones,
  onlyThere,
  whereMended,
} from './today.rules.ts'

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

/** Of a list that is cut: the way to the whole of it. */
function More({ href, left }: { href: string; left: boolean }) {
  const words = useWords()
  return left ? <Link href={href}>{words.today.more}</Link> : null
}

const RUNNING_SHOWN = 50

function Now() {
  const words = useWords()
  const running = useRead<Listed<Recording>>(`/recordings?status=recording&limit=${RUNNING_SHOWN}`, ['recording'])
  const missing = useRead<{ data: UndeliveredTotal }>('/recordings/undelivered', ['recording', 'node'])
  return (
    <Section title={words.today.now}>
      <Loading of={running}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <p class={ui.quiet}>{words.today.nothingNow}</p>
          ) : (
            <>
              <ul class={ui.rows}>
                {data.map((take) => (
                  <Running key={take.id} take={take} />
                ))}
              </ul>
              <More href="/library?status=recording" left={meta.total > data.length} />
            </>
          )
        }
      </Loading>
      <Loading of={missing}>{({ data }) => <OnePlace total={data} />}</Loading>
    </Section>
  )
}

function OnePlace({ total }: { total: UndeliveredTotal }) {
  const words = useWords()
  const seconds = allOnlyThere(total, useNow())
  if (seconds < 1) return null
  return (
    <p class={ui.quiet}>
      <strong>{words.today.onePlace(lengthOf(seconds))}.</strong> {words.today.onePlaceExplained}
    </p>
  )
}

function Running({ take }: { take: Recording }) {
  const words = useWords()
  const { me } = useApp()
  const { capture, nodeId, undelivered } = take
  const now = useNow()
  const elapsed = lengthOf(secondsBetween(take.recordedAt, now))
  const there = undelivered ? onlyThere(undelivered, now) : 0
  return (
    <li class={ui.stack}>
      <div class={ui.row}>
        <TakeState take={take} />
        <Link class={ui.grow} href={`/library/${encodeURIComponent(take.id)}`}>
          <Name>{take.name}</Name>
        </Link>
        {!hasNotBegun(take) && <span class={ui.numbers}>{words.today.elapsed(elapsed)}</span>}
        <StopButton take={take} />
      </div>
      {(capture || there >= 1) && (
        <p class={classes(ui.small, ui.quiet)}>
          {capture && <Name>{microphones(capture, words.meter.channel)}</Name>}{' '}
          {there >= 1 && words.today.notHere(lengthOf(there))}
        </p>
      )}
      {capture && nodeId !== undefined && may(me, 'node:read') && (
        <MeterStrip device={deviceOf(capture)} nodeId={nodeId} />
      )}
    </li>
  )
}

interface Loaded {
  data: unknown
  error: Error | null
  refetch(): unknown
}

const isCut = (list: Listed<unknown> | undefined): boolean => list !== undefined && list.meta.total > list.data.length

/** Everything that may go wrong, as far as this person may know of it. */
function useRisks() {
  const { api, me } = useApp()
  const sees = may(me, 'health:read')
  const alerts = useRead<Listed<HealthEvent>>(sees ? '/health-events?status=open&limit=20' : undefined, ['health'])
  const due = useDayAhead()
  const status = useStatus()
  const { certificateExpiresAt: ends, failedUploads = 0, offlineNodes = 0 } = status.data?.data ?? {}
  const offline = useRead<Listed<Node>>(offlineNodes > 0 ? '/nodes?status=offline&limit=50' : undefined, ['node'])
  const threatened = (due.data?.data ?? []).filter((item) => dangersOf(item).length > 0)
  const named = new Set(threatened.map(({ nodeId }) => nodeId))
  const shown = new Set(threatened.map(({ scheduleId }) => scheduleId))
  // What is foreseen of an occurrence stands with it.
  const isShown = ({ scheduleId, type }: HealthEvent): boolean =>
    scheduleId !== undefined && shown.has(scheduleId) && type.startsWith('foresight.')
  const reads: Loaded[] = [
    ...(sees ? [alerts] : []),
    ...(may(me, 'schedule:read') ? [due] : []),
    ...(may(me, 'node:read') ? [status] : []),
    ...(offlineNodes > 0 ? [offline] : []),
  ]
  return {
    alerts: (alerts.data?.data ?? []).filter((event) => isRisk(event) && !isShown(event)),
    // A recorder whose next recording is told of is not told of twice.
    down: (offlineNodes > 0 ? (offline.data?.data ?? []) : []).filter(({ id }) => !named.has(id)),
    ends: ends !== undefined && Date.parse(ends) - api.now() < 21 * 86_400_000 ? ends : undefined,
    failedUploads,
    more: {
      alerts: isCut(alerts.data),
      due: threatened.length > MAX_SHOWN || due.data?.meta.truncated === true,
      offline: offlineNodes > 0 && isCut(offline.data),
    },
    /** The first that is still awaited: nothing is said to be well before all of it has been read. */
    awaited: reads.find(({ data }) => data === undefined) ?? { data: true, error: null, refetch() {} },
    threatened,
  }
}

function AtRisk() {
  const words = useWords()
  const { timeFormat } = useApp()
  const { alerts, awaited, down, ends, failedUploads, more, threatened } = useRisks()
  const well = alerts.length + down.length + threatened.length + failedUploads === 0 && ends === undefined
  return (
    <Section title={words.today.risk}>
      <Loading<unknown> of={awaited}>
        {() => (
          <>
            {well && <AllWell judged={!more.due} />}
            <ul class={ui.rows}>
              {ends !== undefined && <CertificateRow day={dayOf(ends, timeFormat)} />}
              {failedUploads > 0 && (
                <li class={ui.row}>
                  <Badge state="failed" word={words.today.failedUploads(failedUploads)} />
                  <Link href="/activity/uploads?status=failed">{words.today.toUploads}</Link>
                </li>
              )}
              {threatened.slice(0, MAX_SHOWN).map((item) => (
                <Threatened key={`${item.scheduleId} ${item.recordingStartAt}`} item={item} />
              ))}
              {down.map((node) => (
                <Down key={node.id} node={node} />
              ))}
              {alerts.map((event) => (
                <AlertRow key={event.id} event={event} />
              ))}
            </ul>
            <More href="/alerts" left={more.alerts} />
            <More href="/schedule" left={more.due} />
            <More href="/recorders" left={more.offline} />
          </>
        )}
      </Loading>
    </Section>
  )
}

/** Only of what this person sees; `judged`: every recording that is due was looked at. */
function AllWell({ judged }: { judged: boolean }) {
  const words = useWords()
  const { me } = useApp()
  const alerts = may(me, 'health:read') && words.today.noAlerts
  const ready = judged && may(me, 'schedule:read') && words.today.allReady
  return <p class={ui.good}>{[alerts, ready].filter(Boolean).join(' ')}</p>
}

function Down({ node }: { node: Node }) {
  const words = useWords()
  return (
    <li class={ui.row}>
      <Badge state="offline" word={words.status.offline ?? ''} />
      <Place node={node} />
      <span class={classes(ui.small, ui.quiet)}>
        <When at={node.lastSeenAt} />
      </span>
    </li>
  )
}

function CertificateRow({ day }: { day: string }) {
  const words = useWords()
  return <li class={classes(ui.row, ui.warn)}>{words.today.certificate(day)}</li>
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
  const [danger] = dangersOf(item)
  if (!danger) return null
  return (
    <li class={ui.row}>
      <Badge state="warning" word={words.today.risks[danger]} />
      <span class={ui.numbers}>
        <When at={item.recordingStartAt} soon />
      </span>
      <Due item={item} />
      <Link href={whereMended(danger, item)}>{words.today.mend[danger]}</Link>
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
  return useRead<{ data: CalendarItem[]; meta: { truncated: boolean } }>(path, ['schedule', 'node', 'health'])
}

function Next() {
  const words = useWords()
  const next = useDayAhead()
  const now = useNow(60_000)
  return (
    <Section title={words.today.next}>
      <Loading of={next}>{({ data, meta }) => <Coming items={coming(data, now)} truncated={meta.truncated} />}</Loading>
    </Section>
  )
}

function Coming({ items, truncated }: { items: readonly CalendarItem[]; truncated: boolean }) {
  const words = useWords()
  if (items.length === 0 && !truncated) return <p class={ui.quiet}>{words.today.nothingNext}</p>
  return (
    <>
      <ul class={ui.rows}>
        {items.slice(0, MAX_SHOWN).map((item) => (
          <li key={`${item.scheduleId} ${item.recordingStartAt}`} class={ui.row}>
            <span class={ui.numbers}>
              <When at={item.recordingStartAt} soon />
            </span>
            <Due item={item} />
          </li>
        ))}
      </ul>
      <More href="/schedule" left={truncated || items.length > MAX_SHOWN} />
    </>
  )
}
