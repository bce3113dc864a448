-- The audit, append-only. What is said again and again (who, what, about which, from where) is kept once in a
-- dictionary: a row is a few numbers and what is its own. Read it through the view `audit_events`.

-- What happened, in every combination of its words that ever occurred. '' stands for absent.
CREATE TABLE audit_kinds (
  id             INTEGER PRIMARY KEY,
  action         TEXT NOT NULL,
  outcome        TEXT NOT NULL CHECK (outcome IN ('allowed', 'denied', 'succeeded', 'failed', 'partial')),
  permission     TEXT NOT NULL,
  reason         TEXT NOT NULL,
  actor_type     TEXT NOT NULL CHECK (actor_type IN ('node', 'system', 'user')),
  target_type    TEXT NOT NULL,
  has_target     INTEGER NOT NULL CHECK (has_target IN (0, 1)), -- whether the target has an id
  UNIQUE (action, outcome, permission, reason, actor_type, target_type, has_target)
) STRICT;

CREATE TABLE audit_actors (
  id             INTEGER PRIMARY KEY,
  actor_id       TEXT NOT NULL,
  name           TEXT NOT NULL,
  roles          TEXT NOT NULL CHECK (json_valid(roles)),
  folded         TEXT NOT NULL, -- id and name in lower case, to be searched
  UNIQUE (actor_id, name, roles)
) STRICT;

-- Who did what: filters on both meet here, among some ten thousand pairs, and not among millions of rows.
CREATE TABLE audit_deeds (
  id             INTEGER PRIMARY KEY,
  kind           INTEGER NOT NULL REFERENCES audit_kinds (id) ON DELETE RESTRICT,
  actor          INTEGER NOT NULL REFERENCES audit_actors (id) ON DELETE RESTRICT,
  UNIQUE (kind, actor)
) STRICT;
CREATE INDEX audit_deeds_actor ON audit_deeds (actor, kind);

CREATE TABLE audit_contexts (
  id             INTEGER PRIMARY KEY,
  session_id     TEXT NOT NULL,
  ip_address     TEXT NOT NULL,
  user_agent     TEXT NOT NULL,
  UNIQUE (session_id, ip_address, user_agent)
) STRICT;

CREATE TABLE audit_targets (
  id             INTEGER PRIMARY KEY AUTOINCREMENT, -- never given twice: `audit_indexed` goes by it
  type           TEXT NOT NULL,
  target_id      TEXT NOT NULL,
  name           TEXT NOT NULL,
  folded         TEXT NOT NULL, -- id and name in lower case, to be searched; ends in two line feeds, see audit_target_grams
  UNIQUE (type, target_id, name)
) STRICT;

-- Parts of words: a part of three characters or more is found by its trigrams, a shorter one by the trigrams that
-- begin with it (the line feeds at the end give the last two characters theirs).
CREATE VIRTUAL TABLE audit_target_text USING fts5(
  folded, content = 'audit_targets', content_rowid = 'id', tokenize = 'trigram case_sensitive 1', detail = 'none',
  columnsize = 0
);
CREATE VIRTUAL TABLE audit_target_grams USING fts5vocab(audit_target_text, instance);
-- Indexing a text costs several times what a row costs, so a runner does it: targets up to here are in the index.
CREATE TABLE audit_indexed (
  only_row       INTEGER PRIMARY KEY CHECK (only_row = 1),
  target         INTEGER NOT NULL
) STRICT;
INSERT INTO audit_indexed (only_row, target) VALUES (1, 0);

