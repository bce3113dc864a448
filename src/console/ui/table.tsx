import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { PageMeta as Whole } from '../../wire/paging.ts'
import { useWords } from '../words/words.ts'
import type { PageAt } from './page.rules.ts'
import { Button, classes } from './parts.tsx'
import css from './ui.module.css'

export interface Column<T> {
  cell(row: T): ComponentChildren
  head: string
  numeric?: boolean
}

export interface Selection {
  /** Whether rows are being chosen. */
  active: boolean
  clear(): void
  ids: ReadonlySet<string>
  set(ids: Iterable<string>): void
  setActive(active: boolean): void
  toggle(id: string): void
}

export function useSelection(): Selection {
  const [active, setActive] = useState(false)
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set())
  return {
    active,
    clear: () => setIds(new Set()),
    ids,
    set: (chosen) => setIds(new Set(chosen)),
    setActive(next) {
      setActive(next)
      if (!next) setIds(new Set())
    },
    toggle: (id) =>
      setIds((was) => (was.has(id) ? new Set([...was].filter((one) => one !== id)) : new Set([...was, id]))),
  }
}

interface TableProps<T> {
  caption: string
  columns: readonly Column<T>[]
  empty?: string
  /** What a row is called, for whoever cannot see it. */
  nameOf?(row: T): string
  rows: readonly T[]
  selection?: Selection
}

/** A table that stays one on a phone: there its cells stand below each other, with their labels. */
export function Table<T extends { id: string }>({ caption, columns, empty, nameOf, rows, selection }: TableProps<T>) {
  const words = useWords()
  if (rows.length === 0) return <p class={css.quiet}>{empty ?? words.common.noMatch}</p>
  const choosing = selection?.active === true
  const all = rows.every(({ id }) => selection?.ids.has(id))
  return (
    <table class={css.table}>
      <caption class={css.hidden}>{caption}</caption>
      <thead>
        <tr>
          {choosing && (
            <th>
              <input
                type="checkbox"
                aria-label={words.common.selectAll}
                checked={all}
                onChange={() => selection.set(all ? [] : rows.map(({ id }) => id))}
              />
            </th>
          )}
          {columns.map(({ head, numeric }) => (
            <th key={head} scope="col" class={classes(numeric && css.number)}>
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.id}>
            {choosing && (
              <td>
                <input
                  type="checkbox"
                  aria-label={words.common.selectRow(nameOf?.(row) ?? row.id)}
                  checked={selection.ids.has(row.id)}
                  onChange={() => selection.toggle(row.id)}
                />
              </td>
            )}
            {columns.map(({ cell, head, numeric }) => (
              <td key={head} data-label={head} class={classes(numeric && css.number)}>
                {cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

export type PageMeta = Pick<Whole, 'nextCursor' | 'offset' | 'returned' | 'total' | 'totalIsLowerBound'>

/** Where one is in a list that the server pages. */
export function Pager({ go, meta, size }: { go(page: PageAt): void; meta: PageMeta; size: number }) {
  const words = useWords()
  const { nextCursor, offset, returned, total, totalIsLowerBound } = meta
  if (total === 0) return null
  const count = `${total.toLocaleString(words.locale)}${totalIsLowerBound ? '+' : ''}`
  return (
    <div class={css.row}>
      <span class={classes(css.grow, css.quiet)}>
        {words.common.page(Math.min(offset + 1, total), offset + returned, count)}
      </span>
      <Button disabled={offset === 0} onClick={() => go({ offset: Math.max(0, offset - size) })}>
        {words.common.previous}
      </Button>
      <Button disabled={offset + returned >= total} onClick={() => go({ cursor: nextCursor, offset: offset + size })}>
        {words.common.next}
      </Button>
    </div>
  )
}
