-- Who may do what: people, groups, grants, policies, sessions. Times are ISO-8601 UTC text.
CREATE TABLE users (
  id            TEXT PRIMARY KEY NOT NULL,
  email         TEXT NOT NULL UNIQUE CHECK (email = lower(email)),
  name          TEXT NOT NULL,
  password_hash TEXT,
  provider      TEXT NOT NULL DEFAULT 'local' CHECK (provider IN ('local', 'oidc')),
  external_id   TEXT UNIQUE,
  disabled_at   TEXT,
  created_at    TEXT NOT NULL,
  updated_at    TEXT NOT NULL
) STRICT;

CREATE TABLE user_roles (
  user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  role    TEXT NOT NULL CHECK (role IN ('owner', 'admin', 'operator', 'technician', 'viewer', 'auditor')),
  PRIMARY KEY (user_id, role)
) STRICT, WITHOUT ROWID;

CREATE TABLE user_grants (
  user_id       TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  resource_type TEXT NOT NULL,
  resource_id   TEXT NOT NULL,
  PRIMARY KEY (user_id, resource_type, resource_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX user_grants_resource ON user_grants (resource_id, resource_type);

CREATE TABLE access_groups (
  id          TEXT PRIMARY KEY NOT NULL,
  name        TEXT NOT NULL,
  description TEXT,
  created_at  TEXT NOT NULL,
  updated_at  TEXT NOT NULL
) STRICT;

CREATE TABLE group_members (
  group_id TEXT NOT NULL REFERENCES access_groups (id) ON DELETE CASCADE,
  user_id  TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  PRIMARY KEY (group_id, user_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX group_members_user ON group_members (user_id);

-- The list is replaced whole; position keeps its order.
CREATE TABLE access_policies (
  id            TEXT PRIMARY KEY NOT NULL,
  position      INTEGER NOT NULL,
  effect        TEXT NOT NULL CHECK (effect IN ('allow', 'deny')),
  subject_type  TEXT NOT NULL CHECK (subject_type IN ('user', 'group', 'everyone')),
  subject_id    TEXT,
  resource_type TEXT NOT NULL,
  resource_id   TEXT NOT NULL,
  reason        TEXT
) STRICT;
CREATE INDEX access_policies_subject ON access_policies (subject_type, subject_id);
CREATE INDEX access_policies_resource ON access_policies (resource_id, resource_type);

CREATE TABLE sessions (
  id           TEXT PRIMARY KEY NOT NULL,
  user_id      TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  token_hash   TEXT NOT NULL UNIQUE,          -- SHA-256 of the token, never the token
  created_at   TEXT NOT NULL,
  last_seen_at TEXT NOT NULL,
  expires_at   TEXT NOT NULL,
  revoked_at   TEXT,
  ip_address   TEXT,
  user_agent   TEXT
) STRICT;
CREATE INDEX sessions_user ON sessions (user_id);
CREATE INDEX sessions_expiry ON sessions (expires_at);
