-- Recordings that people deleted, where recorders keep takes for longer than this controller has them: a recorder that asks about
-- one lets go of it, instead of bringing it back. Kept for as long as a recorder may be away.
CREATE TABLE deleted_recordings (
  id         TEXT PRIMARY KEY NOT NULL,
  deleted_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX deleted_recordings_age ON deleted_recordings (deleted_at);
