-- A take that arrives in chunks: one row while it is collected, one per chunk, one per stored file
-- (docs/contract/recordings.md: Chunks).
CREATE TABLE chunked_recordings (
  recording_id     TEXT PRIMARY KEY NOT NULL REFERENCES recordings (id) ON DELETE CASCADE,
  job_id           TEXT NOT NULL,             -- whose chunks they are
  total            INTEGER CHECK (total > 0), -- how many there are; unknown until the last one says so
  changed_at       TEXT NOT NULL,
  -- Arrivals, counted apart for what is played and for the raw master; a join that was overtaken begins anew.
  primary_revision INTEGER NOT NULL DEFAULT 0,
  raw_revision     INTEGER NOT NULL DEFAULT 0,
  primary_joined   INTEGER,                   -- revision the joined file was made of; NULL: not joined yet
  raw_joined       INTEGER,
  whole_at         TEXT,                      -- the take also came as one file: that one is played, nothing is joined
  join_at          TEXT,                      -- when to join; NULL: nothing to join
  join_attempts    INTEGER NOT NULL DEFAULT 0, -- failed ones since the last success
  join_event       TEXT,                      -- health event of the failure that still stands
  join_exact       INTEGER NOT NULL DEFAULT 1 CHECK (join_exact IN (0, 1)), -- every join so far kept each sample
  released_at      TEXT                       -- its files are gone: the joined ones hold all of them
) STRICT, WITHOUT ROWID;
CREATE INDEX chunked_recordings_kept ON chunked_recordings (changed_at) WHERE released_at IS NULL AND join_at IS NULL;
CREATE INDEX chunked_recordings_due ON chunked_recordings (join_at) WHERE join_at IS NOT NULL;

CREATE TABLE recording_chunks (
  recording_id     TEXT NOT NULL REFERENCES chunked_recordings (recording_id) ON DELETE CASCADE,
  idx              INTEGER NOT NULL CHECK (idx >= 1),
  status           TEXT NOT NULL CHECK (status IN ('capturing', 'cached', 'uploading', 'uploaded', 'partial', 'failed')),
  duration_seconds INTEGER NOT NULL CHECK (duration_seconds >= 0),
  created_at       TEXT NOT NULL,
  cached_at        TEXT,
  PRIMARY KEY (recording_id, idx)
) STRICT, WITHOUT ROWID;

