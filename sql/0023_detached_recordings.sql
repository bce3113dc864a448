-- Recordings taken off a room or schedule that is about to be deleted: they go back if it is not.
CREATE TABLE detachments (
  id       INTEGER PRIMARY KEY AUTOINCREMENT,
  kind     TEXT NOT NULL CHECK (kind IN ('room', 'schedule')),
  owner_id TEXT NOT NULL
) STRICT;

CREATE INDEX detachments_owner ON detachments (kind, owner_id);

CREATE TABLE detached_recordings (
  detachment_id INTEGER NOT NULL,
  recording_id  TEXT NOT NULL REFERENCES recordings (id) ON DELETE CASCADE,
  PRIMARY KEY (detachment_id, recording_id)
) WITHOUT ROWID, STRICT;

CREATE INDEX detached_recordings_recording ON detached_recordings (recording_id);

-- What is deleted gets nothing back: the next one of its id is another.
CREATE TRIGGER detachments_room_deleted AFTER DELETE ON rooms BEGIN
  DELETE FROM detachments WHERE kind = 'room' AND owner_id = old.id;
END;

CREATE TRIGGER detachments_schedule_deleted AFTER DELETE ON schedules BEGIN
  DELETE FROM detachments WHERE kind = 'schedule' AND owner_id = old.id;
END;
