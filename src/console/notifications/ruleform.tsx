import { useState } from 'preact/hooks'
import type { NotificationRule, RulePreview } from '../../wire/notifications.ts'
import { ChosenOnes } from '../access/chosen.tsx'
import { useApp } from '../app/context.ts'
import { useAnswer, useWrite } from '../data/reads.ts'
import { Zones } from '../time/zones.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { faultText } from '../ui/fault.rules.ts'
import { Choice, entered, Field, Form, Tick } from '../ui/form.tsx'
import { classes, Loading } from '../ui/parts.tsx'
import { type Option, useSettled } from '../ui/picker.tsx'
import { useToast } from '../ui/toast.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { type Channel, reaches } from './channels.rules.ts'
import { useChannels } from './channels.tsx'
import { type Draft, draftOf, FAMILIES, type Places, previewOf, RULES, ruleOf, suggested } from './rules.rules.ts'

const TYPING_MS = 400

interface RuleFormProps {
  close(): void
  /** Absent: a new one. */
  rule?: NotificationRule
}

/** What is told, where, by which channel and when; below, how much that would have been. */
export function RuleForm({ close, rule }: RuleFormProps) {
  const words = useWords()
  const channels = useChannels()
  return (
    <Dialog title={rule?.name ?? words.notifications.newRule} close={close}>
      <Loading of={channels}>
        {({ data }) => <Fields channels={data.filter(reaches)} close={close} {...(rule ? { rule } : {})} />}
      </Loading>
    </Dialog>
  )
}

function Fields({ channels, close, rule }: RuleFormProps & { channels: readonly Channel[] }) {
  const words = useWords()
  const { me } = useApp()
  const say = useToast()
  const write = useWrite(() => {
    say(words.common.saved)
    close()
  })
  const [first] = useState(() => draftOf(rule, me.site.timezone))
  const [draft, setDraft] = useState(first)
  const [places, setPlaces] = useState<Places>(() => ({
    nodeIds: rule?.nodeIds ?? [],
    roomIds: rule?.roomIds ?? [],
    siteNames: rule?.siteNames ?? [],
  }))
  const send = (body: Record<string, unknown>): void => {
    const path = rule ? `${RULES}/${encodeURIComponent(rule.id)}` : RULES
    write.mutate({ body: ruleOf(body as Draft, places), method: rule ? 'PATCH' : 'POST', path })
  }
  const { fields } = words.settings
  const named = channels.map(({ id, name }) => [id, name] as const)
  return (
    <Form
      error={write.error}
      input={(e) => setDraft(entered(e.currentTarget as HTMLFormElement))}
      pending={write.isPending}
      send={send}
    >
      <Field name="name" label={fields.name ?? ''} defaultValue={first.name} maxLength={160} required />
      <Tick name="enabled" label={fields.enabled ?? ''} defaultChecked={first.enabled === true} />
      <Choice
        name="channelId"
        label={words.notifications.channel}
        chosen={first.channelId ?? named[0]?.[0]}
        options={named}
      />
      <Choice
        name="minSeverity"
        label={words.notifications.severity}
        chosen={first.minSeverity}
        options={Object.entries(words.notifications.from)}
      />
      <Kinds all={draft.all === true} first={first} typed={draft.types ?? []} />
      <Where change={setPlaces} places={places} />
      <Minutes name="throttleSeconds" label={words.notifications.throttle} least={0} value={first.throttleSeconds} />
      <Preview draft={draft} places={places} />
      <Tick
        name="includeResolved"
        label={words.notifications.resolved}
        defaultChecked={first.includeResolved === true}
      />
      <Choice
        name="escalateChannelId"
        label={words.notifications.escalate}
        chosen={first.escalateChannelId ?? ''}
        options={[['', words.notifications.nobody], ...named]}
      />
      {draft.escalateChannelId && (
        <Minutes
          name="escalateAfterSeconds"
          label={words.notifications.escalateAfter}
          // Ten seconds.
          least={1 / 6}
          value={first.escalateAfterSeconds}
        />
      )}
      <Tick name="quiet" label={words.notifications.quiet} defaultChecked={first.quiet === true} />
      {draft.quiet && <QuietHours first={first} />}
      <Tick name="daily" label={words.notifications.daily} defaultChecked={first.daily === true} />
      {draft.daily && <Report first={first} />}
      <Zones id="zones" />
    </Form>
  )
}

const Minutes = ({
  label,
  least,
  name,
  value,
}: {
  label: string
  least: number
  name: string
  value?: number | undefined
}) => <Field name={name} type="number" label={label} min={least} max={1440} step="any" defaultValue={value} required />

