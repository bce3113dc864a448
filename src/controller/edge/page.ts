import type { PageMeta } from '../../wire/scalars.ts'

/** The paging block of a list answer. `limit` is the effective one. */
export function pageMeta(returned: number, total: number, limit: number | undefined, offset: number): PageMeta {
  const meta = { hasNextPage: offset + returned < total, hasPreviousPage: offset > 0, offset, returned, total }
  return limit === undefined ? meta : { ...meta, limit }
}
