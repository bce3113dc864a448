import { useSearchParams } from 'wouter-preact'
import { useWords } from '../words/words.ts'
import { Choice, Field } from './form.tsx'
import { Button } from './parts.tsx'
import css from './ui.module.css'

export interface Filters {
  clear(): void
  go(offset: number): void
  offset: number
  /** The query of the API: what is set, with page and size. */
  query(size: number, more?: Record<string, string>): string
  set(name: string, value: string): void
  values: Readonly<Record<string, string>>
}

/** Filters and page stand in the address: links and the back button keep them. */
export function useFilters(names: readonly string[]): Filters {
  const [params, setParams] = useSearchParams()
  const values = Object.fromEntries(names.flatMap((name) => (params.get(name) ? [[name, params.get(name) ?? '']] : [])))
  const offset = Math.max(0, Math.floor(Number(params.get('offset') ?? 0)) || 0)
  const kept = (change: (next: URLSearchParams) => void): void => {
    const next = new URLSearchParams(params)
    next.delete('offset')
    change(next)
    setParams(next)
  }
  return {
    clear: () =>
      kept((next) => {
        for (const name of names) next.delete(name)
      }),
    go: (to) => kept((next) => to > 0 && next.set('offset', String(to))),
    offset,
    query: (size, more = {}) =>
      new URLSearchParams({ ...more, ...values, limit: String(size), offset: String(offset) }).toString(),
    set: (name, value) => kept((next) => (value === '' ? next.delete(name) : next.set(name, value))),
    values,
  }
}

interface FilterBarProps {
  choices?: readonly { label: string; name: string; options: readonly (readonly [string, string])[] }[]
  filters: Filters
  /** The name of the filter that is free text, and its label. */
  search?: { label: string; name: string }
}

export function FilterBar({ choices = [], filters, search }: FilterBarProps) {
  const words = useWords()
  const { clear, set, values } = filters
  const submit = (e: SubmitEvent): void => {
    e.preventDefault()
    if (search) set(search.name, String(new FormData(e.currentTarget as HTMLFormElement).get(search.name) ?? '').trim())
  }
  return (
    <search>
      <form class={css.filters} onSubmit={submit} aria-label={words.common.filters}>
        {search && (
          <Field
            key={values[search.name] ?? ''}
            type="search"
            maxLength={240}
            label={search.label}
            name={search.name}
            defaultValue={values[search.name] ?? ''}
          />
        )}
        {choices.map(({ label, name, options }) => (
          <Choice
            key={name}
            label={label}
            name={name}
            value={values[name] ?? ''}
            options={[['', words.common.all], ...options]}
            onChange={(e) => set(name, e.currentTarget.value)}
          />
        ))}
        {Object.keys(values).length > 0 && <Button onClick={clear}>{words.common.clearFilters}</Button>}
      </form>
    </search>
  )
}
