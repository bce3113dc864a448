import { setImmediate as nextTurn } from 'node:timers/promises'
import type { PageMeta } from '../../wire/paging.ts'
import { COUNT_LIMIT } from '../store/filter.ts'

/**
 * The paging block of a list answer. `limit` is the effective one. Counting stops `COUNT_LIMIT` rows beyond the page: a
 * total that reached it is marked as a lower bound.
 */
export function pageMeta(returned: number, total: number, limit: number | undefined, offset: number): PageMeta {
  const meta = { hasNextPage: offset + returned < total, hasPreviousPage: offset > 0, offset, returned, total }
  const bounded = limit !== undefined && total >= offset + limit + COUNT_LIMIT
  return {
    ...meta,
    ...(limit === undefined ? {} : { limit }),
    ...(bounded ? { totalIsLowerBound: true as const } : {}),
  }
}

/** A response whose type names its content; docs/api.md is generated from it. */
type Holding<T> = Response & { readonly holds?: T }

/** A whole answer as JSON. */
export const held = <T extends object>(content: T, status = 200): Holding<T> => Response.json(content, { status })

/** A page whose rows are JSON already, of `R` each. */
export const heldRows = <R>(rows: readonly string[], meta: PageMeta): Holding<{ data: R[]; meta: PageMeta }> =>
  new Response(`{"data":[${rows.join(',')}],"meta":${JSON.stringify(meta)}}`, {
    headers: { 'content-type': 'application/json' },
  })

/**
 * A list of any length as one JSON answer `{ data }`, with `meta` where it is asked for: one slice of rows per turn of
 * the event loop, as fast as the client reads, in flat memory.
 */
export function slicedList<R>(slices: Iterable<readonly R[]>): Holding<{ data: R[] }>
export function slicedList<R>(
  slices: Iterable<readonly R[]>,
  meta: (returned: number) => PageMeta,
): Holding<{ data: R[]; meta: PageMeta }>
export function slicedList<R>(slices: Iterable<readonly R[]>, meta?: (returned: number) => PageMeta): Response {
  async function* text(): AsyncGenerator<string> {
    yield '{"data":['
    let returned = 0
    for (const rows of slices) {
      if (rows.length > 0) yield (returned > 0 ? ',' : '') + rows.map((row) => JSON.stringify(row)).join(',')
      returned += rows.length
      await nextTurn()
    }
    yield meta ? `],"meta":${JSON.stringify(meta(returned))}}` : ']}'
  }
  return streamed(text(), { 'content-type': 'application/json' })
}

const made = new WeakSet<Response>()

/** An answer that is generated as fast as the client reads. */
export function streamed(text: AsyncIterable<string>, headers: Record<string, string>): Response {
  const body = ReadableStream.from(text).pipeThrough(new TextEncoderStream())
  const response = new Response(body as ReadableStream<Uint8Array<ArrayBuffer>>, { headers })
  made.add(response)
  return response
}

/** Whether it is generated while it is read: exports, and lists without paging. */
export const isStreamed = (response: Response): boolean => made.has(response)
