import { setImmediate as nextTurn } from 'node:timers/promises'
import { streamed } from './page.ts'

/** A column of an export: its header, and the cell of a row. */
export type Column<R> = readonly [header: string, cell: (row: R) => unknown]

interface Export<R> {
  columns: readonly Column<R>[]
  /** What the rows are, for the file's name: `audit-events`. */
  kind: string
  now: string
  /** Half of the exports quote every cell, the other half only where CSV needs it (docs/contract/api.md: Exports). */
  quoting: 'always' | 'needed'
  /** Rows slice by slice; a walk of a `Lister` holds nothing between two slices. */
  slices: Iterable<readonly R[]>
}

/** Rows per turn of the event loop. */
export const EXPORT_SLICE = 200

/**
 * A CSV answer of any length (docs/contract/api.md: Exports): one slice of rows per turn of the event loop, as fast as the
 * client reads, in flat memory. A client that goes ends the walk.
 */
export function csvExport<R>({ columns, kind, now, quoting, slices }: Export<R>): Response {
  const line = (values: unknown[]) => values.map((value) => cell(value, quoting)).join(',')
  async function* text(): AsyncGenerator<string> {
    yield line(columns.map(([header]) => header))
    for (const rows of slices) {
      yield rows.map((row) => `\n${line(columns.map(([, of]) => of(row)))}`).join('')
      await nextTurn()
    }
  }
  return streamed(text(), {
    'cache-control': 'no-store',
    'content-disposition': `attachment; filename="svc-${kind}-${stamp(kind, now)}.csv"`,
    'content-type': 'text/csv; charset=utf-8',
  })
}

const DOTLESS = new Set(['recordings', 'schedules'])
const stamp = (kind: string, now: string): string =>
  DOTLESS.has(kind) ? now.replace(/[:.]/g, '-') : now.replaceAll(':', '-')

/** One cell; a spreadsheet must never read it as a formula. Absent is empty, lists and objects are JSON. */
export function cell(value: unknown, quoting: 'always' | 'needed'): string {
  const text =
    value === null || value === undefined ? '' : typeof value === 'object' ? JSON.stringify(value) : `${value}`
  const guarded = typeof value !== 'number' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return quoting === 'always' || /[",\n\r]/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded
}
