import type { ForesightKind, ForesightSettings } from '../../wire/foresight.ts'
import { useRead, useWrite } from '../data/reads.ts'
import { Choice, Field, Form, Tick } from '../ui/form.tsx'
import { Loading, Section } from '../ui/parts.tsx'
import { useToast } from '../ui/toast.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'

const PATH = '/settings/foresight'

/** How each kind of danger of recordings that are due is told. */
export function Foresight() {
  const words = useWords()
  const settings = useRead<{ data: ForesightSettings }>(PATH, ['settings'])
  return (
    <Section title={words.settings.foresight.title}>
      <p class={ui.quiet}>{words.settings.foresight.explained}</p>
      <Loading of={settings}>{({ data }) => <Kinds settings={data} />}</Loading>
    </Section>
  )
}

function Kinds({ settings }: { settings: ForesightSettings }) {
  const words = useWords()
  const say = useToast()
  const write = useWrite(() => say(words.common.saved))
  return (
    <Form
      error={write.error}
      needs="settings:manage"
      pending={write.isPending}
      send={(body) => write.mutate({ body, method: 'PATCH', path: PATH })}
    >
      {(Object.keys(settings.kinds) as ForesightKind[]).map((kind) => (
        <Kind key={kind} kind={kind} rule={settings.kinds[kind]} />
      ))}
    </Form>
  )
}

function Kind({ kind, rule }: { kind: ForesightKind; rule: ForesightSettings['kinds'][ForesightKind] }) {
  const words = useWords()
  const { enabled, leadMinutes, severities, severity } = words.settings.foresight
  return (
    <fieldset>
      <legend>{words.alert(`foresight.${kind}`)}</legend>
      <Tick name={`kinds.${kind}.enabled`} label={enabled} defaultChecked={rule.enabled} />
      <Field
        name={`kinds.${kind}.leadMinutes`}
        label={leadMinutes}
        type="number"
        min={1}
        max={1440}
        defaultValue={rule.leadMinutes}
      />
      <Choice
        name={`kinds.${kind}.severity`}
        label={severity}
        chosen={rule.severity}
        options={Object.entries(severities)}
      />
    </fieldset>
  )
}
