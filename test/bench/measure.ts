// What a measurement says, and how it is judged: every limit is a number of the same run.

/** One line of the table. `limit` undefined: measured for later work, judged by nobody. */
export interface Row {
  name: string
  measured: number
  limit?: number
  unit: string
  /** Whether the measured value must be at least or at most the limit. */
  bound: 'least' | 'most'
  /** How it was measured, and against what. */
  how: string
}

export interface Judged extends Row {
  /** How often the limit is kept: 1 is exactly at it, more is better. */
  ratio: number | undefined
  ok: boolean | undefined
}

export function judged(row: Row): Judged {
  const { bound, limit, measured } = row
  if (limit === undefined) return { ...row, ratio: undefined, ok: undefined }
  const ratio = measured === limit ? 1 : bound === 'least' ? measured / limit : limit / measured
  return { ...row, ratio, ok: ratio >= 1 }
}

/** The value below which the part `q` of the values lies; the upper one where it falls between two. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  const at = Math.min(sorted.length - 1, Math.floor(sorted.length * q))
  return sorted[at] as number
}

export const median = (values: readonly number[]): number => quantile(values, 0.5)

/** Milliseconds `work` takes. */
export async function elapsed(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now()
  await work()
  return performance.now() - from
}

/** Runs both in turn, so that what else the machine does meets both alike. */
export async function inTurn<T>(rounds: number, a: () => Promise<T>, b: () => Promise<T>): Promise<[T[], T[]]> {
  const [as, bs]: [T[], T[]] = [[], []]
  for (let round = 0; round < rounds; round++) {
    as.push(await a())
    bs.push(await b())
  }
  return [as, bs]
}

const number = (value: number): string =>
  Math.abs(value) >= 100 ? value.toFixed(0) : Math.abs(value) >= 10 ? value.toFixed(1) : value.toFixed(2)

/** The rows as an aligned table. */
export function table(rows: readonly Judged[]): string {
  const lines = rows.map(({ bound, how, limit, measured, name, ok, ratio, unit }) => [
    name,
    `${number(measured)} ${unit}`,
    limit === undefined ? '-' : `${bound === 'least' ? '>=' : '<='} ${number(limit)}`,
    ratio === undefined ? '-' : ratio.toFixed(2),
    ok === undefined ? '-' : ok ? 'ok' : 'MISSED',
    how,
  ])
  const all = [['name', 'measured', 'limit', 'ratio', 'ok', 'how'], ...lines]
  const widths = [0, 1, 2, 3, 4].map((column) => Math.max(...all.map((line) => (line[column] as string).length)))
  return all.map((line) => line.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join('  ')).join('\n')
}
