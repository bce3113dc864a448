import type { RecordingFilters } from '../../../wire/recordings.ts'

type SortKey = NonNullable<RecordingFilters['sortBy']>

/** One order of the library; ties are ordered by ascending id in both directions (docs/contract/recordings.md: Lists). */
export interface Ordering {
  /** An index that has this order within each cell, where there is one. */
  byCell: string | undefined
  descending: boolean
  index: string
  key: string
}

const NOCASE = ' COLLATE NOCASE'
const SORTS: Record<SortKey, { byCell?: string; column: string; down?: true; index: string; order: 'asc' | 'desc' }> = {
  durationSeconds: { column: 'duration_seconds', down: true, index: 'recordings_duration', order: 'desc' },
  folder: {
    byCell: 'recordings_cell_folder',
    column: `folder${NOCASE}`,
    down: true,
    index: 'recordings_folder',
    order: 'asc',
  },
  healthStatus: { column: 'health_status', down: true, index: 'recordings_health', order: 'asc' },
  name: { byCell: 'recordings_cell_name', column: `name${NOCASE}`, index: 'recordings_name', order: 'asc' },
  recordedAt: {
    byCell: 'recordings_cell_recorded',
    column: 'recorded_at',
    index: 'recordings_recorded',
    order: 'desc',
  },
  source: { column: 'source', down: true, index: 'recordings_source', order: 'asc' },
  status: { column: 'status', down: true, index: 'recordings_status', order: 'asc' },
}

/** Every order a list can have; each is prepared once. */
export const ORDERINGS: ReadonlyMap<string, Ordering> = new Map(
  Object.entries(SORTS).flatMap(([name, sort]) =>
    (['asc', 'desc'] as const).map((order): [string, Ordering] => [
      `${name} ${order}`,
      {
        byCell: sort.byCell,
        descending: order === 'desc',
        index: order === 'desc' && sort.down ? `${sort.index}_down` : sort.index,
        key: `r.${sort.column}`,
      },
    ]),
  ),
)

export const orderingOf = ({ sortBy = 'recordedAt', sortOrder }: RecordingFilters): Ordering =>
  ORDERINGS.get(`${sortBy} ${sortOrder ?? SORTS[sortBy].order}`) as Ordering

/** Types of the keys of a row's place in this order, for its cursors: the value, and the id. */
export const keyTypes = (filters: RecordingFilters): readonly ('number' | 'string')[] => [
  filters.sortBy === 'durationSeconds' ? 'number' : 'string',
  'string',
]

/** `ORDER BY` of an ordering; `back` reads it from its end. */
export const orderSql = ({ descending, key }: Ordering, back = false): string =>
  `${key} ${descending === back ? 'ASC' : 'DESC'}, r.id ${back ? 'DESC' : 'ASC'}`

/** Up to this many matches are fetched and sorted; more are found quickly by walking in the list's order. */
export const SMALL_SET = 4000
// Most cells that are merged, and most rows read for it.
const MERGED_CELLS = 300
const MERGED_ROWS = 30_000

/** Whether a page that reaches `depth` rows into the list is merged from its cells. */
export const merges = (order: Ordering, cells: number, depth: number): boolean =>
  order.byCell !== undefined && cells <= MERGED_CELLS && cells * depth <= MERGED_ROWS
