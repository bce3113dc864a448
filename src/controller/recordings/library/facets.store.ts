import type { Facet, RecordingFacets } from '../../../wire/recordings.ts'
import type { Visibility } from '../../http/visibility.ts'
import type { Db } from '../../store/db.ts'
import type { RecordingCounts } from './counts.store.ts'

/** Values of one facet in an answer: the most frequent ones. */
export const MAX_VALUES = 1000

const KINDS = ['folder', 'tag', 'upload_policy'] as const
type Kind = (typeof KINDS)[number] | 'node' | 'profile'
type Counts = Map<string, number>

const listed = (name: string): string => `(SELECT value FROM json_each(@${name}))`

// Values of recordings that are counted individually.
const VALUES = `
  SELECT v.facet, v.value, count(*) AS n FROM recording_values v WHERE v.seq IN ${listed('seqs')} GROUP BY v.facet, v.value
  UNION ALL SELECT 'node', node_id, count(*) FROM recordings WHERE seq IN ${listed('seqs')} AND node_id IS NOT NULL GROUP BY node_id
  UNION ALL SELECT 'profile', recording_profile_id, count(*) FROM recordings
    WHERE seq IN ${listed('seqs')} AND recording_profile_id IS NOT NULL GROUP BY recording_profile_id`

/** Values to filter the library by, counted over all visible recordings. */
export function facetStore(db: Db, cells: RecordingCounts) {
  type Row = { facet: Kind; value: string; n: number }
  const frequent = db.stmt<{ kind: string; limit: number }, Facet>(
    `SELECT n AS count, value FROM recording_facet_totals WHERE facet = @kind ORDER BY n DESC, value LIMIT @limit`,
  )
  const everyNode = db.stmt<object, Facet>(
    `SELECT sum(c.n) AS count, s.node_id AS value FROM recording_cells c JOIN recording_scopes s ON s.id = c.scope_id
      WHERE s.node_id <> '' AND c.n > 0 GROUP BY s.node_id ORDER BY 1 DESC, 2`,
  )
  const everyProfile = db.stmt<object, Facet>(
    `SELECT sum(n) AS count, profile_id AS value FROM recording_cells WHERE profile_id <> '' AND n > 0
      GROUP BY profile_id ORDER BY 1 DESC, 2`,
  )
  const within = db.stmt<{ scopes: string }, Row>(
    `SELECT facet, value, sum(n) AS n FROM recording_facets WHERE scope_id IN ${listed('scopes')} GROUP BY facet, value
     UNION ALL SELECT 'node', s.node_id, sum(c.n) FROM recording_scopes s CROSS JOIN recording_cells c ON c.scope_id = s.id
       WHERE s.id IN ${listed('scopes')} AND s.node_id <> '' GROUP BY s.node_id
     UNION ALL SELECT 'profile', profile_id, sum(n) FROM recording_cells
       WHERE scope_id IN ${listed('scopes')} AND profile_id <> '' GROUP BY profile_id`,
  )
  const ofSome = db.stmt<{ seqs: string }, Row>(VALUES)

  const ranked = (counts: Counts | undefined): Facet[] =>
    [...(counts ?? [])]
      .filter(([, count]) => count > 0)
      .map(([value, count]) => ({ count, value }))
      .sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1))
      .slice(0, MAX_VALUES)

  const scoped = (visibility: Visibility): RecordingFacets => {
    const byKind = new Map<Kind, Counts>()
    const add = (rows: Row[], sign: 1 | -1): void => {
      for (const { facet, value, n } of rows) {
        const counts = byKind.get(facet) ?? new Map<string, number>()
        counts.set(value, (counts.get(value) ?? 0) + sign * n)
        byKind.set(facet, counts)
      }
    }
    add(within.all({ scopes: JSON.stringify(cells.scopes(visibility)) }), 1)
    const { also, not } = cells.exceptions(visibility)
    if (also.length > 0) add(ofSome.all({ seqs: JSON.stringify(also) }), 1)
    if (not.length > 0) add(ofSome.all({ seqs: JSON.stringify(not) }), -1)
    return {
      folders: ranked(byKind.get('folder')),
      nodes: ranked(byKind.get('node')),
      recordingProfiles: ranked(byKind.get('profile')),
      tags: ranked(byKind.get('tag')),
      trackGroups: [],
      uploadPolicies: ranked(byKind.get('upload_policy')),
    }
  }

  const total = (kind: (typeof KINDS)[number]): Facet[] => frequent.all({ kind, limit: MAX_VALUES })
  return {
    /** Most frequent first, then by value; exact, and at most `MAX_VALUES` of each. */
    facets(visibility: Visibility): RecordingFacets {
      if (!visibility.unrestricted) return scoped(visibility)
      return {
        folders: total('folder'),
        nodes: everyNode.all({}),
        recordingProfiles: everyProfile.all({}),
        tags: total('tag'),
        trackGroups: [],
        uploadPolicies: total('upload_policy'),
      }
    },
  }
}
