-- Append-only: rows leave only through the audit retention, which sets the gate row first.
CREATE TABLE audit_events (
  seq            INTEGER PRIMARY KEY AUTOINCREMENT,
  id             TEXT NOT NULL UNIQUE,
  created_at     TEXT NOT NULL,
  action         TEXT NOT NULL,
  outcome        TEXT NOT NULL CHECK (outcome IN ('allowed', 'denied', 'succeeded', 'failed', 'partial')),
  permission     TEXT,
  reason         TEXT,
  actor_type     TEXT NOT NULL CHECK (actor_type IN ('node', 'system', 'user')),
  actor_id       TEXT NOT NULL,
  actor_name     TEXT NOT NULL,
  actor_roles    TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(actor_roles)),
  ip_address     TEXT,
  session_id     TEXT,
  user_agent     TEXT,
  target_type    TEXT NOT NULL,
  target_id      TEXT,
  target_name    TEXT,
  details        TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(details)),
  before         TEXT CHECK (before IS NULL OR json_valid(before)),
  after          TEXT CHECK (after IS NULL OR json_valid(after)),
  correlation    TEXT CHECK (correlation IS NULL OR json_valid(correlation))
) STRICT;
CREATE INDEX audit_created ON audit_events (created_at); -- its entries end in seq: newest first is one walk
CREATE INDEX audit_action ON audit_events (action, created_at);
CREATE INDEX audit_actor ON audit_events (actor_id, created_at);
CREATE INDEX audit_target ON audit_events (target_type, target_id, created_at);
CREATE INDEX audit_outcome ON audit_events (outcome, created_at);
CREATE INDEX audit_permission ON audit_events (permission, created_at);

CREATE TRIGGER audit_is_append_only BEFORE UPDATE ON audit_events BEGIN
  SELECT raise(ABORT, 'audit events are never changed');
END;

CREATE TABLE audit_retention_gate (
  only_row       INTEGER PRIMARY KEY CHECK (only_row = 1),
  delete_before  TEXT NOT NULL
) STRICT;

CREATE TRIGGER audit_leaves_by_retention_only BEFORE DELETE ON audit_events
WHEN NOT EXISTS (SELECT 1 FROM audit_retention_gate WHERE old.created_at < delete_before) BEGIN
  SELECT raise(ABORT, 'audit events leave by retention only');
END;
