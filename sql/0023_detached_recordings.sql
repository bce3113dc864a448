-- Recordings taken off a room or schedule that is about to be deleted: they go back if it is not.
CREATE TABLE detached_recordings (
  owner_id     TEXT NOT NULL,
  recording_id TEXT NOT NULL REFERENCES recordings (id) ON DELETE CASCADE,
  kind         TEXT NOT NULL CHECK (kind IN ('room', 'schedule')),
  PRIMARY KEY (kind, owner_id, recording_id)
) WITHOUT ROWID, STRICT;

CREATE INDEX detached_recordings_recording ON detached_recordings (recording_id);