CREATE TABLE recording_chunk_files (
  recording_id TEXT NOT NULL,
  idx          INTEGER NOT NULL,
  rendition    TEXT NOT NULL CHECK (rendition IN ('primary', 'raw', 'enhanced')),
  path         TEXT NOT NULL UNIQUE,          -- relative to the takes directory
  checksum     TEXT NOT NULL,
  size_bytes   INTEGER NOT NULL CHECK (size_bytes > 0),
  mime_type    TEXT NOT NULL,
  stored_at    TEXT NOT NULL,
  details      TEXT CHECK (details IS NULL OR json_valid(details)),
  PRIMARY KEY (recording_id, idx, rendition),
  FOREIGN KEY (recording_id, idx) REFERENCES recording_chunks (recording_id, idx) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- Takes on this disk that retention may look at, of each policy, oldest first.
CREATE INDEX recordings_kept ON recordings (retention_policy_id, recorded_at, id)
  WHERE local = 1 AND status IN ('cached', 'uploaded');

-- How a board of a million jobs is counted, listed and searched without looking at each. A kind is what jobs share of
-- themselves: what lists filter by, and the words that free text finds.
CREATE TABLE job_kinds (
  id         INTEGER PRIMARY KEY,
  node_id    TEXT NOT NULL,
  status     TEXT NOT NULL,
  backend    TEXT NOT NULL,
  interface  TEXT NOT NULL,
  words      TEXT NOT NULL,                   -- claimer, device, format, channel map, reason, codec: one a line
  UNIQUE (node_id, status, backend, interface, words)
) STRICT;
-- Jobs of one kind whose recordings share what scope is decided by; '' is absent. Their sum is an exact total.
CREATE TABLE job_cells (
  id           INTEGER PRIMARY KEY,
  kind_id      INTEGER NOT NULL REFERENCES job_kinds (id) ON DELETE RESTRICT,
  node_id      TEXT NOT NULL,
  room_id      TEXT NOT NULL,
  schedule_id  TEXT NOT NULL,
  n            INTEGER NOT NULL CHECK (n >= 0),
  UNIQUE (kind_id, node_id, room_id, schedule_id)
) STRICT;
-- Which trigrams a job's ids have, not where: what is found is looked at.
CREATE VIRTUAL TABLE job_grams USING fts5 (ids, content = '', contentless_delete = 1, detail = none, tokenize = 'trigram');

CREATE VIEW job_words (seq, recording_id, node_id, status, backend, interface, words) AS
  SELECT seq, recording_id, node_id, status, capture_backend, coalesce(capture_interface, ''),
    coalesce(claimed_by, '') || char(10) || coalesce(json_extract(command, '$.captureDevice'), '') || char(10)
    || coalesce(json_extract(command, '$.captureFormat'), '') || char(10)
    || coalesce(json_extract(command, '$.channelMap.templateName'), '') || char(10) || coalesce(failure_reason, '')
    || char(10) || coalesce('.' || json_extract(command, '$.outputCodec'), '')
  FROM recording_jobs;

-- A job without a cell is counted anew: every change that moves it only takes its cell away.
CREATE TRIGGER jobs_counted AFTER UPDATE OF cell ON recording_jobs WHEN new.cell IS NULL AND old.cell IS NOT NULL BEGIN
  UPDATE job_cells SET n = n - 1 WHERE id = old.cell;
  DELETE FROM job_cells WHERE id = old.cell AND n = 0;
  -- Not OR IGNORE: what fires a trigger overrules that, and a foreign key that sets NULL does.
  INSERT INTO job_kinds (node_id, status, backend, interface, words)
    SELECT node_id, status, backend, interface, words FROM job_words WHERE seq = new.seq ON CONFLICT DO NOTHING;
  INSERT INTO job_cells (kind_id, node_id, room_id, schedule_id, n)
    SELECT k.id, coalesce(r.node_id, ''), coalesce(r.room_id, ''), coalesce(r.schedule_id, ''), 1
      FROM job_words w CROSS JOIN job_kinds k ON k.node_id = w.node_id AND k.status = w.status AND k.backend = w.backend
        AND k.interface = w.interface AND k.words = w.words CROSS JOIN recordings r ON r.id = w.recording_id
     WHERE w.seq = new.seq
    ON CONFLICT DO UPDATE SET n = n + 1;
  UPDATE recording_jobs SET cell = (
    SELECT c.id FROM job_words w CROSS JOIN job_kinds k ON k.node_id = w.node_id AND k.status = w.status
        AND k.backend = w.backend AND k.interface = w.interface AND k.words = w.words
      CROSS JOIN recordings r ON r.id = w.recording_id
      CROSS JOIN job_cells c ON c.kind_id = k.id AND c.node_id = coalesce(r.node_id, '')
        AND c.room_id = coalesce(r.room_id, '') AND c.schedule_id = coalesce(r.schedule_id, '')
     WHERE w.seq = new.seq)
   WHERE seq = new.seq;
END;
CREATE TRIGGER job_kinds_gone AFTER DELETE ON job_cells BEGIN
  DELETE FROM job_kinds WHERE id = old.kind_id AND NOT EXISTS (SELECT 1 FROM job_cells WHERE kind_id = old.kind_id);
END;
CREATE TRIGGER jobs_added AFTER INSERT ON recording_jobs BEGIN
  UPDATE recording_jobs SET cell = NULL WHERE seq = new.seq;
  INSERT INTO job_grams (rowid, ids)
    VALUES (new.seq, new.id || ' ' || new.recording_id || ' ' || coalesce(json_extract(new.command, '$.outputFileName'), ''));
END;
CREATE TRIGGER jobs_moved AFTER UPDATE OF status, claimed_by, failure_reason, node_id ON recording_jobs
WHEN (old.status, old.claimed_by, old.failure_reason, old.node_id) IS NOT (new.status, new.claimed_by, new.failure_reason, new.node_id)
BEGIN
  UPDATE recording_jobs SET cell = NULL WHERE seq = new.seq;
END;
CREATE TRIGGER jobs_gone AFTER DELETE ON recording_jobs BEGIN
  UPDATE job_cells SET n = n - 1 WHERE id = old.cell;
  DELETE FROM job_cells WHERE id = old.cell AND n = 0;
  DELETE FROM job_grams WHERE rowid = old.seq;
END;
CREATE TRIGGER recordings_move_jobs AFTER UPDATE OF node_id, room_id, schedule_id ON recordings
WHEN (old.node_id, old.room_id, old.schedule_id) IS NOT (new.node_id, new.room_id, new.schedule_id) BEGIN
  UPDATE recording_jobs SET cell = NULL WHERE recording_id = new.id;
END;
