import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { useRead, useWrite } from '../data/reads.ts'
import { Confirm, Dialog } from '../ui/dialog.tsx'
import { Choice, Field, Form, Tick } from '../ui/form.tsx'
import { Button } from '../ui/parts.tsx'
import { Copyable } from '../ui/secret.tsx'
import { useToast } from '../ui/toast.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import {
  type Family,
  type FieldSpec,
  grouped,
  isNeeded,
  labelOf,
  type Thing,
  type Values,
  valueAt,
} from './families.rules.ts'
import { MapEntries } from './maps.tsx'

interface EditProps {
  close(): void
  family: Family
  /** What a new one has unless told otherwise. */
  model?: Thing
  /** Absent: a new one. */
  thing?: Thing
  /** Of a new one. */
  title?: string
  /** Where it is used. */
  used?: ComponentChildren
}

export function Edit({ close, family, model, thing, title, used }: EditProps) {
  const words = useWords()
  const say = useToast()
  const write = useWrite(() => {
    say(words.common.saved)
    close()
  })
  const { bodyOf = (entered) => entered, fields, named, path, valuesOf = (values) => values } = family
  const [values] = useState<Values>(() => valuesOf(thing ?? (model ? { ...model, [named]: undefined } : {})))
  const [held, setHeld] = useState<Record<string, string>>(() => firstChoices(fields, values))
  const shown = fields.filter(({ when }) => when === undefined || held[when[0]] === when[1])
  const send = ({ kind, ...entered }: Values): void => {
    const body = bodyOf(entered)
    if (thing) write.mutate({ body, method: 'PATCH', path: `${path}/${encodeURIComponent(thing.id)}` })
    else write.mutate({ body: { ...body, ...(kind === undefined ? {} : { kind }) }, method: 'POST', path })
  }
  const field = (spec: FieldSpec) => (
    <Spec
      key={spec.name}
      fixed={thing !== undefined && spec.name === 'kind'}
      hold={(value) => setHeld({ ...held, [spec.name]: value })}
      spec={spec}
      values={values}
    />
  )
  return (
    <Dialog title={thing ? String(thing[named]) : (title ?? words.settings.new)} close={close}>
      {used}
      <Form error={write.error} pending={write.isPending} send={send}>
        {grouped(shown).map((group) =>
          group[0]?.group === undefined ? (
            group.map(field)
          ) : (
            <fieldset key={group[0].group}>
              <legend>{words.settings.groups[group[0].group] ?? group[0].group}</legend>
              {group.map(field)}
            </fieldset>
          ),
        )}
      </Form>
    </Dialog>
  )
}

const firstChoices = (fields: readonly FieldSpec[], values: Values): Record<string, string> =>
  Object.fromEntries(
    fields
      .filter(({ of }) => of)
      .map(({ empty, name, of = [] }) => [name, String(valueAt(values, name) ?? (empty ? '' : of[0]))]),
  )

interface SpecProps {
  fixed: boolean
  hold(value: string): void
  spec: FieldSpec
  values: Values
}

function Spec({ fixed, hold, spec, values }: SpecProps) {
  const words = useWords()
  const { empty, initially = false, kind, max, min, name, step } = spec
  const label = labelOf(spec, words.settings.fields)
  const value = valueAt(values, name)
  const hint = words.settings.hints[spec.word ?? name]
  const common = {
    label,
    name,
    required: isNeeded(spec, value),
    ...(empty ? { empty } : {}),
    ...(hint ? { hint } : {}),
  }
  const text = value === undefined || value === null ? '' : String(value)
  switch (kind) {
    case 'tick':
      return (
        <Tick name={name} label={label} hint={hint} defaultChecked={value === undefined ? initially : value === true} />
      )
    case 'choice':
      return <Chosen common={common} fixed={fixed} hold={hold} spec={spec} value={value} />
    case 'secret':
      return <Secret label={label} spec={spec} stored={spec.has !== undefined && values[spec.has] === true} />
    case 'map':
      return <MapEntries label={label} name={name} entries={value} />
    case 'list':
      return <Field {...common} kind="list" defaultValue={Array.isArray(value) ? value.join(', ') : ''} />
    case 'number':
      return <Field {...common} {...{ max, min }} step={step ?? 1} type="number" defaultValue={text} />
    default:
      return <Field {...common} maxLength={max} defaultValue={text} />
  }
}

interface ChosenProps extends Omit<SpecProps, 'values'> {
  common: { empty?: 'null' | 'text'; label: string; name: string; required: boolean }
  value: unknown
}

function Chosen({ common, fixed, hold, spec: { empty, from, of = [] }, value }: ChosenProps) {
  const words = useWords()
  const read = useRead<{ data: Thing[] }>(from, ['settings'])
  const stored = value !== undefined && value !== null
  const unset = empty || (from && !stored) ? [['', words.common.unset] as const] : []
  const options = from
    ? (read.data?.data ?? []).map(({ displayName, id }) => [id, String(displayName)] as const)
    : of.map((one) => [one, words.settings.values[one] ?? one] as const)
  return (
    <Choice
      {...common}
      chosen={stored ? String(value) : (unset[0]?.[0] ?? of[0])}
      disabled={fixed}
      options={[...unset, ...options]}
      onChange={(e) => hold(e.currentTarget.value)}
    />
  )
}

interface SecretProps {
  label: string
  spec: FieldSpec
  stored: boolean
}

/** A secret is never shown: it is kept, replaced, or taken away when somebody says so. */
function Secret({ label, spec: { made, name, required, word = name }, stored }: SecretProps) {
  const words = useWords()
  const [removed, setRemoved] = useState(false)
  const [fresh, setFresh] = useState<string>()
  const make = (): void => setFresh(made?.((bytes) => crypto.getRandomValues(bytes)))
  return (
    <>
      {removed ? (
        <input type="hidden" name={name} value="" data-empty="text" />
      ) : (
        <Field
          // Another value is another field.
          key={fresh}
          label={label}
          name={name}
          type="password"
          autocomplete="off"
          required={required === true && !stored}
          defaultValue={fresh}
          hint={stored ? words.settings.secret : (words.settings.hints[word] ?? words.settings.noSecret)}
        />
      )}
      {made && !removed && (
        <div class={ui.row}>
          <Button onClick={make}>{words.settings.makeKey}</Button>
        </div>
      )}
      {fresh && <Copyable label={words.settings.freshKey} text={fresh} />}
      {stored && required !== true && (
        <Tick
          name=""
          label={words.settings.removeSecret(label)}
          checked={removed}
          onChange={(e) => setRemoved(e.currentTarget.checked)}
        />
      )}
    </>
  )
}

interface DeleteProps {
  called: string
  /** What stands in the way, or goes with it. */
  children?: ComponentChildren
  close(): void
  path: string
}

/** Deletes one of a family, once somebody has said so. */
export function Delete({ called, children, close, path }: DeleteProps) {
  const words = useWords()
  const write = useWrite(close)
  return (
    <Confirm
      title={words.settings.deleteTitle(called)}
      deed={words.common.delete}
      close={close}
      confirm={() => write.mutate({ method: 'DELETE', path })}
      error={write.error}
      pending={write.isPending}
    >
      {children}
    </Confirm>
  )
}
