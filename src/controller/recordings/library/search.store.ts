import type { Recording } from '../../../wire/recordings.ts'
import type { Db } from '../../store/db.ts'
import { gramQuery, gramsOf, searchText } from './search.rules.ts'

type Searched = Pick<Recording, 'folder' | 'id' | 'name' | 'notes' | 'tags' | 'transcriptSnippets' | 'uploadPolicyIds'>

/** The full-text index: call `put` in the transaction of every write that changes a recording's words. */
export function searchStore(db: Db) {
  const seqOf = db.stmt<{ id: string }, { seq: number }>(`SELECT seq FROM recordings WHERE id = @id`)
  const write = db.stmt<{ seq: number; text: string }>(
    `INSERT INTO recording_texts (seq, text) VALUES (@seq, @text) ON CONFLICT DO UPDATE SET text = excluded.text`,
  )
  const forget = db.stmt<{ seq: number }>(`DELETE FROM recording_grams WHERE rowid = @seq`)
  const index = db.stmt<{ seq: number; grams: string }>(
    `INSERT INTO recording_grams (rowid, grams) VALUES (@seq, @grams)`,
  )
  const likely = db.stmt<{ query: string; most: number }, { seq: number }>(
    `SELECT rowid AS seq FROM recording_grams WHERE recording_grams MATCH @query LIMIT @most`,
  )
  return {
    put(recording: Searched): void {
      const seq = seqOf.get({ id: recording.id })?.seq
      if (seq === undefined) return
      const { folder, id, name, notes, tags, transcriptSnippets = [], uploadPolicyIds } = recording
      const text = searchText([name, folder, notes, ...tags, ...transcriptSnippets, ...uploadPolicyIds, id])
      write.run({ seq, text })
      forget.run({ seq })
      index.run({ seq, grams: gramsOf(text) })
    },
    /** At most `most` recordings that have all grams of these folded texts: a superset of those that contain them. */
    likely: (texts: readonly string[], most: number): number[] =>
      likely.all({ query: gramQuery(texts), most }).map((row) => row.seq),
  }
}
export type SearchStore = ReturnType<typeof searchStore>
