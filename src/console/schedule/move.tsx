import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import type { CalendarItem, Schedule } from '../../wire/schedules.ts'
import { useApp } from '../app/context.ts'
import { may } from '../app/may.rules.ts'
import { useNode, useRead, useWrite } from '../data/reads.ts'
import { instantOf } from '../time/format.rules.ts'
import { instantKept, wallTimeOf } from '../time/wall.rules.ts'
import { When } from '../time/when.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { faultText } from '../ui/fault.rules.ts'
import { Field, Form } from '../ui/form.tsx'
import { Facts, Name } from '../ui/parts.tsx'
import { useToast } from '../ui/toast.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { endAfter } from './layout.rules.ts'

/** `source`: the series that an occurrence was taken from. */
interface Moved {
  data: Schedule
  source?: Schedule
}

interface MoveProps {
  close(): void
  item: CalendarItem
  /** The instant proposed. */
  to: string
}

/** Says what a move does before it is sent; a clash is told here, and the card stays where it was. */
export function MoveDialog({ close, item, to }: MoveProps) {
  const words = useWords()
  const { api, timeFormat, me } = useApp()
  const say = useToast()
  const node = useNode(item.nodeId)
  const [wall, setWall] = useState(() => wallTimeOf(to, timeFormat.zone))
  const write = useWrite<Moved>()
  const pathOf = (id: string): string => `/schedules/${encodeURIComponent(id)}`
  const movePath = (id: string): string => `${pathOf(id)}/move-occurrence`
  /** What was one occurrence of a series is that again; what was no series is moved back. */
  const undo = ({ data, source }: Moved, back: object): Promise<unknown> =>
    source
      ? api.send('POST', `${pathOf(source.id)}/undo-move`, { movedTo: data.id, updatedAt: data.updatedAt })
      : api.send('POST', movePath(data.id), back)
  const start = wall === '' ? undefined : instantKept(wall, to, timeFormat.zone)
  const send = (): void => {
    const [before, after] = [item.recordingStartAt, start ?? to]
    write.mutate(
      { body: { newStartAt: after, occurrenceStartAt: before }, method: 'POST', path: movePath(item.scheduleId) },
      {
        onSuccess(moved) {
          close()
          say(words.schedule.movedTo(instantOf(after, timeFormat)), () => {
            const back = { newStartAt: before, occurrenceStartAt: after }
            undo(moved, back).catch((e: Error) => say(faultText(e, words)))
          })
        },
      },
    )
  }
  return (
    <Dialog title={words.schedule.moveTitle(item.scheduleName)} close={close}>
      <Facts
        of={[
          [words.schedule.from, <When key="from" at={item.recordingStartAt} />],
          [words.schedule.room, <Name key="room">{item.room}</Name>],
          [words.schedule.recorder, node.data && <Name key="node">{node.data.data.alias}</Name>],
        ]}
      />
      <Link href={`/schedules/${encodeURIComponent(item.scheduleId)}`}>{words.schedule.open}</Link>
      <Clashes item={item} start={start} />
      {may(me, 'schedule:manage', item.roomId) && (
        <Form error={write.error} pending={write.isPending} send={send} submit={words.schedule.move}>
          <p>{words.schedule.moveExplained}</p>
          <Field
            name="to"
            type="datetime-local"
            label={words.schedule.to}
            hint={timeFormat.zone}
            value={wall}
            required
            onInput={(e) => setWall(e.currentTarget.value)}
          />
        </Form>
      )}
    </Dialog>
  )
}

/** What else the recorder is to record then. It may work out, on other channels: said, not forbidden. */
function Clashes({ item, start }: { item: CalendarItem; start: string | undefined }) {
  const words = useWords()
  const moving = start !== undefined && start !== item.recordingStartAt
  const end = start && endAfter(item, start)
  const span = new URLSearchParams({ end: end ?? '', nodeId: item.nodeId ?? '', start: start ?? '' })
  const asked = moving && item.nodeId !== undefined
  const others = useRead<{ data: CalendarItem[] }>(asked ? `/schedules/calendar?${span}` : undefined, ['schedule'])
  const found = (others.data?.data ?? []).filter(
    (one) => one.scheduleId !== item.scheduleId || one.recordingStartAt !== item.recordingStartAt,
  )
  if (!asked || found.length === 0) return null
  return (
    <div role="alert" class={`${ui.notice} ${ui.warn}`}>
      <p>{words.schedule.clash}</p>
      <ul>
        {found.map(({ recordingStartAt, scheduleId, scheduleName }) => (
          <li key={`${scheduleId} ${recordingStartAt}`}>
            <When at={recordingStartAt} /> <Name>{scheduleName}</Name>
          </li>
        ))}
      </ul>
    </div>
  )
}
