import { useState } from 'preact/hooks'
import type { Node } from '../../wire/nodes.ts'
import type { Profile } from '../../wire/profiles.ts'
import type { Recurrence, Schedule } from '../../wire/schedules.ts'
import { useApp } from '../app/context.ts'
import { useNode, useRead, useWrite } from '../data/reads.ts'
import { instantAt, wallTimeOf } from '../time/wall.rules.ts'
import { Choice, entered, Field, Form, Tick } from '../ui/form.tsx'
import { Button, Section } from '../ui/parts.tsx'
import { Picker } from '../ui/picker.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { type RecurrenceFields, recurrenceOf } from './recurrence.rules.ts'

interface FormProps {
  /** The schedule that is changed; absent: a new one. */
  before?: Schedule
  cancel?: () => void
  done(saved: Schedule): void
  /** What the fields show at first. */
  model?: Schedule
}

type Draft = RecurrenceFields & { captureChannelSelection?: string[]; timezone?: string }

/** A plain sentence says what was entered, before it is saved; the server says the dates after. */
export function ScheduleForm({ before, cancel, done, model }: FormProps) {
  const words = useWords()
  const { clockwork } = useApp()
  const write = useWrite<{ data: Schedule }>(({ data }) => done(data))
  const zoneName = model?.timezone ?? clockwork.zone
  const [sentence, setSentence] = useState(model ? words.schedule.sentence(model.recurrence, zoneName) : '')
  const built = (fields: Draft): Record<string, unknown> =>
    recurrenceOf(fields, before?.recurrence, (wall) => instantAt(wall, fields.timezone ?? zoneName))
  const told = (e: Event): void => {
    const fields = entered(e.currentTarget as HTMLFormElement) as unknown as { recurrence: Draft; timezone: string }
    setSentence(words.schedule.sentence(built(fields.recurrence) as Recurrence, fields.timezone))
  }
  const send = ({ captureChannelSelection, recurrence, ...body }: Record<string, unknown>): void => {
    const channels = (captureChannelSelection as string[]).map(Number)
    const fields = { ...(recurrence as Draft), timezone: String(body.timezone) }
    write.mutate({
      body: {
        ...body,
        ...(channels.length > 0
          ? { captureChannelSelection: channels }
          : before
            ? { captureChannelSelection: null }
            : {}),
        recurrence: built(fields),
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
        <Where {...(model ? { model } : {})} />
        <Repeats {...(model ? { model } : {})} zoneName={zoneName} />
        <p role="status">{sentence}</p>
        <More {...(model ? { model } : {})} />
      </Form>
    </Section>
  )
}

interface PartProps {
  model?: Schedule
}

function Where({ model }: PartProps) {
  const words = useWords()
  const [nodeId, setNodeId] = useState(model?.nodeId)
  const node = useNode(nodeId)
  const shown = node.data?.data
  if (model?.nodeId && !shown) return null
  return (
    <>
      <Picker<Node>
        name="nodeId"
        label={words.schedule.recorder}
        chosen={shown && { id: shown.id, name: shown.alias }}
        kinds={['node']}
        option={({ alias, id, location }) => ({ detail: `${location.site}, ${location.room}`, id, name: alias })}
        path={(search) => `/nodes?limit=20${search ? `&q=${encodeURIComponent(search)}` : ''}`}
        pick={(chosen) => setNodeId(chosen?.id)}
        required
      />
      <Field
        key={shown?.location.room ?? ''}
        name="room"
        label={words.schedule.room}
        defaultValue={model?.room ?? shown?.location.room ?? ''}
        maxLength={160}
        required
      />
      {shown && shown.interfaces.length > 0 && (
        <Choice
          key={shown.id}
          name="captureInterfaceId"
          empty={model ? 'null' : 'omit'}
          label={words.schedule.interface}
          chosen={model?.captureInterfaceId ?? ''}
          options={[['', words.common.unset], ...shown.interfaces.map(({ alias, id }) => [id, alias] as const)]}
        />
      )}
      <Field
        name="captureChannelSelection"
        kind="list"
        label={words.schedule.channels}
        defaultValue={model?.captureChannelSelection?.join(', ') ?? ''}
      />
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
              defaultChecked={r?.mode === 'weekly' && r.daysOfWeek.some((held) => held === day)}
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
      <Field name="timezone" label={words.schedule.zoneField} defaultValue={zoneName} list="zones" required />
      <datalist id="zones">
        {Intl.supportedValuesOf('timeZone').map((name) => (
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
          chosen={model?.recordingProfileId ?? options[0]?.[0]}
          options={options}
        />
      )}
      <Tick name="enabled" label={words.schedule.enabled} defaultChecked={model?.enabled ?? true} />
      <details class={ui.stack}>
        <summary>{words.schedule.rest}</summary>
        <Field
          name="titleTemplate"
          label={words.schedule.titles}
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
