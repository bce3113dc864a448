import type { ForesightKind, ForesightSettings } from '../../wire/foresight.ts'
import { useRead } from '../data/reads.ts'
import { Choice, Field, Tick } from '../ui/form.tsx'
import { Loading, Section } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { SettingsForm } from './general.tsx'

const PATH = '/settings/foresight'

/** How each kind of danger of recordings that are due is told. */
export function Foresight() {
  const words = useWords()
  const settings = useRead<{ data: ForesightSettings }>(PATH, ['settings'])
  return (
    <Section title={words.settings.foresight.title}>
      <p class={ui.quiet}>{words.settings.foresight.explained}</p>
      <Loading of={settings}>
        {({ data: { kinds } }) => (
          <SettingsForm path={PATH}>
            {(Object.keys(kinds) as ForesightKind[]).map((kind) => (
              <Kind key={kind} kind={kind} rule={kinds[kind]} />
            ))}
          </SettingsForm>
        )}
      </Loading>
    </Section>
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
