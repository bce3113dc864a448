import { setImmediate as nextTurn } from 'node:timers/promises'
import type { PageMeta } from '../../wire/scalars.ts'
import { COUNTED } from '../store/filter.ts'

/**
 * The paging block of a list answer. `limit` is the effective one. Counting ends `COUNTED` rows beyond the page: a
 * total that got there says that it is a lower bound.
 */
export function pageMeta(returned: number, total: number, limit: number | undefined, offset: number): PageMeta {
  const meta = { hasNextPage: offset + returned < total, hasPreviousPage: offset > 0, offset, returned, total }
  const bounded = limit !== undefined && total >= offset + limit + COUNTED
  return {
    ...meta,
    ...(limit === undefined ? {} : { limit }),
    ...(bounded ? { totalIsLowerBound: true as const } : {}),
  }
}

/** A list without pages as one JSON answer `{ data }`: slice by slice like `slicedList`, read from a walk. */
export function walkedList<R>(slices: Iterable<readonly R[]>): Response {
  async function* text(): AsyncGenerator<string> {
    yield '{"data":['
    let first = true
    for (const rows of slices) {
      yield (first ? '' : ',') + rows.map((row) => JSON.stringify(row)).join(',')
      first = false
      await nextTurn()
    }
    yield ']}'
  }
  const body = ReadableStream.from(text()).pipeThrough(new TextEncoderStream())
  return new Response(body as ReadableStream<Uint8Array<ArrayBuffer>>, {
    headers: { 'content-type': 'application/json' },
  })
}

/**
 * A list of any length as one JSON answer `{ data, meta }`: one slice of rows per turn of the event loop, as fast as
 * the client reads, in flat memory. `next` gives the rows from an offset on, none at the end.
 */
export function slicedList<R>(next: (offset: number) => R[], meta: (returned: number) => PageMeta): Response {
  async function* text(): AsyncGenerator<string> {
    yield '{"data":['
    let returned = 0
    for (let rows = next(0); rows.length > 0; rows = next(returned)) {
      yield (returned > 0 ? ',' : '') + rows.map((row) => JSON.stringify(row)).join(',')
      returned += rows.length
      await nextTurn()
    }
    yield `],"meta":${JSON.stringify(meta(returned))}}`
  }
  const body = ReadableStream.from(text()).pipeThrough(new TextEncoderStream())
  return new Response(body as ReadableStream<Uint8Array<ArrayBuffer>>, {
    headers: { 'content-type': 'application/json' },
  })
}
