-- The manifests beside takes (ADR-0043): whose are to be written, here ('') or at a destination.
CREATE TABLE manifest_queue (
  recording_id    TEXT NOT NULL REFERENCES recordings (id) ON DELETE CASCADE,
  destination_id  TEXT NOT NULL DEFAULT '',
  revision        INTEGER NOT NULL DEFAULT 0,  -- counts changes: one that comes while the manifest is written is not lost
  attempts        INTEGER NOT NULL DEFAULT 0,  -- failed ones since the last change
  due_at          TEXT NOT NULL DEFAULT '',    -- '': at once
  PRIMARY KEY (recording_id, destination_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX manifest_queue_due ON manifest_queue (destination_id, due_at);

-- Recordings that are queued little by little, because they are many: `at` and `seq` name the last one that was.
CREATE TABLE manifest_walks (
  kind  TEXT NOT NULL CHECK (kind IN ('all', 'node', 'room', 'schedule')),
  id    TEXT NOT NULL DEFAULT '',
  at    TEXT NOT NULL DEFAULT '',
  seq   INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (kind, id)
) STRICT, WITHOUT ROWID;
-- What was recorded before there were manifests.
INSERT INTO manifest_walks (kind) VALUES ('all');

-- What is said anew here is said anew wherever the take was uploaded to.
CREATE TRIGGER manifest_queued AFTER INSERT ON manifest_queue WHEN new.destination_id = '' BEGIN
  INSERT INTO manifest_queue (recording_id, destination_id)
    SELECT DISTINCT recording_id, destination_id FROM upload_queue WHERE recording_id = new.recording_id AND status = 'succeeded'
    ON CONFLICT DO UPDATE SET revision = revision + 1, attempts = 0, due_at = '';
END;
CREATE TRIGGER manifest_queued_again AFTER UPDATE OF revision ON manifest_queue WHEN new.destination_id = '' BEGIN
  INSERT INTO manifest_queue (recording_id, destination_id)
    SELECT DISTINCT recording_id, destination_id FROM upload_queue WHERE recording_id = new.recording_id AND status = 'succeeded'
    ON CONFLICT DO UPDATE SET revision = revision + 1, attempts = 0, due_at = '';
END;
CREATE TRIGGER manifest_of_uploaded AFTER UPDATE OF status ON upload_queue
WHEN new.status = 'succeeded' AND old.status <> 'succeeded' BEGIN
  INSERT INTO manifest_queue (recording_id, destination_id) VALUES (new.recording_id, new.destination_id)
    ON CONFLICT DO UPDATE SET revision = revision + 1, attempts = 0, due_at = '';
END;

-- Tags change with their recording. Of a take that is being made there is more to tell soon: that is gathered for five minutes.
CREATE TRIGGER manifest_of_recording AFTER UPDATE OF name, folder, notes, transcript_snippets, source, status, health_status,
  recorded_at, duration_seconds, node_id, room_id, schedule_id, recording_profile_id, retention_policy_id, watchdog_policy_id
ON recordings WHEN new.cached = 1 OR EXISTS (SELECT 1 FROM recording_chunk_files WHERE recording_id = new.id) BEGIN
  INSERT INTO manifest_queue (recording_id, due_at)
    VALUES (new.id, iif(new.status = 'recording', strftime('%Y-%m-%dT%H:%M:%fZ', new.updated_at, '+300 seconds'), ''))
    ON CONFLICT DO UPDATE SET revision = revision + 1, attempts = 0, due_at = min(due_at, excluded.due_at);
END;
CREATE TRIGGER manifest_of_file AFTER INSERT ON recording_files BEGIN
  INSERT INTO manifest_queue (recording_id) VALUES (new.recording_id)
    ON CONFLICT DO UPDATE SET revision = revision + 1, attempts = 0, due_at = '';
END;
CREATE TRIGGER manifest_of_other_file AFTER UPDATE ON recording_files BEGIN
  INSERT INTO manifest_queue (recording_id) VALUES (new.recording_id)
    ON CONFLICT DO UPDATE SET revision = revision + 1, attempts = 0, due_at = '';
END;
-- Its recording may be going as well.
CREATE TRIGGER manifest_without_file AFTER DELETE ON recording_files BEGIN
  INSERT INTO manifest_queue (recording_id) SELECT id FROM recordings WHERE id = old.recording_id
    ON CONFLICT DO UPDATE SET revision = revision + 1, attempts = 0, due_at = '';
END;
CREATE TRIGGER manifest_of_chunk AFTER INSERT ON recording_chunk_files BEGIN
  INSERT INTO manifest_queue (recording_id, due_at)
    SELECT id, iif(status = 'recording' AND new.idx > 1, strftime('%Y-%m-%dT%H:%M:%fZ', new.stored_at, '+300 seconds'), '')
      FROM recordings WHERE id = new.recording_id
    ON CONFLICT DO UPDATE SET revision = revision + 1, attempts = 0, due_at = min(due_at, excluded.due_at);
END;
CREATE TRIGGER manifest_of_other_chunk AFTER UPDATE ON recording_chunk_files BEGIN
  INSERT INTO manifest_queue (recording_id) VALUES (new.recording_id)
    ON CONFLICT DO UPDATE SET revision = revision + 1, attempts = 0, due_at = '';
END;
CREATE TRIGGER manifest_without_chunk AFTER DELETE ON recording_chunk_files BEGIN
  INSERT INTO manifest_queue (recording_id) SELECT id FROM recordings WHERE id = old.recording_id
    ON CONFLICT DO UPDATE SET revision = revision + 1, attempts = 0, due_at = '';
END;

CREATE TRIGGER manifests_of_node AFTER UPDATE OF alias, site, room ON nodes
WHEN (old.alias, old.site, old.room) IS NOT (new.alias, new.site, new.room) BEGIN
  INSERT INTO manifest_walks (kind, id) VALUES ('node', new.id) ON CONFLICT DO UPDATE SET at = '', seq = 0;
END;
CREATE TRIGGER manifests_of_room AFTER UPDATE OF site, name, building, floor ON rooms
WHEN (old.site, old.name, old.building, old.floor) IS NOT (new.site, new.name, new.building, new.floor) BEGIN
  INSERT INTO manifest_walks (kind, id) VALUES ('room', new.id) ON CONFLICT DO UPDATE SET at = '', seq = 0;
END;
CREATE TRIGGER manifests_of_schedule AFTER UPDATE OF name ON schedules WHEN old.name <> new.name BEGIN
  INSERT INTO manifest_walks (kind, id) VALUES ('schedule', new.id) ON CONFLICT DO UPDATE SET at = '', seq = 0;
END;
