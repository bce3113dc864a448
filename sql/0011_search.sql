-- How a library of a million recordings is counted, listed and searched without looking at each.

-- What scope is decided by. Absent is '' here: a unique key takes NULLs for different.
CREATE TABLE recording_scopes (
  id           INTEGER PRIMARY KEY,
  node_id      TEXT NOT NULL,
  room_id      TEXT NOT NULL,
  schedule_id  TEXT NOT NULL,
  UNIQUE (node_id, room_id, schedule_id)
) STRICT;

-- Every combination of what lists filter by, with the number of recordings that have it: any filter and any scope picks
-- cells, their sum is an exact total, and their size says which way to the rows is short.
CREATE TABLE recording_cells (
  id          INTEGER PRIMARY KEY,
  scope_id    INTEGER NOT NULL REFERENCES recording_scopes (id) ON DELETE CASCADE,
  profile_id  TEXT NOT NULL,
  source      TEXT NOT NULL,
  status      TEXT NOT NULL,
  health      TEXT NOT NULL,
  cached      INTEGER NOT NULL,
  n           INTEGER NOT NULL CHECK (n >= 0),
  UNIQUE (scope_id, profile_id, source, status, health, cached)
) STRICT;

-- Values that recordings have many of, counted per scope; and over all scopes, the most frequent first.
CREATE TABLE recording_facets (
  facet     TEXT NOT NULL CHECK (facet IN ('folder', 'tag', 'upload_policy')),
  value     TEXT NOT NULL,
  scope_id  INTEGER NOT NULL REFERENCES recording_scopes (id) ON DELETE CASCADE,
  n         INTEGER NOT NULL,
  PRIMARY KEY (scope_id, facet, value)
) STRICT, WITHOUT ROWID;
CREATE TABLE recording_facet_totals (
  facet     TEXT NOT NULL CHECK (facet IN ('folder', 'tag', 'upload_policy')),
  value     TEXT NOT NULL,
  n         INTEGER NOT NULL,
  PRIMARY KEY (facet, value)
) STRICT, WITHOUT ROWID;
CREATE INDEX recording_facet_totals_most ON recording_facet_totals (facet, n DESC, value);

CREATE TRIGGER recording_facets_added AFTER INSERT ON recording_facets BEGIN
  INSERT INTO recording_facet_totals VALUES (new.facet, new.value, new.n)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
END;
CREATE TRIGGER recording_facets_counted AFTER UPDATE OF n ON recording_facets BEGIN
  UPDATE recording_facet_totals SET n = n + new.n - old.n WHERE facet = new.facet AND value = new.value;
  DELETE FROM recording_facet_totals WHERE facet = new.facet AND value = new.value AND n = 0;
  DELETE FROM recording_facets WHERE scope_id = new.scope_id AND facet = new.facet AND value = new.value AND n = 0;
END;

CREATE TRIGGER recordings_added AFTER INSERT ON recordings BEGIN
  INSERT INTO recording_scopes (node_id, room_id, schedule_id)
    VALUES (coalesce(new.node_id, ''), coalesce(new.room_id, ''), coalesce(new.schedule_id, '')) ON CONFLICT DO NOTHING;
  INSERT INTO recording_cells (scope_id, profile_id, source, status, health, cached, n)
    SELECT id, coalesce(new.recording_profile_id, ''), new.source, new.status, new.health_status, new.cached, 1
      FROM recording_scopes
     WHERE node_id = coalesce(new.node_id, '') AND room_id = coalesce(new.room_id, '') AND schedule_id = coalesce(new.schedule_id, '')
    ON CONFLICT DO UPDATE SET n = n + 1;
  UPDATE recordings SET cell = (
    SELECT c.id FROM recording_scopes s CROSS JOIN recording_cells c ON c.scope_id = s.id
     WHERE s.node_id = coalesce(new.node_id, '') AND s.room_id = coalesce(new.room_id, '') AND s.schedule_id = coalesce(new.schedule_id, '')
       AND c.profile_id = coalesce(new.recording_profile_id, '') AND c.source = new.source AND c.status = new.status
       AND c.health = new.health_status AND c.cached = new.cached)
   WHERE seq = new.seq;
  INSERT INTO recording_facets (facet, value, scope_id, n)
    SELECT 'folder', new.folder, c.scope_id, 1 FROM recordings r JOIN recording_cells c ON c.id = r.cell WHERE r.seq = new.seq
    ON CONFLICT DO UPDATE SET n = n + 1;
END;

