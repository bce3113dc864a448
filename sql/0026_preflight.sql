-- What each channel sounded like in the last good takes of its room (ADR-0041): ten of a channel at the most.
CREATE TABLE sound_prints (
  interface_id TEXT NOT NULL REFERENCES interfaces (id) ON DELETE CASCADE,
  channel      INTEGER NOT NULL CHECK (channel BETWEEN 1 AND 32767),
  heard_at     TEXT NOT NULL,
  recording_id TEXT NOT NULL,                 -- without a reference: the print outlives the take
  room_id      TEXT,                          -- of the take: elsewhere the channel sounds different
  device       TEXT NOT NULL,                 -- which hardware it was, as its recorder tells it apart
  print        TEXT NOT NULL CHECK (json_valid(print)),
  PRIMARY KEY (interface_id, channel, heard_at)
) STRICT, WITHOUT ROWID;

-- What was heard before the last take of each schedule. Without a reference: what stands open is ended when its schedule is gone.
CREATE TABLE preflights (
  schedule_id TEXT PRIMARY KEY NOT NULL,
  node_id     TEXT NOT NULL,
  starts_at   TEXT NOT NULL,                  -- of the take
  heard_at    TEXT NOT NULL,
  fault       TEXT,                           -- why the device could not be opened
  channels    TEXT NOT NULL CHECK (json_valid(channels)),
  event_id    TEXT                            -- the health event that tells of it, until it is over
) STRICT, WITHOUT ROWID;
CREATE INDEX preflights_standing ON preflights (starts_at) WHERE event_id IS NOT NULL;
