import { useQueryClient } from '@tanstack/preact-query'
import { useState } from 'preact/hooks'
import { Link, useLocation } from 'wouter-preact'
import type { HealthEvent } from '../../wire/health.ts'
import type { Recording } from '../../wire/recordings.ts'
import type { Occurrence, Schedule } from '../../wire/schedules.ts'
import { AlertRow, isRisk } from '../alerts/row.tsx'
import { ActionButton, HistoryLink } from '../app/actionbutton.tsx'
import { useApp } from '../app/context.ts'
import { may } from '../app/may.rules.ts'
import { useNode, useRead, useWrite } from '../data/reads.ts'
import { TakeRows } from '../library/rows.tsx'
import { Confirm } from '../ui/dialog.tsx'
import { classes, type Fact, Facts, Failure, Loading, Name, Section, Title } from '../ui/parts.tsx'
import { useToast } from '../ui/toast.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { Exceptions } from './exceptions.tsx'
import { ScheduleForm } from './form.tsx'
import { Heard } from './preflight.tsx'
import { sentenceOf } from './recurrence.rules.ts'
import { Zoned } from './zoned.tsx'

export function ScheduleDetail({ id }: { id: string }) {
  const schedule = useRead<{ data: Schedule }>(`/schedules/${encodeURIComponent(id)}`, ['schedule'])
  return <Loading of={schedule}>{({ data }) => <Shown schedule={data} />}</Loading>
}

export function NewSchedule(_: { id: string }) {
  const words = useWords()
  const [, go] = useLocation()
  const asked = new URLSearchParams(location.search)
  const [from, nodeId] = [asked.get('from'), asked.get('node')]
  const model = useRead<{ data: Schedule }>(from ? `/schedules/${encodeURIComponent(from)}` : undefined, [])
  const done = ({ id }: Schedule): void => go(`/schedules/${encodeURIComponent(id)}`)
  return (
    <>
      <Title>{words.schedule.new}</Title>
      {from === null ? (
        <ScheduleForm done={done} {...(nodeId ? { nodeId } : {})} />
      ) : (
        <Loading of={model}>{({ data }) => <ScheduleForm done={done} model={data} />}</Loading>
      )}
    </>
  )
}

function Shown({ schedule }: { schedule: Schedule }) {
  const words = useWords()
  const node = useNode(schedule.nodeId)
  const [editing, setEditing] = useState(false)
  const path = `/schedules/${encodeURIComponent(schedule.id)}`
  const takes = useRead<{ data: Recording[] }>(`/recordings?scheduleId=${encodeURIComponent(schedule.id)}&limit=10`, [
    'recording',
  ])
  const facts: Fact[] = [
    [words.schedule.room, <Name key="room">{schedule.room}</Name>],
    [words.schedule.recorder, node.data ? <Name key="node">{node.data.data.alias}</Name> : words.schedule.anyRecorder],
    [
      words.schedule.nextRun,
      schedule.nextRunAt && <Zoned key="next" at={schedule.nextRunAt} zone={schedule.timezone} />,
    ],
    [words.schedule.titles, <Name key="titles">{schedule.titleTemplate}</Name>],
    [words.schedule.folder, <Name key="folder">{schedule.folderTemplate}</Name>],
    [words.take.tags, schedule.tags.length > 0 && <Name key="tags">{schedule.tags.join(', ')}</Name>],
  ]
  const queries = useQueryClient()
  // The page goes on with what was saved, not with what it read before: its next date may be another.
  const saved = (data: Schedule): void => {
    queries.setQueryData([path], { data })
    setEditing(false)
  }
  if (editing)
    return (
      <>
        <Title>{words.schedule.edit}</Title>
        <ScheduleForm before={schedule} cancel={() => setEditing(false)} done={saved} model={schedule} />
      </>
    )
  return (
    <>
      <Title>
        <Name>{schedule.name}</Name>
      </Title>
      <p>
        {schedule.enabled ? '' : `(${words.schedule.off}) `}
        {sentenceOf(schedule.recurrence, schedule.timezone, words)}
      </p>
      <Foreseen id={schedule.id} />
      <Actions edit={() => setEditing(true)} path={path} schedule={schedule} />
      <Section title={words.schedule.title}>
        <Facts of={facts} />
      </Section>
      <Occurrences path={path} zone={schedule.timezone} />
      <Heard scheduleId={schedule.id} zone={schedule.timezone} />
      <Exceptions path={path} schedule={schedule} />
      <Section title={words.schedule.takes}>
        <Loading of={takes}>{({ data }) => <TakeRows empty={words.rooms.noRecent} takes={data} />}</Loading>
      </Section>
    </>
  )
}

