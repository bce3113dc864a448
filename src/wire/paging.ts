// Without zod: the console reads it as well.

/** Rows counted off by an offset where a cursor goes on from the last row instead. */
export const DEEPEST_OFFSET = 10_000

/** What a list tells of a page of it. */
export interface PageMeta {
  hasNextPage: boolean
  hasPreviousPage: boolean
  limit?: number
  /** Of lists with cursors: what the next page is asked with. */
  nextCursor?: string
  offset: number
  returned: number
  total: number
  /** Counting stopped far beyond the page: there are at least `total`. */
  totalIsLowerBound?: true
}
