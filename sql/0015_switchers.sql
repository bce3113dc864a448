-- Matrix switchers and what is wired to them.
CREATE TABLE switchers (
  id                TEXT PRIMARY KEY NOT NULL,
  display_name      TEXT NOT NULL,
  host              TEXT NOT NULL,
  port              INTEGER NOT NULL CHECK (port BETWEEN 1 AND 65535),
  model             TEXT NOT NULL CHECK (model IN ('avpro-ac-max')),
  enabled           INTEGER NOT NULL CHECK (enabled IN (0, 1)),
  mode              TEXT NOT NULL CHECK (mode IN ('disabled', 'observe', 'enforce')),
  username          TEXT,
  sealed_password   TEXT,                      -- AES-256-GCM, bound to this row
  unreachable_event TEXT REFERENCES health_events (id) ON DELETE SET NULL,  -- open while the router cannot reach it
  created_at        TEXT NOT NULL,
  updated_at        TEXT NOT NULL
) STRICT;
CREATE INDEX switchers_name ON switchers (display_name COLLATE NOCASE, id);
CREATE INDEX switchers_event ON switchers (unreachable_event);

-- One room per input and one input per room, one user per output and one output per user.
CREATE TABLE switcher_inputs (
  switcher_id TEXT NOT NULL REFERENCES switchers (id) ON DELETE CASCADE,
  input       INTEGER NOT NULL CHECK (input BETWEEN 1 AND 256),
  room_id     TEXT NOT NULL REFERENCES rooms (id) ON DELETE CASCADE,
  PRIMARY KEY (switcher_id, input),
  UNIQUE (switcher_id, room_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX switcher_inputs_room ON switcher_inputs (room_id);

CREATE TABLE switcher_outputs (
  switcher_id TEXT NOT NULL REFERENCES switchers (id) ON DELETE CASCADE,
  output      INTEGER NOT NULL CHECK (output BETWEEN 1 AND 256),
  user_id     TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  PRIMARY KEY (switcher_id, output),
  UNIQUE (switcher_id, user_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX switcher_outputs_user ON switcher_outputs (user_id);
