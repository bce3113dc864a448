import { useRef, useState } from 'preact/hooks'
import { isZone } from '../../kernel/zones.ts'
import type { Interface } from '../../wire/nodes.ts'
import type { Profile } from '../../wire/profiles.ts'
import type { Recurrence, Schedule } from '../../wire/schedules.ts'
import { useApp } from '../app/context.ts'
import { useNode, useRead, useWrite } from '../data/reads.ts'
import { namedChannels } from '../meters/channels.rules.ts'
import { NodePicker } from '../recorders/picker.tsx'
import { instantAt, wallTimeOf } from '../time/wall.rules.ts'
import { Choice, entered, Field, Form, Tick } from '../ui/form.tsx'
import { Button, Section } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { type RecurrenceFields, recurrenceOf, sentenceOf } from './recurrence.rules.ts'

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
  const { me } = useApp()
  const write = useWrite<{ data: Schedule }>(({ data }) => done(data))
  const zoneName = model?.timezone ?? me.site.timezone
  const [sentence, setSentence] = useState(model ? sentenceOf(model.recurrence, zoneName, words) : '')
  const [dayless, setDayless] = useState(false)
  // A zone that is none is the server's to refuse, at its field.
  const zoneOf = (name = ''): string => (isZone(name) ? name : zoneName)
  const built = (fields: Draft): Record<string, unknown> =>
    recurrenceOf(fields, before?.recurrence, (wall) => instantAt(wall, zoneOf(fields.timezone)))
  const told = (e: Event): void => {
    const { recurrence, timezone } = entered(e.currentTarget as HTMLFormElement) as unknown as {
      recurrence: Draft
      timezone: string
    }
    const rule = built({ ...recurrence, timezone }) as Recurrence
    setDayless(false)
    setSentence(isTold(rule) ? sentenceOf(rule, zoneOf(timezone), words) : '')
  }
  const send = ({ channel, recurrence, ...body }: Record<string, unknown>): void => {
    const channels = chosenOf(channel as Record<string, boolean> | undefined)
    const rule = built({ ...(recurrence as Draft), timezone: String(body.timezone) })
    setDayless(lacksDay(rule as Recurrence))
    if (lacksDay(rule as Recurrence)) return
    write.mutate({
      body: {
        ...body,
        ...(channels.length > 0
          ? { captureChannelSelection: channels }
          : before
            ? { captureChannelSelection: null }
            : {}),
        recurrence: rule,
      },
      ...(before
        ? { method: 'PATCH', path: `/schedules/${encodeURIComponent(before.id)}` }
        : { method: 'POST', path: '/schedules' }),
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
        <More {...(model ? { model } : {})} />
      </Form>
    </Section>
  )
}

/** Numbers of the channels that are ticked. */
const chosenOf = (ticks: Record<string, boolean> = {}): number[] =>
  Object.keys(ticks)
    .filter((index) => ticks[index])
    .map(Number)

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
  // Once it has been shown the field stays, whatever is typed into it.
  const begun = useRef(false)
  begun.current ||= at === undefined || shown !== undefined || node.error !== null
  if (!begun.current) return null
  return (
    <>
      <NodePicker chosen={shown && { id: shown.id, name: shown.alias }} pick={(chosen) => setNodeId(chosen?.id)} />
      <Field
        key={shown?.location.room ?? ''}
        name="room"
        label={words.schedule.room}
        hint={words.schedule.roomHint}
        defaultValue={model?.room ?? shown?.location.room ?? ''}
        maxLength={160}
        required
      />
      {shown && <Devices key={shown.id} devices={shown.interfaces} {...(model ? { model } : {})} />}
    </>
  )
}

