-- Links that sign somebody in once, on this machine; kept as SHA-256, deleted when used.
CREATE TABLE sign_in_links (
  token_hash TEXT PRIMARY KEY NOT NULL,
  user_id    TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  created_at TEXT NOT NULL,
  expires_at TEXT NOT NULL
) STRICT;
CREATE INDEX sign_in_links_user ON sign_in_links (user_id);

-- Whether such a link opened it: who came that way may set a password without knowing one, once.
ALTER TABLE sessions ADD COLUMN by_link INTEGER NOT NULL DEFAULT 0 CHECK (by_link IN (0, 1));

-- The last sign-in; NULL for an account that nobody has used. Accounts from before count as used.
ALTER TABLE users ADD COLUMN signed_in_at TEXT;
UPDATE users SET signed_in_at = updated_at;
