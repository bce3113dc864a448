import { folded } from '../../../kernel/fold.ts'
import type { RecordingFilters } from '../../../wire/recordings.ts'
import type { Db } from '../../store/db.ts'
import { type Condition, when } from '../../store/filter.ts'
import { caseVariants } from './search.rules.ts'

/** A filter that cells cannot answer: its condition, how many it matches at most, and their list when there are few. */
export interface Residual {
  condition: Condition
  /** The matching folders, when there are few: a JSON array. */
  folders?: string
  n: number
  seqs: () => number[]
}

const FEW_FOLDERS = 300

const listed = (name: string): string => `(SELECT value FROM json_each(@${name}))`

/** The filters that need each recording: folder, tag, upload policy, dates. */
export function listFilters(db: Db): (filters: RecordingFilters, small: number) => Residual[] {
  const folders = db.stmt<object, { value: string; n: number }>(
    `SELECT value, n FROM recording_facet_totals WHERE facet = 'folder'`,
  )
  const counted = db.stmt<{ facet: string; values: string }, { n: number }>(
    `SELECT coalesce(sum(n), 0) AS n FROM recording_facet_totals WHERE facet = @facet AND value COLLATE NOCASE IN ${listed('values')}`,
  )
  type Seq = { seq: number }
  const inFolders = db.stmt<{ values: string }, Seq>(
    `SELECT r.seq FROM json_each(@values) v CROSS JOIN recordings r INDEXED BY recordings_in_folder ON r.folder = v.value`,
  )
  const tagged = db.stmt<{ values: string }, Seq>(
    `SELECT r.seq FROM json_each(@values) v CROSS JOIN recording_tags t ON t.tag = v.value CROSS JOIN recordings r ON r.id = t.recording_id`,
  )
  const withPolicy = db.stmt<{ policyId: string }, Seq>(
    `SELECT r.seq FROM recording_upload_policies p CROSS JOIN recordings r ON r.id = p.recording_id WHERE p.policy_id = @policyId`,
  )
  const dated = db.stmt<{ from: string; to: string; limit: number }, Seq>(
    `SELECT seq FROM recordings INDEXED BY recordings_recorded WHERE recorded_at >= @from AND recorded_at <= @to LIMIT @limit`,
  )
  const seqs = (rows: Seq[]): number[] => rows.map((row) => row.seq)

  const folder = (text: string): Residual => {
    const wanted = folded(text)
    const matching = folders.all({}).filter(({ value }) => folded(value).includes(wanted))
    const values = JSON.stringify(matching.map(({ value }) => value))
    return {
      ...(matching.length <= FEW_FOLDERS ? { folders: values } : {}),
      condition: { sql: `+r.folder IN ${listed('folders')}`, params: { folders: values } },
      n: matching.reduce((sum, { n }) => sum + n, 0),
      seqs: () => seqs(inFolders.all({ values })),
    }
  }
  const tag = (text: string): Residual => {
    const values = JSON.stringify(caseVariants(text))
    return {
      condition: {
        sql: `EXISTS (SELECT 1 FROM recording_tags t WHERE t.recording_id = r.id AND t.tag IN ${listed('tags')})`,
        params: { tags: values },
      },
      n: counted.get({ facet: 'tag', values })?.n ?? 0,
      seqs: () => seqs(tagged.all({ values })),
    }
  }
  const policy = (policyId: string): Residual => ({
    condition: {
      sql: `EXISTS (SELECT 1 FROM recording_upload_policies p WHERE p.recording_id = r.id AND p.policy_id = @policyId)`,
      params: { policyId },
    },
    n: counted.get({ facet: 'upload_policy', values: JSON.stringify([policyId]) })?.n ?? 0,
    seqs: () => seqs(withPolicy.all({ policyId })),
  })
  const dates = ({ recordedFrom, recordedTo }: RecordingFilters, small: number): Residual => {
    const found = dated.all({ from: recordedFrom ?? '', to: recordedTo ?? '~', limit: small + 1 })
    const [from] = when(recordedFrom, 'r.recorded_at >= @recordedFrom', (at) => ({ recordedFrom: at }))
    const [to] = when(recordedTo, 'r.recorded_at <= @recordedTo', (at) => ({ recordedTo: at }))
    const both = [from, to].filter((c) => c !== undefined)
    return {
      condition: { sql: both.map((c) => c.sql).join(' AND '), params: Object.assign({}, ...both.map((c) => c.params)) },
      n: found.length,
      seqs: () => seqs(found),
    }
  }

  return (f, small) => [
    ...(f.folder === undefined ? [] : [folder(f.folder)]),
    ...(f.tag === undefined ? [] : [tag(f.tag)]),
    ...(f.uploadPolicyId === undefined ? [] : [policy(f.uploadPolicyId)]),
    ...(f.recordedFrom === undefined && f.recordedTo === undefined ? [] : [dates(f, small)]),
    // Split takes are a thing of the past: no recording belongs to a track group.
    ...(f.trackGroupId === undefined ? [] : [{ condition: { sql: '0', params: {} }, n: 0, seqs: () => [] }]),
  ]
}