CREATE TRIGGER recordings_moved AFTER UPDATE OF node_id, room_id, schedule_id, recording_profile_id, source, status, health_status, cached
ON recordings WHEN (old.node_id, old.room_id, old.schedule_id, old.recording_profile_id, old.source, old.status, old.health_status, old.cached)
  IS NOT (new.node_id, new.room_id, new.schedule_id, new.recording_profile_id, new.source, new.status, new.health_status, new.cached)
BEGIN
  UPDATE recording_cells SET n = n - 1 WHERE id = old.cell;
  INSERT INTO recording_scopes (node_id, room_id, schedule_id)
    VALUES (coalesce(new.node_id, ''), coalesce(new.room_id, ''), coalesce(new.schedule_id, '')) ON CONFLICT DO NOTHING;
  INSERT INTO recording_cells (scope_id, profile_id, source, status, health, cached, n)
    SELECT id, coalesce(new.recording_profile_id, ''), new.source, new.status, new.health_status, new.cached, 1
      FROM recording_scopes
     WHERE node_id = coalesce(new.node_id, '') AND room_id = coalesce(new.room_id, '') AND schedule_id = coalesce(new.schedule_id, '')
    ON CONFLICT DO UPDATE SET n = n + 1;
  UPDATE recordings SET cell = (
    SELECT c.id FROM recording_scopes s CROSS JOIN recording_cells c ON c.scope_id = s.id
     WHERE s.node_id = coalesce(new.node_id, '') AND s.room_id = coalesce(new.room_id, '') AND s.schedule_id = coalesce(new.schedule_id, '')
       AND c.profile_id = coalesce(new.recording_profile_id, '') AND c.source = new.source AND c.status = new.status
       AND c.health = new.health_status AND c.cached = new.cached)
   WHERE seq = new.seq;
END;

-- In another scope it takes its values along.
CREATE TRIGGER recordings_rescoped AFTER UPDATE OF cell ON recordings
WHEN old.cell IS NOT NULL AND new.cell <> old.cell BEGIN
  UPDATE recording_facets SET n = n - 1
   WHERE (scope_id, facet, value) IN (
     SELECT (SELECT scope_id FROM recording_cells WHERE id = old.cell), v.facet, v.value FROM recording_values v
      WHERE v.seq = new.seq AND (SELECT scope_id FROM recording_cells WHERE id = old.cell) <> (SELECT scope_id FROM recording_cells WHERE id = new.cell));
  INSERT INTO recording_facets (facet, value, scope_id, n)
    SELECT v.facet, v.value, (SELECT scope_id FROM recording_cells WHERE id = new.cell), 1 FROM recording_values v
     WHERE v.seq = new.seq AND (SELECT scope_id FROM recording_cells WHERE id = old.cell) <> (SELECT scope_id FROM recording_cells WHERE id = new.cell)
    ON CONFLICT DO UPDATE SET n = n + 1;
  DELETE FROM recording_cells WHERE id = old.cell AND n = 0;
END;

CREATE VIEW recording_values (seq, facet, value) AS
  SELECT seq, 'folder', folder FROM recordings
  UNION ALL SELECT r.seq, 'tag', t.tag FROM recordings r JOIN recording_tags t ON t.recording_id = r.id
  UNION ALL SELECT r.seq, 'upload_policy', p.policy_id FROM recordings r JOIN recording_upload_policies p ON p.recording_id = r.id;

CREATE TRIGGER recordings_refiled AFTER UPDATE OF folder ON recordings WHEN old.folder <> new.folder BEGIN
  UPDATE recording_facets SET n = n - 1
   WHERE scope_id = (SELECT scope_id FROM recording_cells WHERE id = old.cell) AND facet = 'folder' AND value = old.folder;
  INSERT INTO recording_facets (facet, value, scope_id, n)
    SELECT 'folder', new.folder, scope_id, 1 FROM recording_cells WHERE id = old.cell
    ON CONFLICT DO UPDATE SET n = n + 1;
END;

-- Its tags and policies go first, while it can still be said where they counted.
CREATE TRIGGER recordings_going BEFORE DELETE ON recordings BEGIN
  DELETE FROM recording_tags WHERE recording_id = old.id;
  DELETE FROM recording_upload_policies WHERE recording_id = old.id;
END;
CREATE TRIGGER recordings_gone AFTER DELETE ON recordings BEGIN
  UPDATE recording_facets SET n = n - 1
   WHERE scope_id = (SELECT scope_id FROM recording_cells WHERE id = old.cell) AND facet = 'folder' AND value = old.folder;
  UPDATE recording_cells SET n = n - 1 WHERE id = old.cell;
  DELETE FROM recording_cells WHERE id = old.cell AND n = 0;
  DELETE FROM recording_texts WHERE seq = old.seq;
  DELETE FROM recording_grams WHERE rowid = old.seq;
END;

