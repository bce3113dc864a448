import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { ChangeKind } from '../../wire/changes.ts'
import { useRead } from '../data/reads.ts'
import { useWords } from '../words/words.ts'
import { useFault } from './form.tsx'
import { Name } from './parts.tsx'
import css from './ui.module.css'

export interface Option {
  detail?: string
  id: string
  name: string
}

interface PickerProps<T> {
  /** What is chosen at first. */
  chosen?: Option | undefined
  /** Empty again after each choice, for the next. */
  clears?: boolean
  kinds: readonly ChangeKind[]
  label: string
  /** The field of the form that gets the id. */
  name: string
  /** The server answers with all of them, which are searched here. */
  narrow?: boolean
  option(item: T): Option
  /** Where the server searches. */
  path(search: string): string
  pick?(chosen: Option | undefined): void
  required?: boolean
}

const TYPING_MS = 200
const SHOWN = 20

/** The first of each id. */
const distinct = (options: readonly Option[]): Option[] =>
  [...new Map(options.toReversed().map((one) => [one.id, one])).values()].reverse()

const fits = ({ detail = '', name }: Option, text: string): boolean =>
  `${name} ${detail}`.toLowerCase().includes(text.trim().toLowerCase())

/** A choice among many: the server searches (the ARIA pattern of a combobox with a list). */
export function Picker<T>({
  chosen,
  clears = false,
  kinds,
  label,
  name,
  narrow = false,
  option,
  path,
  pick,
  required,
}: PickerProps<T>) {
  const words = useWords()
  const id = useId()
  const fault = useFault(name)
  const [held, setHeld] = useState(chosen)
  const [text, setText] = useState(chosen?.name ?? '')
  const [open, setOpen] = useState(false)
  const [marked, setMarked] = useState<string>()
  const search = useSettled(text, TYPING_MS)
  const found = useRead<{ data: T[] }>(open ? path(search) : undefined, kinds)
  const last = useRef<Option[]>([])
  if (found.data) last.current = distinct(found.data.data.map(option))
  // Until the server has answered to what is typed now, what it answered last is narrowed here.
  const answered = !narrow && found.data !== undefined && search === text
  const options = last.current.filter((one) => answered || fits(one, text)).slice(0, SHOWN)
  // By its id: the list changes under the one that is marked.
  const at = options.findIndex((one) => one.id === marked)
  const input = useRef<HTMLInputElement>(null)
  const undecided = text.trim() !== '' && !held
  // What is only typed names nobody: the form waits for a choice.
  useLayoutEffect(() => input.current?.setCustomValidity(undecided ? words.common.choose : ''), [undecided, words])
  const take = (one: Option | undefined): void => {
    setHeld(clears ? undefined : one)
    setText(clears ? '' : (one?.name ?? ''))
    setOpen(false)
    setMarked(undefined)
    pick?.(one)
  }
  const type = (value: string): void => {
    setText(value)
    setOpen(true)
    setMarked(undefined)
    if (held) {
      setHeld(undefined)
      pick?.(undefined)
    }
  }
  const key = (e: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[e.key]
    if (step !== undefined) {
      e.preventDefault()
      setOpen(true)
      const next = (at + step + options.length + (at < 0 && step < 0 ? 1 : 0)) % Math.max(1, options.length)
      setMarked(options[next]?.id)
    } else if (e.key === 'Enter' && open) {
      // An open list is chosen from; the form is not sent without a choice.
      e.preventDefault()
      if (options[at]) take(options[at])
    } else if (e.key === 'Escape' && open) {
      e.preventDefault()
      setOpen(false)
    }
  }
  return (
    <div class={css.field}>
      <label for={id}>{label}</label>
      <input
        id={id}
        ref={input}
        class={css.input}
        role="combobox"
        autocomplete="off"
        aria-autocomplete="list"
        aria-controls={`${id}-list`}
        aria-expanded={open && options.length > 0}
        {...(fault ? { 'aria-describedby': `${id}-fault`, 'aria-invalid': true as const } : {})}
        {...(open && options[at] ? { 'aria-activedescendant': `${id}-${at}` } : {})}
        required={required}
        value={text}
        onBlur={() => setOpen(false)}
        onClick={() => setOpen(true)}
        onInput={(e) => type(e.currentTarget.value)}
        onKeyDown={key}
      />
      {fault && (
        <p id={`${id}-fault`} class={css.bad}>
          {fault}
        </p>
      )}
      <input type="hidden" name={name} value={held?.id ?? ''} data-empty="omit" />
      <div
        id={`${id}-list`}
        class={css.options}
        role="listbox"
        tabIndex={-1}
        aria-label={label}
        hidden={!open || options.length === 0}
      >
        {options.map((one, index) => (
          <div
            key={one.id}
            id={`${id}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === at}
            // Before the field loses the focus and the list is gone.
            onPointerDown={(e) => [e.preventDefault(), take(one)]}
          >
            <Name>{one.name}</Name> {one.detail && <span class={css.quiet}>{one.detail}</span>}
          </div>
        ))}
      </div>
      {open && found.data && options.length === 0 && <p class={css.quiet}>{words.common.noMatch}</p>}
    </div>
  )
}

/** The value once it has stood still for `ms`. */
export function useSettled(value: string, ms: number): string {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms)
    return () => clearTimeout(timer)
  }, [value])
  return settled
}
