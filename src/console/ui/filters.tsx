import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { useSearchParams } from 'wouter-preact'
import { useApp } from '../app/context.ts'
import { instantAt, wallTimeOf } from '../time/wall.rules.ts'
import { useWords } from '../words/words.ts'
import { Choice, Field } from './form.tsx'
import { type PageAt, pageAddress, pageIn } from './page.rules.ts'
import { Button } from './parts.tsx'
import css from './ui.module.css'

export interface Filters {
  clear(): void
  go(page: PageAt): void
  offset: number
  /** The query of the API: what is set, with page and size. */
  query(size: number, more?: Record<string, string>): string
  set(values: Readonly<Record<string, string>>): void
  values: Readonly<Record<string, string>>
}

/** Filters and page stand in the address: links and the back button keep them. */
export function useFilters(names: readonly string[]): Filters {
  const [params, setParams] = useSearchParams()
  const values = Object.fromEntries(names.flatMap((name) => (params.get(name) ? [[name, params.get(name) ?? '']] : [])))
  const page = pageIn(params)
  const kept = (change: (next: URLSearchParams) => void): void => {
    const next = new URLSearchParams(params)
    for (const name of ['cursor', 'offset']) next.delete(name)
    change(next)
    setParams(next)
  }
  return {
    clear: () =>
      kept((next) => {
        for (const name of names) next.delete(name)
      }),
    go: (to) =>
      kept((next) => {
        for (const [name, value] of Object.entries(pageAddress(to, page))) next.set(name, value)
      }),
    offset: page.offset,
    query: (size, more = {}) =>
      new URLSearchParams({
        ...{ ...more, ...values, limit: String(size) },
        ...(page.cursor ? { cursor: page.cursor } : { offset: String(page.offset) }),
      }).toString(),
    set: (values) =>
      kept((next) => {
        for (const [name, value] of Object.entries(values))
          if (value === '') next.delete(name)
          else next.set(name, value)
      }),
    values,
  }
}

interface FilterBarProps {
  /** Filters of another kind, which set themselves. */
  children?: ComponentChildren
  /** `unset`: what holds without a choice, where that is not everything. */
  choices?: readonly {
    label: string
    name: string
    options: readonly (readonly [string, string])[]
    unset?: string
  }[]
  filters: Filters
  /** Filters that are instants, told in the zone of the site. */
  instants?: readonly { label: string; name: string }[]
  /** Filters that are free text; they are taken by the enter key. */
  searches?: readonly { label: string; name: string }[]
}

export function FilterBar({ children, choices = [], filters, instants = [], searches = [] }: FilterBarProps) {
  const words = useWords()
  const { timeFormat } = useApp()
  const { clear, set, values } = filters
  const shown = (name: string): string => {
    const at = values[name] ?? ''
    return Number.isNaN(Date.parse(at)) ? '' : wallTimeOf(at, timeFormat.zone)
  }
  // Seconds of the address stay as long as nobody changes the minute that is shown.
  const instant = (name: string, wall: string): string =>
    wall === shown(name) ? (values[name] ?? '') : wall && instantAt(wall, timeFormat.zone)
  // On a phone they would fill the screen before the first row.
  const [unfolded, unfold] = useState(!matchMedia('(max-width: 40rem)').matches)
  const folds = choices.length + instants.length > 1 && Object.keys(values).length === 0
  const shownWhole = unfolded || !folds
  const form = useRef<HTMLFormElement>(null)
  const focused = useRef('')
  // A field with another value is another field: who pressed enter in it goes on there.
  useEffect(() => {
    const field = focused.current && form.current?.elements.namedItem(focused.current)
    if (field instanceof HTMLElement) field.focus()
    focused.current = ''
  }, [values])
  const submit = (e: SubmitEvent): void => {
    e.preventDefault()
    focused.current = (document.activeElement as HTMLInputElement | null)?.name ?? ''
    const given = new FormData(e.currentTarget as HTMLFormElement)
    const entered = (name: string): string => String(given.get(name) ?? '').trim()
    set({
      ...Object.fromEntries(searches.map(({ name }) => [name, entered(name)])),
      ...Object.fromEntries(instants.map(({ name }) => [name, instant(name, entered(name))])),
    })
  }
  return (
    <search>
      <form ref={form} class={css.filters} onSubmit={submit} aria-label={words.common.filters}>
        {searches.map(({ label, name }) => (
          <Field
            key={`${name} ${values[name] ?? ''}`}
            type="search"
            maxLength={160}
            label={label}
            name={name}
            defaultValue={values[name] ?? ''}
          />
        ))}
        {shownWhole &&
          instants.map(({ label, name }) => (
            <Field
              key={`${name} ${values[name] ?? ''}`}
              type="datetime-local"
              max="9999-12-31T23:59"
              label={label}
              name={name}
              defaultValue={shown(name)}
              // Not while it is typed: half a year is a year too.
              onBlur={(e) => e.currentTarget.value !== shown(name) && e.currentTarget.form?.requestSubmit()}
            />
          ))}
        {shownWhole &&
          choices.map(({ label, name, options, unset }) => (
            <Choice
              key={name}
              label={label}
              name={name}
              value={values[name] ?? ''}
              options={[['', unset ?? words.common.all], ...options]}
              onChange={(e) => set({ [name]: e.currentTarget.value })}
            />
          ))}
        {shownWhole && children}
        {!shownWhole && <Button onClick={() => unfold(true)}>{words.common.filters}</Button>}
        <button type="submit" class={css.hidden} tabIndex={-1}>
          {words.common.search}
        </button>
        {Object.keys(values).length > 0 && <Button onClick={clear}>{words.common.clearFilters}</Button>}
      </form>
    </search>
  )
}