/** What health events say of its next take. */
function Foreseen({ id }: { id: string }) {
  const { me } = useApp()
  const path = `/health-events?scheduleId=${encodeURIComponent(id)}&status=open&limit=20`
  const alerts = useRead<{ data: HealthEvent[] }>(may(me, 'health:read') ? path : undefined, ['health'])
  const found = (alerts.data?.data ?? []).filter(isRisk)
  if (found.length === 0) return null
  return (
    <ul class={ui.rows}>
      {found.map((event) => (
        <AlertRow key={event.id} event={event} />
      ))}
    </ul>
  )
}

function Actions({ edit, path, schedule }: { edit(): void; path: string; schedule: Schedule }) {
  const words = useWords()
  const say = useToast()
  const [, go] = useLocation()
  const [asking, setAsking] = useState(false)
  const write = useWrite()
  const remove = useWrite(() => go('/schedule?view=list'))
  const { roomId } = schedule
  const send = (deed: string, done: string, body?: object): void =>
    write.mutate({ body, method: 'POST', path: `${path}/${deed}` }, { onSuccess: () => say(done) })
  const deeds = [
    [words.schedule.skipNext, () => send('skip-next', words.schedule.skipped, { nextRunAt: schedule.nextRunAt })],
    [words.schedule.runNow, () => send('run-now', words.schedule.started)],
  ] as const
  return (
    <>
      <div class={ui.row}>
        <ActionButton needs="schedule:manage" roomId={roomId} onClick={edit}>
          {words.common.edit}
        </ActionButton>
        {deeds.map(([word, deed]) => (
          <ActionButton key={word} needs="schedule:manage" roomId={roomId} disabled={write.isPending} onClick={deed}>
            {word}
          </ActionButton>
        ))}
        <Link class={ui.button} href={`/schedules/new?from=${encodeURIComponent(schedule.id)}`}>
          {words.schedule.duplicate}
        </Link>
        <HistoryLink target={schedule.id} />
        <ActionButton kind="danger" needs="schedule:manage" roomId={roomId} onClick={() => setAsking(true)}>
          {words.common.delete}
        </ActionButton>
      </div>
      {write.error && <Failure error={write.error} />}
      {asking && (
        <Confirm
          title={words.schedule.deleteTitle(schedule.name)}
          deed={words.common.delete}
          close={() => {
            setAsking(false)
            remove.reset()
          }}
          confirm={() => remove.mutate({ method: 'DELETE', path })}
          error={remove.error}
          pending={remove.isPending}
        >
          <p>{words.schedule.deleteExplained}</p>
        </Confirm>
      )}
    </>
  )
}

function Occurrences({ path, zone }: { path: string; zone: string }) {
  const words = useWords()
  const next = useRead<{ data: Occurrence[] }>(`${path}/occurrences?limit=5`, ['schedule'])
  return (
    <Section title={words.schedule.occurrences}>
      <p class={classes(ui.quiet, ui.small)}>{words.schedule.zone(zone)}</p>
      <Loading of={next}>
        {({ data }) =>
          data.length === 0 ? (
            <p class={ui.quiet}>{words.schedule.noOccurrences}</p>
          ) : (
            <ul class={ui.rows}>
              {data.map(({ recordingEndAt, recordingStartAt }) => (
                <li key={recordingStartAt} class={ui.row}>
                  <Zoned at={recordingStartAt} zone={zone} />
                  {recordingEndAt && (
                    <span class={ui.quiet}>
                      – <Zoned at={recordingEndAt} time zone={zone} />
                    </span>
                  )}
                </li>
              ))}
            </ul>
          )
        }
      </Loading>
    </Section>
  )
}