CREATE TABLE audit_rows (
  seq            INTEGER PRIMARY KEY AUTOINCREMENT,
  id             BLOB NOT NULL UNIQUE, -- a UUID
  at             INTEGER NOT NULL,     -- Unix ms * 2048 + place within the millisecond: order and time in one number
  deed           INTEGER NOT NULL REFERENCES audit_deeds (id) ON DELETE RESTRICT,
  context        INTEGER NOT NULL REFERENCES audit_contexts (id) ON DELETE RESTRICT,
  target         INTEGER NOT NULL REFERENCES audit_targets (id) ON DELETE RESTRICT,
  details        TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(details)),
  before         TEXT CHECK (before IS NULL OR json_valid(before)),
  after          TEXT CHECK (after IS NULL OR json_valid(after)),
  correlation    TEXT CHECK (correlation IS NULL OR json_valid(correlation))
) STRICT;
-- Each holds what a search asks of a row, so that a walk never leaves its index.
CREATE INDEX audit_time ON audit_rows (at, deed, target);
CREATE INDEX audit_deed ON audit_rows (deed, at, target);
CREATE INDEX audit_target ON audit_rows (target, at, deed);
CREATE INDEX audit_context ON audit_rows (context);

CREATE VIEW audit_events AS
SELECT a.seq, lower(substr(hex(a.id), 1, 8) || '-' || substr(hex(a.id), 9, 4) || '-' || substr(hex(a.id), 13, 4)
    || '-' || substr(hex(a.id), 17, 4) || '-' || substr(hex(a.id), 21)) AS id,
  strftime('%Y-%m-%dT%H:%M:%fZ', (a.at >> 11) / 1000.0, 'unixepoch') AS created_at,
  k.action, k.outcome, nullif(k.permission, '') AS permission, nullif(k.reason, '') AS reason,
  k.actor_type, w.actor_id, w.name AS actor_name, w.roles AS actor_roles,
  nullif(c.ip_address, '') AS ip_address, nullif(c.session_id, '') AS session_id, nullif(c.user_agent, '') AS user_agent,
  t.type AS target_type, nullif(t.target_id, '') AS target_id, nullif(t.name, '') AS target_name,
  a.details, a.before, a.after, a.correlation
FROM audit_rows a
  JOIN audit_deeds d ON d.id = a.deed
  JOIN audit_kinds k ON k.id = d.kind
  JOIN audit_actors w ON w.id = d.actor
  JOIN audit_contexts c ON c.id = a.context
  JOIN audit_targets t ON t.id = a.target;

-- Rows leave only through the audit retention, which sets the gate row first.
CREATE TRIGGER audit_is_append_only BEFORE UPDATE ON audit_rows BEGIN
  SELECT raise(ABORT, 'audit events are never changed');
END;
CREATE TRIGGER audit_kinds_stay BEFORE UPDATE ON audit_kinds BEGIN
  SELECT raise(ABORT, 'audit events are never changed');
END;
CREATE TRIGGER audit_actors_stay BEFORE UPDATE ON audit_actors BEGIN
  SELECT raise(ABORT, 'audit events are never changed');
END;
CREATE TRIGGER audit_deeds_stay BEFORE UPDATE ON audit_deeds BEGIN
  SELECT raise(ABORT, 'audit events are never changed');
END;
CREATE TRIGGER audit_contexts_stay BEFORE UPDATE ON audit_contexts BEGIN
  SELECT raise(ABORT, 'audit events are never changed');
END;
CREATE TRIGGER audit_targets_stay BEFORE UPDATE ON audit_targets BEGIN
  SELECT raise(ABORT, 'audit events are never changed');
END;

CREATE TABLE audit_retention_gate (
  only_row       INTEGER PRIMARY KEY CHECK (only_row = 1),
  delete_before  TEXT NOT NULL
) STRICT;

CREATE TRIGGER audit_leaves_by_retention_only BEFORE DELETE ON audit_rows
WHEN NOT EXISTS (
  SELECT 1 FROM audit_retention_gate
   WHERE strftime('%Y-%m-%dT%H:%M:%fZ', (old.at >> 11) / 1000.0, 'unixepoch') < delete_before
) BEGIN
  SELECT raise(ABORT, 'audit events leave by retention only');
END;