/** The device, and which of its channels: those of the only one there is need no choice before. */
function Devices({ devices, model }: PartProps & { devices: readonly Interface[] }) {
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
        empty={model ? 'null' : 'omit'}
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

const TIMED: readonly string[] = ['daily', 'weekly', 'monthly']

function Repeats({ model, zoneName }: PartProps & { zoneName: string }) {
  const words = useWords()
  const r = model?.recurrence
  const [mode, setMode] = useState<Recurrence['mode']>(r?.mode ?? 'weekly')
  const timed = r && 'startTime' in r ? r : undefined
  const once = r?.mode === 'once' ? r : undefined
  const minutes = (seconds: number | undefined): number | undefined => seconds && seconds / 60
  const { api } = useApp()
  const today = new Intl.DateTimeFormat('en', { timeZone: zoneName, weekday: 'long' }).format(api.now()).toLowerCase()
  return (
    <>
      <Choice
        name="recurrence.mode"
        label={words.schedule.mode}
        value={mode}
        options={Object.entries(words.schedule.modes)}
        onChange={(e) => setMode(e.currentTarget.value as Recurrence['mode'])}
      />
      {mode === 'weekly' && (
        <fieldset class={ui.row}>
          <legend>{words.schedule.days}</legend>
          {Object.entries(words.schedule.weekdays).map(([day, word]) => (
            <Tick
              key={day}
              name={`recurrence.days.${day}`}
              label={word}
              defaultChecked={r?.mode === 'weekly' ? r.daysOfWeek.some((held) => held === day) : day === today}
            />
          ))}
        </fieldset>
      )}
      {mode === 'monthly' && (
        <Field
          name="recurrence.dayOfMonth"
          type="number"
          min={1}
          max={31}
          label={words.schedule.dayOfMonth}
          defaultValue={r?.mode === 'monthly' ? r.dayOfMonth : 1}
          required
        />
      )}
      {TIMED.includes(mode) && (
        <>
          <Field
            name="recurrence.startTime"
            type="time"
            label={words.schedule.startTime}
            defaultValue={timed?.startTime ?? '10:00'}
            required
          />
          <Field
            name="recurrence.endTime"
            type="time"
            label={words.schedule.endTime}
            defaultValue={timed?.endTime ?? '11:30'}
            required
          />
          <Field
            name="recurrence.interval"
            type="number"
            min={1}
            label={words.schedule.interval}
            defaultValue={timed?.interval ?? 1}
          />
        </>
      )}
      {mode === 'once' && (
        <>
          <Field
            name="recurrence.startsAt"
            type="datetime-local"
            label={words.schedule.startsAt}
            defaultValue={once ? wallTimeOf(once.startsAt, zoneName) : ''}
            required
          />
          <Field
            name="recurrence.durationMinutes"
            type="number"
            min={1}
            label={words.schedule.duration}
            defaultValue={minutes(once?.durationSeconds)}
          />
        </>
      )}
      <Field
        name="recurrence.startEarlyMinutes"
        type="number"
        min={0}
        step="any"
        label={words.schedule.early}
        defaultValue={minutes(r?.startEarlySeconds)}
      />
      <Field
        name="recurrence.stopLateMinutes"
        type="number"
        min={0}
        step="any"
        label={words.schedule.late}
        defaultValue={minutes(r?.stopLateSeconds)}
      />
      <Field
        name="timezone"
        label={words.schedule.zoneField}
        hint={words.schedule.zoneHint}
        defaultValue={zoneName}
        list="zones"
        required
      />
      <datalist id="zones">
        {['UTC', ...Intl.supportedValuesOf('timeZone')].map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </>
  )
}

function More({ model }: PartProps) {
  const words = useWords()
  const { me } = useApp()
  const profiles = useRead<{ data: Profile[] }>(
    me.permissions.includes('settings:read') ? '/settings/recording-profiles' : undefined,
    ['settings'],
  )
  const options = (profiles.data?.data ?? []).map(({ id, name }) => [id, name] as const)
  return (
    <>
      {options.length > 0 && (
        <Choice
          name="recordingProfileId"
          label={words.schedule.profile}
          chosen={model?.recordingProfileId ?? ''}
          options={model ? options : [['', words.schedule.usualProfile], ...options]}
        />
      )}
      <Tick name="enabled" label={words.schedule.enabled} defaultChecked={model?.enabled ?? true} />
      <details class={ui.stack}>
        <summary>{words.schedule.rest}</summary>
        <Field
          name="titleTemplate"
          label={words.schedule.titles}
          hint={words.schedule.placeholders}
          defaultValue={model?.titleTemplate ?? '{{schedule.name}} {{date}} {{time}}'}
          maxLength={500}
          required
        />
        <Field
          name="folderTemplate"
          label={words.schedule.folder}
          defaultValue={model?.folderTemplate ?? '{{schedule.name}}'}
          maxLength={500}
          required
        />
        <Field name="tags" kind="list" label={words.schedule.tags} defaultValue={model?.tags.join(', ') ?? ''} />
      </details>
    </>
  )
}
