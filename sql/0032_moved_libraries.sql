-- A destination that is given another endpoint or bucket is another place: what was seen at the former one counts again only once
-- it was seen at this one. `place` counts up with each move; a copy has that of the destination when it was seen.
ALTER TABLE upload_destinations ADD COLUMN place INTEGER NOT NULL DEFAULT 0;
ALTER TABLE remote_copies ADD COLUMN place INTEGER NOT NULL DEFAULT 0;

-- Destinations whose copies are looked for at this place; the last one that was looked for.
CREATE TABLE library_moves (
  destination_id TEXT PRIMARY KEY NOT NULL REFERENCES upload_destinations (id) ON DELETE CASCADE,
  place          INTEGER NOT NULL,
  recording_id   TEXT NOT NULL DEFAULT '',
  checksum       TEXT NOT NULL DEFAULT '',
  skipped        INTEGER NOT NULL DEFAULT 0   -- copies on the way there of which the store said nothing
) STRICT, WITHOUT ROWID;
CREATE TRIGGER library_moved AFTER UPDATE OF place ON upload_destinations WHEN new.place <> old.place BEGIN
  INSERT INTO library_moves (destination_id, place) VALUES (new.id, new.place)
    ON CONFLICT DO UPDATE SET place = excluded.place, recording_id = '', checksum = '', skipped = 0;
  -- What is being sent goes to the former place: it is sent again.
  UPDATE upload_queue SET claim = NULL, attempt_count = attempt_count - 1, next_attempt_at = new.updated_at
    WHERE destination_id = new.id AND claim IS NOT NULL;
END;
-- Its manifest may not have come along.
CREATE TRIGGER manifest_of_moved AFTER UPDATE OF place ON remote_copies WHEN new.place <> old.place BEGIN
  INSERT INTO manifest_queue (recording_id, destination_id) VALUES (new.recording_id, new.destination_id)
    ON CONFLICT DO UPDATE SET revision = revision + 1, attempts = 0, due_at = '';
END;
