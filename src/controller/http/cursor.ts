import { createHash } from 'node:crypto'
import { invalid } from '../../kernel/fail.ts'
import type { PageMeta } from '../../wire/paging.ts'
import type { SqlValue } from '../store/db.ts'
import { pageMeta } from './page.ts'

/** Where a list goes on: behind the row with these keys, `offset` rows from its beginning when the page before was read. */
interface Position {
  keys: readonly SqlValue[]
  offset: number
}

/** What a query asks of a list: the page that begins at an offset, or the one behind a row. */
export interface Asked {
  after: readonly SqlValue[] | undefined
  offset: number
}

/** The beginning of a list. */
export const FROM_THE_FIRST: Asked = { after: undefined, offset: 0 }

interface PageQuery {
  cursor?: string | undefined
  limit?: number | undefined
  offset?: number | undefined
}

const MARK_LENGTH = 16

/** What a cursor is bound to: the list, its order and its filters. Not a secret: it keeps cursors from the wrong list. */
function markOf(list: string, { cursor: _, limit: __, offset: ___, ...filters }: PageQuery): string {
  const asked = Object.entries(filters).filter(([, value]) => value !== undefined)
  const text = JSON.stringify([list, asked.sort(([a], [b]) => (a < b ? -1 : 1))])
  return createHash('sha256').update(text).digest('base64url').slice(0, MARK_LENGTH)
}

const refused = (why: string) => invalid('Invalid cursor', ['cursor'], why, 'invalid_cursor')

/**
 * Cursors of one list (ADR-0044): base64url of the mark, the offset and the keys of the last row, which the caller has seen.
 * `kinds` are the types of the keys, by the order that is asked for.
 */
export function cursors<Q extends PageQuery>(list: string, kinds: (query: Q) => readonly ('number' | 'string')[]) {
  const decoded = (query: Q, cursor: string): Position => {
    const [mark, offset, ...keys] = listIn(cursor)
    if (mark !== markOf(list, query))
      throw refused('it belongs to another list, order or filter: keep both while you go on, or begin again without it')
    const types = kinds(query)
    const fits = keys.length === types.length && types.every((type, i) => typeof keys[i] === type)
    if (!fits || !isCount(offset)) throw unreadable()
    return { keys: keys as SqlValue[], offset }
  }
  return {
    /** @throws Fail 400 `invalid_cursor` */
    asked(query: Q): Asked {
      const { cursor, offset } = query
      if (cursor === undefined) return { after: undefined, offset: offset ?? 0 }
      if (offset !== undefined) throw refused('send either a cursor or an offset')
      const position = decoded(query, cursor)
      return { after: position.keys, offset: position.offset }
    },
    /** The paging block, with the cursor of the next page; `last` are the keys of the last row of this one. */
    meta(query: Q, { offset }: Asked, page: Shown): PageMeta {
      const { bounded, last, limit, more, returned, total } = page
      const { totalIsLowerBound: _, ...meta } = pageMeta(returned, total, limit, offset)
      const next = more && last ? { nextCursor: encoded([markOf(list, query), offset + returned, ...last]) } : {}
      return { ...meta, ...next, hasNextPage: more, ...(bounded ? { totalIsLowerBound: true as const } : {}) }
    },
  }
}

interface Shown {
  /** `total` is a lower bound. */
  bounded: boolean
  last: readonly SqlValue[] | undefined
  limit: number
  more: boolean
  returned: number
  total: number
}

const unreadable = () => refused('it is not one of ours: send meta.nextCursor as it was, or begin again without it')
// More rows than any list can have would only make totals that no longer add up.
const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= 1e12
const encoded = (parts: readonly SqlValue[]): string => Buffer.from(JSON.stringify(parts)).toString('base64url')

function listIn(cursor: string): unknown[] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    if (Array.isArray(parts)) return parts
  } catch (e) {
    if (!(e instanceof SyntaxError)) throw e
  }
  throw unreadable()
}
