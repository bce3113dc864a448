-- Codes a person types at a box in place of a bootstrap token: one per node, deleted when used or replaced.
CREATE TABLE pairing_codes (
  node_id    TEXT PRIMARY KEY NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
  code_hash  TEXT NOT NULL UNIQUE,            -- HMAC-SHA-256 under a secret of this installation: 40 bits are guessed otherwise
  created_by TEXT REFERENCES users (id) ON DELETE CASCADE,
  expires_at TEXT NOT NULL
) STRICT;
CREATE INDEX pairing_codes_creator ON pairing_codes (created_by);
