-- What the controller remembers of its own starts, one value per name.
CREATE TABLE controller_state (
  key        TEXT PRIMARY KEY NOT NULL,
  value      TEXT NOT NULL CHECK (json_valid(value)),
  updated_at TEXT NOT NULL
) STRICT;