CREATE TRIGGER recording_tags_added AFTER INSERT ON recording_tags BEGIN
  INSERT INTO recording_facets (facet, value, scope_id, n)
    SELECT 'tag', new.tag, c.scope_id, 1 FROM recordings r JOIN recording_cells c ON c.id = r.cell WHERE r.id = new.recording_id
    ON CONFLICT DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER recording_tags_gone AFTER DELETE ON recording_tags BEGIN
  UPDATE recording_facets SET n = n - 1
   WHERE scope_id = (SELECT c.scope_id FROM recordings r JOIN recording_cells c ON c.id = r.cell WHERE r.id = old.recording_id)
     AND facet = 'tag' AND value = old.tag;
END;
CREATE TRIGGER recording_policies_added AFTER INSERT ON recording_upload_policies BEGIN
  INSERT INTO recording_facets (facet, value, scope_id, n)
    SELECT 'upload_policy', new.policy_id, c.scope_id, 1 FROM recordings r JOIN recording_cells c ON c.id = r.cell
     WHERE r.id = new.recording_id
    ON CONFLICT DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER recording_policies_gone AFTER DELETE ON recording_upload_policies BEGIN
  UPDATE recording_facets SET n = n - 1
   WHERE scope_id = (SELECT c.scope_id FROM recordings r JOIN recording_cells c ON c.id = r.cell WHERE r.id = old.recording_id)
     AND facet = 'upload_policy' AND value = old.policy_id;
END;

CREATE TRIGGER recording_files_added AFTER INSERT ON recording_files BEGIN
  UPDATE recordings SET cached = 1 WHERE id = new.recording_id AND cached = 0;
  UPDATE recordings SET local = 1 WHERE id = new.recording_id AND local < new.local;
END;
CREATE TRIGGER recording_files_moved AFTER UPDATE OF local ON recording_files WHEN new.local IS NOT old.local BEGIN
  UPDATE recordings SET local = EXISTS (SELECT 1 FROM recording_files WHERE recording_id = new.recording_id AND local = 1)
   WHERE id = new.recording_id;
END;
CREATE TRIGGER recording_files_gone AFTER DELETE ON recording_files BEGIN
  UPDATE recordings SET local = 0
   WHERE id = old.recording_id AND local = 1
     AND NOT EXISTS (SELECT 1 FROM recording_files WHERE recording_id = old.recording_id AND local = 1);
  UPDATE recordings SET cached = 0
   WHERE id = old.recording_id AND cached = 1
     AND NOT EXISTS (SELECT 1 FROM recording_files WHERE recording_id = old.recording_id);
END;

-- What free text searches, case folded, one line a field; written with the recording (search.rules.ts),
-- gone with it by trigger.
CREATE TABLE recording_texts (
  seq   INTEGER PRIMARY KEY,
  text  TEXT NOT NULL
) STRICT;
-- One, two and three characters at a time, as tokens of their code points: three find words of any script, two the words
-- of Chinese and Japanese. Which recording has which, not where: what is found is looked at in recording_texts.
CREATE VIRTUAL TABLE recording_grams USING fts5 (grams, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii');

-- Lets a browser's player, which cannot send a header, read one recording for a while as the user it was given to.
CREATE TABLE playback_tickets (
  token_hash    TEXT PRIMARY KEY NOT NULL,
  session_id    TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  recording_id  TEXT NOT NULL REFERENCES recordings (id) ON DELETE CASCADE,
  permission    TEXT NOT NULL CHECK (permission IN ('recording:playback', 'recording:download')),
  created_at    TEXT NOT NULL,
  expires_at    TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX playback_tickets_session ON playback_tickets (session_id);
CREATE INDEX playback_tickets_recording ON playback_tickets (recording_id);
CREATE INDEX playback_tickets_expiry ON playback_tickets (expires_at);

-- Least and greatest sample of every slice of a stored file, made once; named by the bytes it was made from.
CREATE TABLE recording_waveforms (
  recording_id  TEXT NOT NULL REFERENCES recordings (id) ON DELETE CASCADE,
  checksum      TEXT NOT NULL,
  channels      INTEGER NOT NULL CHECK (channels BETWEEN 1 AND 512),
  sample_rate   INTEGER NOT NULL CHECK (sample_rate > 0),
  samples       INTEGER NOT NULL CHECK (samples > 0),      -- per channel
  points        INTEGER NOT NULL CHECK (points > 0),
  peaks         BLOB NOT NULL,                             -- int8: least, greatest per channel, per point
  preview       TEXT NOT NULL CHECK (json_valid(preview)), -- what the recording itself shows
  made_at       TEXT NOT NULL,
  PRIMARY KEY (recording_id, checksum)
) STRICT;