const TYPES = 'alert-types'

/** Everything, or families of alerts and what is named besides. */
function Kinds({ all, first, typed }: { all: boolean; first: Draft; typed: readonly string[] }) {
  const words = useWords()
  return (
    <fieldset>
      <legend>{words.notifications.kinds}</legend>
      <Tick name="all" label={words.notifications.everything} defaultChecked={first.all === true} />
      {!all && (
        <>
          {FAMILIES.map((one) => (
            <Tick
              key={one}
              name={`family.${one}`}
              label={words.notifications.families[one].name}
              hint={words.notifications.families[one].what}
              defaultChecked={first.family?.[one] === true}
            />
          ))}
          <p class={classes(ui.small, ui.quiet)}>{words.notifications.noKinds}</p>
          <div class={ui.folded}>
            <Field
              name="types"
              kind="list"
              label={words.notifications.types}
              hint={words.notifications.typesHint}
              list={TYPES}
              defaultValue={(first.types ?? []).join(', ')}
            />
            <datalist id={TYPES}>
              {suggested(typed).map(({ text, type }) => (
                <option key={type} value={text}>
                  {words.alert(type)}
                </option>
              ))}
            </datalist>
          </div>
        </>
      )}
    </fieldset>
  )
}

const SORTS = { node: 'nodeIds', room: 'roomIds', site: 'siteNames' } as const
type Sort = keyof typeof SORTS

/** Only what happens there is told; nowhere in particular is everywhere. */
function Where({ change, places }: { change(places: Places): void; places: Places }) {
  const words = useWords()
  const [open] = useState(() => Object.values(places).some((ids) => ids.length > 0))
  const chosen = (sort: Sort): Option[] => places[SORTS[sort]].map((id) => ({ id, name: id }))
  return (
    <details open={open}>
      <summary>{words.notifications.where}</summary>
      <div class={classes(ui.stack, ui.folded)}>
        <p class={ui.quiet}>{words.notifications.whereHint}</p>
        {(['site', 'room', 'node'] as const).map((sort) => (
          <ChosenOnes
            key={sort}
            change={(options) => change({ ...places, [SORTS[sort]]: options.map(({ id }) => id) })}
            chosen={chosen(sort)}
            label={words.notifications.add[sort]}
            legend={words.notifications.only[sort]}
            of={sort}
          />
        ))}
      </div>
    </details>
  )
}

/** A time of day, `22:00`. */
const Time = ({ label, name, value }: { label: string; name: string; value: string | undefined }) => (
  <Field name={name} type="time" label={label} defaultValue={value} required />
)

function QuietHours({ first: { quietHours = {} } }: { first: Draft }) {
  const words = useWords()
  return (
    <fieldset class={ui.stack}>
      <legend>{words.notifications.quiet}</legend>
      <Time name="quietHours.from" label={words.notifications.quietFrom} value={quietHours.from} />
      <Time name="quietHours.to" label={words.notifications.quietTo} value={quietHours.to} />
      <Zone name="quietHours.timezone" value={quietHours.timezone} />
      <Choice
        name="quietHours.exceptSeverity"
        label={words.notifications.quietExcept}
        chosen={quietHours.exceptSeverity}
        options={(['critical', 'warning'] as const).map((one) => [one, words.notifications.from[one]])}
      />
    </fieldset>
  )
}

function Report({ first: { dailyReport = {} } }: { first: Draft }) {
  const words = useWords()
  return (
    <fieldset class={ui.stack}>
      <legend>{words.notifications.daily}</legend>
      <p class={ui.quiet}>{words.notifications.dailyHint}</p>
      <Time name="dailyReport.time" label={words.notifications.dailyAt} value={dailyReport.time} />
      <Zone name="dailyReport.timezone" value={dailyReport.timezone} />
    </fieldset>
  )
}

function Zone({ name, value }: { name: string; value: string | undefined }) {
  const words = useWords()
  return <Field name={name} label={words.me.zone} defaultValue={value} list="zones" required />
}

/** How much the rule would have told, while it is still being written. */
function Preview({ draft, places }: { draft: Draft; places: Places }) {
  const words = useWords()
  const asked = useSettled(JSON.stringify(previewOf(draft, places) ?? null), TYPING_MS)
  const { data, error } = useAnswer<{ data: RulePreview }>(`${RULES}/preview`, asked === 'null' ? undefined : asked)
  const told = data && asked !== 'null' && !error ? words.notifications.preview(data.data) : undefined
  return (
    <p role="status" class={ui.notice}>
      {error ? faultText(error, words) : (told ?? words.notifications.previewNothing)}
    </p>
  )
}
