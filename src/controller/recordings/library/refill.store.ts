// What triggers and stores keep of recordings, made at once for all of them: for a database that was filled without.
import type { Db } from '../../store/db.ts'
import { gramsOf, searchText } from './search.rules.ts'

type Sqlite = Db['raw']
type TextRow = { seq: number; notes: string | null; snippets: string | null } & Record<
  'folder' | 'id' | 'name' | 'policies' | 'tags',
  string
>

const SLICE = 20_000

/** Cells, scopes and facets (0011_search.sql), which have to be empty. */
export function fillCells(db: Sqlite): void {
  db.exec(`
    INSERT INTO recording_scopes (node_id, room_id, schedule_id)
      SELECT DISTINCT coalesce(node_id, ''), coalesce(room_id, ''), coalesce(schedule_id, '') FROM recordings;
    INSERT INTO recording_cells (scope_id, profile_id, source, status, health, cached, n)
      SELECT s.id, coalesce(r.recording_profile_id, ''), r.source, r.status, r.health_status, r.cached, count(*)
        FROM recordings r JOIN recording_scopes s ON s.node_id = coalesce(r.node_id, '') AND s.room_id = coalesce(r.room_id, '')
          AND s.schedule_id = coalesce(r.schedule_id, '') GROUP BY 1, 2, 3, 4, 5, 6;
    UPDATE recordings AS r SET local = EXISTS (SELECT 1 FROM recording_files f WHERE f.recording_id = r.id AND f.local = 1), cell = (SELECT c.id FROM recording_scopes s JOIN recording_cells c ON c.scope_id = s.id
      WHERE s.node_id = coalesce(r.node_id, '') AND s.room_id = coalesce(r.room_id, '') AND s.schedule_id = coalesce(r.schedule_id, '')
        AND c.profile_id = coalesce(r.recording_profile_id, '') AND c.source = r.source AND c.status = r.status AND c.health = r.health_status AND c.cached = r.cached);
    INSERT INTO recording_facets SELECT v.facet, v.value, c.scope_id, count(*) FROM recording_values v
      JOIN recordings r ON r.seq = v.seq JOIN recording_cells c ON c.id = r.cell GROUP BY 3, 1, 2;
    INSERT INTO recording_facet_totals SELECT facet, value, sum(n) FROM recording_facets GROUP BY 1, 2`)
}

/** What free text searches; `tell` hears how many recordings are done. */
export function fillTexts(db: Sqlite, tell: (done: number) => void = () => {}): void {
  const rows = db.prepare<[number], TextRow>(
    `SELECT r.seq, r.id, r.name, r.folder, r.notes, r.transcript_snippets AS snippets,
       (SELECT json_group_array(tag ORDER BY position) FROM recording_tags WHERE recording_id = r.id) AS tags,
       (SELECT json_group_array(policy_id ORDER BY position) FROM recording_upload_policies WHERE recording_id = r.id) AS policies
     FROM recordings r WHERE r.seq > ? ORDER BY r.seq LIMIT ${SLICE}`,
  )
  const text = db.prepare('INSERT INTO recording_texts VALUES (?, ?)')
  const grams = db.prepare('INSERT INTO recording_grams (rowid, grams) VALUES (?, ?)')
  const put = (r: TextRow): void => {
    const [tags, snippets, policies] = [r.tags, r.snippets ?? '[]', r.policies].map(
      (list) => JSON.parse(list) as string[],
    )
    const found = searchText([
      r.name,
      r.folder,
      r.notes,
      ...(tags ?? []),
      ...(snippets ?? []),
      ...(policies ?? []),
      r.id,
    ])
    text.run(r.seq, found)
    grams.run(r.seq, gramsOf(found))
  }
  const slice = db.transaction((some: TextRow[]) => some.forEach(put))
  let done = 0
  for (let some = rows.all(0); some.length > 0; some = rows.all(some.at(-1)?.seq ?? 0)) {
    slice(some)
    done += some.length
    tell(done)
  }
  db.exec(`INSERT INTO recording_grams (recording_grams) VALUES ('optimize')`)
}
