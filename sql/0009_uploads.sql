-- Where recordings are copied to. The kind's own settings are stored and returned whole; secrets are sealed, bound to their row.
CREATE TABLE upload_destinations (
  id            TEXT PRIMARY KEY NOT NULL,
  display_name  TEXT NOT NULL,
  kind          TEXT NOT NULL CHECK (kind IN ('smb', 's3')),
  enabled       INTEGER NOT NULL CHECK (enabled IN (0, 1)),
  smb           TEXT CHECK (smb IS NULL OR json_valid(smb)),
  smb_password  TEXT,
  s3            TEXT CHECK (s3 IS NULL OR json_valid(s3)),
  s3_secret     TEXT,
  keeps_library INTEGER NOT NULL DEFAULT 0 CHECK (keeps_library IN (0, 1)), -- takes may be here alone, and are played from here
  created_at    TEXT NOT NULL,
  updated_at    TEXT NOT NULL
) STRICT;

INSERT INTO upload_policies VALUES ('upload-policy-stub', 'Stub Upload Queue', NULL, 1, 'manual', 5, NULL, 0, '1970-01-01T00:00:00.000Z');

-- One file on its way to one destination. The destination is named, not referenced: the history outlives it.
CREATE TABLE upload_queue (
  id               TEXT PRIMARY KEY NOT NULL,
  recording_id     TEXT NOT NULL REFERENCES recordings (id) ON DELETE CASCADE,
  upload_policy_id TEXT REFERENCES upload_policies (id) ON DELETE SET NULL,
  destination_id   TEXT NOT NULL,
  provider         TEXT NOT NULL CHECK (provider IN ('stub', 'smb', 's3')),
  status           TEXT NOT NULL CHECK (status IN ('queued', 'retrying', 'failed', 'succeeded', 'cancelled')),
  attempt_count    INTEGER NOT NULL DEFAULT 0 CHECK (attempt_count >= 0),
  max_attempts     INTEGER NOT NULL CHECK (max_attempts >= 1),
  next_attempt_at  TEXT NOT NULL,             -- due time; of an attempt under way the end of its lease
  claim            TEXT,                      -- the attempt under way: only it may settle the item
  last_error       TEXT,
  cache_path       TEXT NOT NULL,             -- frozen with the checksum when queued
  checksum         TEXT NOT NULL,
  file_name        TEXT NOT NULL,
  chunk_id         TEXT,
  chunk_index      INTEGER,
  path_override    TEXT,
  target           TEXT,
  verification     TEXT CHECK (verification IN ('matched', 'provider_accepted', 'provider_validated')),
  release_pending  INTEGER NOT NULL DEFAULT 0 CHECK (release_pending IN (0, 1)), -- uploaded; its file is to be deleted
  scope_id         INTEGER,                   -- of its recording (recording_scopes); kept by the triggers below
  created_at       TEXT NOT NULL,
  updated_at       TEXT NOT NULL
) STRICT;
CREATE INDEX upload_queue_recording ON upload_queue (recording_id, next_attempt_at, id);
CREATE INDEX upload_queue_policy ON upload_queue (upload_policy_id);
-- The order of the list, with every filter; with the scope in it, who sees an item is judged without the row.
CREATE INDEX upload_queue_next ON upload_queue (next_attempt_at, id, scope_id);
CREATE INDEX upload_queue_status ON upload_queue (status, next_attempt_at, id, scope_id);
CREATE INDEX upload_queue_provider ON upload_queue (provider, next_attempt_at, id, scope_id);
CREATE INDEX upload_queue_both ON upload_queue (provider, status, next_attempt_at, id, scope_id);
-- The items of few scopes, however rare they are among all.
CREATE INDEX upload_queue_scope ON upload_queue (scope_id, status, provider, next_attempt_at, id);
-- What the runner asks: due items of each destination, attempts under way, files to delete.
CREATE INDEX upload_queue_due ON upload_queue (destination_id, next_attempt_at) WHERE status IN ('queued', 'retrying');
CREATE INDEX upload_queue_claimed ON upload_queue (claim) WHERE claim IS NOT NULL;
CREATE INDEX upload_queue_release ON upload_queue (updated_at) WHERE release_pending = 1;

-- The scope of an item is that of its recording, which a recording changes when its node, room or schedule goes.
CREATE TRIGGER upload_queue_scoped AFTER INSERT ON upload_queue BEGIN
  UPDATE upload_queue SET scope_id = (
    SELECT c.scope_id FROM recordings r JOIN recording_cells c ON c.id = r.cell WHERE r.id = new.recording_id)
   WHERE id = new.id;
END;
CREATE TRIGGER upload_queue_rescoped AFTER UPDATE OF cell ON recordings WHEN new.cell IS NOT old.cell BEGIN
  UPDATE upload_queue SET scope_id = (SELECT c.scope_id FROM recording_cells c WHERE c.id = new.cell)
   WHERE recording_id = new.id AND scope_id IS NOT (SELECT c.scope_id FROM recording_cells c WHERE c.id = new.cell);
END;
