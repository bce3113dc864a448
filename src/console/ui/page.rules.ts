import { DEEPEST_OFFSET } from '../../wire/paging.ts'

/** A page of a list: behind `cursor` where the server gives one, else behind the first `offset` rows. */
export interface PageAt {
  cursor?: string | undefined
  offset: number
}

/** The page an address names. */
export function pageIn(address: URLSearchParams): PageAt {
  const offset = Math.max(0, Math.floor(Number(address.get('offset') ?? 0)) || 0)
  return { cursor: address.get('cursor') ?? undefined, offset }
}

/** What an address says of a page, when the one before it was `from`: offsets lead back as well, cursors go on where they end. */
export function pageAddress(to: PageAt, from: PageAt): Partial<Record<'cursor' | 'offset', string>> {
  if (to.cursor && to.offset > DEEPEST_OFFSET) return { cursor: to.cursor }
  const offset = from.cursor ? Math.min(to.offset, DEEPEST_OFFSET) : to.offset
  return offset > 0 ? { offset: String(offset) } : {}
}
