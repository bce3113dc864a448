import { type ComponentChildren, createContext, type JSX } from 'preact'
import { useContext, useEffect, useId, useRef } from 'preact/hooks'
import type { Permission } from '../../wire/permissions.ts'
import { ApiError } from '../data/api.ts'
import { useWords } from '../words/words.ts'
import { issueText } from './fault.rules.ts'
import { bodyOf, type Entered, namesOf } from './form.rules.ts'
import { Button, classes, Failure } from './parts.tsx'
import { useRefusal } from './refusal.ts'
import css from './ui.module.css'

/** What the server said of each field, by its path: `name`, `email.host`. */
const Faults = createContext<ReadonlyMap<string, string>>(new Map())

/** What the server said of the field with this name. */
export const useFault = (name: string): string | undefined => useContext(Faults).get(name)

interface FormProps {
  /** Beside the button that sends. */
  aside?: ComponentChildren
  children: ComponentChildren
  error: Error | null
  /** Told of everything that is typed or chosen. */
  input?: (e: Event) => void
  kind?: 'danger' | 'primary'
  /** Without it the button is there, and why it does nothing. */
  needs?: Permission
  pending: boolean
  submit?: string
  send(body: Record<string, unknown>, form: HTMLFormElement): void
}

/** Fields and one button. The server is the judge: what it says stands at its field, and the first has the focus. */
export function Form({ aside, children, error, input, kind = 'primary', needs, pending, send, submit }: FormProps) {
  const words = useWords()
  const refused = useRefusal()(needs)
  const ref = useRef<HTMLFormElement>(null)
  const issues = error instanceof ApiError ? error.issues : []
  const faults = new Map(
    issues.flatMap((issue) => namesOf(issue.path).map((name) => [name, issueText(issue, words)] as const)),
  )
  useEffect(() => ref.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus(), [error])
  const submitted = (e: SubmitEvent): void => {
    e.preventDefault()
    // A double click is one wish; the enter key asks no button.
    if (!pending && refused === undefined)
      send(entered(e.currentTarget as HTMLFormElement), e.currentTarget as HTMLFormElement)
  }
  return (
    <Faults.Provider value={faults}>
      <form ref={ref} class={classes(css.stack, css.form)} onInput={input} onSubmit={submitted}>
        {children}
        {error && <Failure error={error} />}
        <div class={css.row}>
          <Button type="submit" kind={kind} disabled={pending} refused={refused}>
            {submit ?? words.common.save}
          </Button>
          {aside}
        </div>
      </form>
    </Faults.Provider>
  )
}

type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement

/** What the named fields of a form hold. */
export const entered = (form: HTMLFormElement): Record<string, unknown> =>
  bodyOf(
    ([...form.elements] as Control[])
      .filter(({ disabled, name }) => name !== '' && !disabled)
      .filter((control) => !(control.type === 'radio' && !(control as HTMLInputElement).checked))
      .map((control) => ({
        checked: (control as HTMLInputElement).checked ?? false,
        empty: (control.dataset.empty as Entered['empty'] | undefined) ?? 'omit',
        kind: control.type === 'checkbox' ? 'checkbox' : ((control.dataset.kind as Entered['kind']) ?? 'text'),
        name: control.name,
        value: control.value,
      })),
  )

interface Common {
  /** What an empty field means: left out (unless told otherwise), null, or the empty text. */
  empty?: Entered['empty']
  fault?: string | undefined
  hint?: string
  label: string
  name: string
}

interface Described {
  'aria-describedby'?: string
  'aria-invalid'?: true
  id: string
}

interface LabelledProps extends Pick<Common, 'fault' | 'hint' | 'label' | 'name'> {
  control(described: Described): ComponentChildren
}

function Labelled({ control, fault, hint, label, name }: LabelledProps) {
  const id = useId()
  const said = useContext(Faults).get(name) ?? fault
  const notes = [hint && `${id}-hint`, said && `${id}-fault`].filter(Boolean).join(' ')
  return (
    <div class={css.field}>
      <label for={id}>{label}</label>
      {control({ id, ...(notes ? { 'aria-describedby': notes } : {}), ...(said ? { 'aria-invalid': true } : {}) })}
      {hint && (
        <p id={`${id}-hint`} class={classes(css.quiet, css.small)}>
          {hint}
        </p>
      )}
      {said && (
        <p id={`${id}-fault`} class={css.bad}>
          {said}
        </p>
      )}
    </div>
  )
}

type FieldProps = Common & Omit<JSX.InputHTMLAttributes<HTMLInputElement>, 'label' | 'name'> & { kind?: 'list' }

/** One line: text, number, date, time. `kind="list"`: several, with commas between. */
export const Field = ({ empty, fault, hint, kind, label, name, ...input }: FieldProps) => (
  <Labelled
    {...{ label, name, ...(fault ? { fault } : {}), ...(hint ? { hint } : {}) }}
    control={(described) => (
      <input
        {...input}
        {...described}
        name={name}
        class={css.input}
        data-empty={empty}
        data-kind={kind ?? (input.type === 'number' ? 'number' : undefined)}
      />
    )}
  />
)

type AreaProps = Common & Omit<JSX.TextareaHTMLAttributes<HTMLTextAreaElement>, 'label' | 'name'>

export const Area = ({ empty, fault, hint, label, name, ...area }: AreaProps) => (
  <Labelled
    {...{ label, name, ...(fault ? { fault } : {}), ...(hint ? { hint } : {}) }}
    control={(described) => (
      <textarea rows={3} {...area} {...described} name={name} class={css.input} data-empty={empty} />
    )}
  />
)

type ChoiceProps = Common &
  Omit<JSX.SelectHTMLAttributes<HTMLSelectElement>, 'label' | 'name' | 'value'> & {
    /** What is chosen at first; one that is no option is kept and shown by its id. */
    chosen?: string | undefined
    kind?: 'number'
    options: readonly (readonly [value: string, word: string])[]
    value?: string | undefined
  }

export const Choice = ({ chosen, empty, fault, hint, kind, label, name, options, value, ...select }: ChoiceProps) => {
  const held = value ?? chosen
  const unknown = held !== undefined && !options.some(([one]) => one === held)
  return (
    <Labelled
      {...{ label, name, ...(fault ? { fault } : {}), ...(hint ? { hint } : {}) }}
      control={(described) => (
        <select
          {...select}
          {...described}
          {...(value === undefined ? {} : { value })}
          name={name}
          class={css.input}
          data-empty={empty}
          data-kind={kind}
        >
          {[...(unknown ? [[held, held] as const] : []), ...options].map(([one, word]) => (
            <option key={one} value={one} selected={value === undefined ? one === held : undefined}>
              {word}
            </option>
          ))}
        </select>
      )}
    />
  )
}

type TickProps = Pick<Common, 'label' | 'name'> & { hint?: string | undefined } & Omit<
    JSX.InputHTMLAttributes<HTMLInputElement>,
    'label'
  >

export const Tick = ({ hint, label, ...input }: TickProps) => (
  <div class={css.field}>
    <label class={css.row}>
      <input {...input} type="checkbox" />
      {label}
    </label>
    {hint && <p class={classes(css.quiet, css.small, css.told)}>{hint}</p>}
  </div>
)
