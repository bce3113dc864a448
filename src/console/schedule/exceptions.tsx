import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import type { Exception, MovedAway, Schedule } from '../../wire/schedules.ts'
import { ActionButton } from '../app/actionbutton.tsx'
import { useApp } from '../app/context.ts'
import { useRead, useWrite } from '../data/reads.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Field, Form } from '../ui/form.tsx'
import { Failure, Name, Section } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { Zoned } from './zoned.tsx'

interface ExceptionsProps {
  path: string
  schedule: Schedule
}

const same = (a: Exception, b: Exception): boolean => JSON.stringify(a) === JSON.stringify(b)

/** Days on which nothing is recorded, and those an occurrence was moved away from. */
export function Exceptions({ path, schedule }: ExceptionsProps) {
  const words = useWords()
  const { api } = useApp()
  const [adding, setAdding] = useState(false)
  const close = (): void => {
    setAdding(false)
    write.reset()
  }
  const write = useWrite(close)
  const { recurrence, roomId, timezone } = schedule
  // The recurrence is replaced whole: it is read anew, so that what somebody else just changed is not lost.
  const save = (change: (held: readonly Exception[]) => Exception[]): void =>
    write.mutate(async () => {
      const { data } = await api.get<{ data: Schedule }>(path)
      const exceptions = change(data.recurrence.exceptions ?? [])
      return { body: { recurrence: { ...data.recurrence, exceptions } }, method: 'PATCH', path }
    })
  // A copy that is on its way off the screen is not asked for again.
  const [returning, setReturning] = useState<string>()
  const back = ({ id, updatedAt }: Schedule): void => {
    setReturning(id)
    write.mutate(
      { body: { movedTo: id, updatedAt }, method: 'POST', path: `${path}/undo-move` },
      { onError: () => setReturning(undefined) },
    )
  }
  const held = recurrence.exceptions ?? []
  return (
    <Section
      title={words.schedule.exceptions}
      aside={
        <ActionButton needs="schedule:manage" roomId={roomId} onClick={() => setAdding(true)}>
          {words.schedule.leaveOut}
        </ActionButton>
      }
    >
      {write.error && !adding && <Failure error={write.error} />}
      {held.length === 0 && <p class={ui.quiet}>{words.common.none}</p>}
      <ul class={ui.rows}>
        {held.map((one) => (
          <Row
            key={JSON.stringify(one)}
            back={back}
            of={one}
            pending={write.isPending}
            returning={returning}
            remove={() => save((now) => now.filter((other) => !same(other, one)))}
            roomId={roomId}
          />
        ))}
      </ul>
      {adding && (
        <Add
          add={(one) => save((now) => [...now, one])}
          close={close}
          error={write.error}
          pending={write.isPending}
          zone={timezone}
        />
      )}
    </Section>
  )
}

interface RowProps {
  back(copy: Schedule): void
  of: Exception
  pending: boolean
  remove(): void
  returning: string | undefined
  roomId: string | undefined
}

/** Whose copy still waits is moved back: to bring back the date alone would record twice. */
function Row({ back, of, pending, remove, returning, roomId }: RowProps) {
  const words = useWords()
  const movedTo = of.action === 'skip' ? of.movedTo : undefined
  const path = movedTo && movedTo !== returning ? `/schedules/${encodeURIComponent(movedTo)}` : undefined
  const read = useRead<{ data: Schedule }>(path, ['schedule'])
  const copy = read.error ? undefined : read.data?.data
  const waits = copy?.enabled === true && copy.nextRunAt !== undefined
  const asking = movedTo !== undefined && read.isPending
  return (
    <li class={ui.row}>
      <span class={ui.grow}>
        <Told of={of} />{' '}
        {copy && (
          <Link href={`/schedules/${encodeURIComponent(copy.id)}`}>
            {copy.nextRunAt ? <Zoned at={copy.nextRunAt} zone={copy.timezone} /> : <Name>{copy.name}</Name>}
          </Link>
        )}
      </span>
      <ActionButton
        needs="schedule:manage"
        roomId={roomId}
        disabled={pending || asking}
        onClick={() => (copy && waits ? back(copy) : remove())}
      >
        {waits ? words.schedule.moveBack : words.common.remove}
      </ActionButton>
    </li>
  )
}

const MOVED_AWAY: MovedAway = 'moved'

function Told({ of }: { of: Exception }) {
  const words = useWords()
  if (of.reason === MOVED_AWAY && of.action === 'skip')
    return of.movedTo ? words.schedule.movedFromTo(of.date) : words.schedule.movedAway(of.date)
  return (
    <>
      {of.action === 'skip' ? words.schedule.skip(of.date) : words.schedule.pause(of.startDate, of.endDate)}{' '}
      <Name>{of.reason}</Name>
    </>
  )
}

interface AddProps {
  add(one: Exception): void
  close(): void
  error: Error | null
  pending: boolean
  zone: string
}

/** One day, or all from one to another. */
function Add({ add, close, error, pending, zone }: AddProps) {
  const words = useWords()
  const [from, setFrom] = useState('')
  const send = ({ endDate, reason, startDate }: Record<string, unknown>): void => {
    const why = typeof reason === 'string' ? { reason } : {}
    const first = String(startDate)
    if (endDate === undefined || endDate === startDate) add({ action: 'skip', date: first, ...why })
    else add({ action: 'pause', endDate: String(endDate), startDate: first, ...why })
  }
  return (
    <Dialog title={words.schedule.leaveOut} close={close}>
      <Form error={error} pending={pending} send={send}>
        <Field
          name="startDate"
          type="date"
          label={words.schedule.firstDay}
          hint={words.schedule.zone(zone)}
          value={from}
          required
          onInput={(e) => setFrom(e.currentTarget.value)}
        />
        <Field name="endDate" type="date" label={words.schedule.lastDay} hint={words.schedule.lastDayHint} min={from} />
        <Field name="reason" label={words.schedule.why} maxLength={240} />
      </Form>
    </Dialog>
  )
}
