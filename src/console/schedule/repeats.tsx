import { useState } from 'preact/hooks'
import type { Recurrence, Schedule } from '../../wire/schedules.ts'
import { useApp } from '../app/context.ts'
import { wallTimeOf } from '../time/wall.rules.ts'
import { Zones } from '../time/zones.tsx'
import { Choice, Field, Tick } from '../ui/form.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { weekFrom } from './draft.rules.ts'

/** The shortest length, in minutes. */
const SECOND = 1 / 60
const TIMED: readonly string[] = ['daily', 'weekly', 'monthly']

/** How often, from when to when, and in which zone. */
export function Repeats({ model, zoneName }: { model?: Schedule; zoneName: string }) {
  const words = useWords()
  const r = model?.recurrence
  const [mode, setMode] = useState<Recurrence['mode']>(r?.mode ?? 'weekly')
  const timed = r && 'startTime' in r ? r : undefined
  const once = r?.mode === 'once' ? r : undefined
  const minutes = (seconds: number | undefined): number | undefined => seconds && seconds / 60
  const { api, me } = useApp()
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
          {weekFrom(Object.entries(words.schedule.weekdays), me.site.weekStartsOn).map(([day, word]) => (
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
            min={SECOND}
            step="any"
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
      <Zones id="zones" />
    </>
  )
}
