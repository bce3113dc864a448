import { useRef, useState } from 'preact/hooks'
import { isZone } from '../../kernel/zones.ts'
import type { Interface } from '../../wire/nodes.ts'
import type { Recurrence, Schedule } from '../../wire/schedules.ts'
import { useApp } from '../app/context.ts'
import { useNode, useWrite } from '../data/reads.ts'
import { namedChannels } from '../meters/channels.rules.ts'
import { NodePicker } from '../recorders/picker.tsx'
import { instantAt, instantKept } from '../time/wall.rules.ts'
import { Choice, entered, Field, Form, Tick } from '../ui/form.tsx'
import { Button, Section } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { type Chosen, scheduleBody } from './draft.rules.ts'
import { More } from './more.tsx'
import { type RecurrenceFields, recurrenceOf, sentenceOf } from './recurrence.rules.ts'
import { Repeats } from './repeats.tsx'

interface FormProps {
  /** The schedule that is changed; absent: a new one. */
  before?: Schedule
  cancel?: () => void
  done(saved: Schedule): void
  /** What the fields show at first. */
  model?: Schedule
  /** The recorder of a new schedule that comes from its room. */
  nodeId?: string
}

type Draft = RecurrenceFields & { timezone?: string }

/** A plain sentence says what was entered, before it is saved; the server says the dates after. */
export function ScheduleForm({ before, cancel, done, model, nodeId }: FormProps) {
  const words = useWords()
  const { api, me } = useApp()
  const write = useWrite<{ data: Schedule }>(({ data }) => done(data))
  const zoneName = model?.timezone ?? me.site.timezone
  const [sentence, setSentence] = useState(model ? sentenceOf(model.recurrence, zoneName, words) : '')
  const [dayless, setDayless] = useState(false)
  const [chosen, setChosen] = useState<Chosen>({})
  // A zone that is none is the server's to refuse, at its field.
  const zoneOf = (name = ''): string => (isZone(name) ? name : zoneName)
  const begun = model?.recurrence.mode === 'once' ? model.recurrence.startsAt : undefined
  const built = (fields: Draft, held?: Recurrence): Record<string, unknown> =>
    recurrenceOf(fields, held, (wall) => {
      const zone = zoneOf(fields.timezone)
      return begun ? instantKept(wall, begun, zone) : instantAt(wall, zone)
    })
  const told = (e: Event): void => {
    const { recurrence, timezone } = entered(e.currentTarget as HTMLFormElement) as unknown as {
      recurrence: Draft
      timezone: string
    }
    const rule = built({ ...recurrence, timezone }) as Recurrence
    setDayless(false)
    setSentence(isTold(rule) ? sentenceOf(rule, zoneOf(timezone), words) : '')
  }
  const send = ({ channel, recurrence, ...fields }: Record<string, unknown>): void => {
    const draft = { ...(recurrence as Draft), timezone: String(fields.timezone) }
    const without = lacksDay(built(draft) as Recurrence)
    setDayless(without)
    if (without) return
    const body = scheduleBody({ channel: channel as Ticks, chosen, fields, model }, before !== undefined)
    if (!before) {
      write.mutate({ body: { ...body, recurrence: built(draft) }, method: 'POST', path: '/schedules' })
      return
    }
    const path = `/schedules/${encodeURIComponent(before.id)}`
    // Exceptions are not in the form: those that somebody made while it was open stay.
    write.mutate(async () => {
      const { data } = await api.get<{ data: Schedule }>(path)
      return { body: { ...body, recurrence: built(draft, data.recurrence) }, method: 'PATCH', path }
    })
  }
  return (
    <Section title={words.schedule.title}>
      <Form
        aside={cancel && <Button onClick={cancel}>{words.common.cancel}</Button>}
        error={write.error}
        input={told}
        pending={write.isPending}
        send={send}
      >
        <Field name="name" label={words.schedule.name} defaultValue={model?.name ?? ''} maxLength={160} required />
        <Where at={model?.nodeId ?? nodeId} {...(model ? { model } : {})} />
        <Repeats {...(model ? { model } : {})} zoneName={zoneName} />
        <p role="status">{sentence}</p>
        {dayless && (
          <p role="alert" class={ui.bad}>
            {words.schedule.noDay}
          </p>
        )}
        <More
          choose={setChosen}
          chosen={chosen}
          duplicates={model !== undefined && before === undefined}
          {...(model ? { model } : {})}
        />
      </Form>
    </Section>
  )
}

type Ticks = Record<string, boolean> | undefined

/** What has a day can be said as a sentence. */
const isTold = (rule: Recurrence): boolean => !lacksDay(rule) && !(rule.mode === 'once' && rule.startsAt === '')

const lacksDay = (rule: Recurrence): boolean => rule.mode === 'weekly' && rule.daysOfWeek.length === 0

interface PartProps {
  model?: Schedule
}

function Where({ at, model }: PartProps & { at: string | undefined }) {
  const words = useWords()
  const [nodeId, setNodeId] = useState(at)
  const node = useNode(nodeId)
  const shown = node.data?.data
  const [typed, setTyped] = useState<string>()
  const room = nodeId === model?.nodeId ? model?.room : shown?.location.room
  // Once it has been shown the field stays, whatever is typed into it.
  const begun = useRef(false)
  begun.current ||= at === undefined || shown !== undefined || node.error !== null
  if (!begun.current) return null
  return (
    <>
      <NodePicker
        chosen={shown && { id: shown.id, name: shown.alias }}
        pick={(chosen) => chosen && setNodeId(chosen.id)}
      />
      <Field
        name="room"
        label={words.schedule.room}
        hint={words.schedule.roomHint}
        value={typed ?? room ?? model?.room ?? ''}
        onInput={(e) => setTyped(e.currentTarget.value)}
        maxLength={160}
        required
      />
      {shown && (
        <Devices
          key={shown.id}
          clears={model !== undefined}
          devices={shown.interfaces}
          {...(model?.nodeId === shown.id ? { model } : {})}
        />
      )}
    </>
  )
}

/** The device, and which of its channels: those of the only one there is need no choice before. */
function Devices({ clears, devices, model }: PartProps & { clears: boolean; devices: readonly Interface[] }) {
  const words = useWords()
  const only = devices.length === 1 ? devices[0]?.id : undefined
  const [chosen, setChosen] = useState(model ? model.captureInterfaceId : only)
  const device = devices.find(({ id }) => id === chosen)
  if (devices.length === 0) return <p class={ui.quiet}>{words.onboard.noDevice}</p>
  const held = model?.captureInterfaceId === chosen ? (model?.captureChannelSelection ?? []) : []
  return (
    <>
      <Choice
        name="captureInterfaceId"
        empty={clears ? 'null' : 'omit'}
        label={words.schedule.interface}
        value={chosen ?? ''}
        options={[['', words.schedule.anyDevice], ...devices.map(({ alias, id }) => [id, alias] as const)]}
        onChange={(e) => setChosen(e.currentTarget.value || undefined)}
      />
      {device && (
        <fieldset class={ui.row} key={device.id}>
          <legend>{words.schedule.channels}</legend>
          {namedChannels(device, words.meter.channel).map(({ index, label }) => (
            <Tick key={index} name={`channel.${index}`} label={label} defaultChecked={held.includes(index)} />
          ))}
        </fieldset>
      )}
    </>
  )
}
