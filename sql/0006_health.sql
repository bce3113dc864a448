-- `seq` sorts like opened_at, then id (health.rules.ts): every index ends in it, so each of them is a list in order.
CREATE TABLE health_events (
  seq              INTEGER PRIMARY KEY,
  doc              INTEGER UNIQUE,            -- order of arrival, dense: what the search index counts by
  id               TEXT NOT NULL UNIQUE,
  type             TEXT NOT NULL,
  severity         TEXT NOT NULL CHECK (severity IN ('info', 'warning', 'critical')),
  status           TEXT NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'acknowledged', 'suppressed', 'resolved')),
  node_id          TEXT,
  recording_id     TEXT,
  schedule_id      TEXT,
  local_event_id   TEXT,                      -- the agent's own id: a resent event is the same event (docs/contract/agent.md: Health events)
  opened_at        TEXT NOT NULL,
  acknowledged_at  TEXT,
  acknowledged_by  TEXT,
  acknowledged_by_name TEXT,                 -- as it was called then
  suppressed_at    TEXT,
  suppressed_by    TEXT,
  suppressed_until TEXT,
  resolved_at      TEXT,
  resolved_by      TEXT,
  resolved_by_name TEXT,
  details          TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(details)),
  cell             INTEGER DEFAULT 0          -- where it counts (0014_counts.sql); kept by triggers
) STRICT;
CREATE INDEX health_node ON health_events (node_id);
CREATE INDEX health_recording ON health_events (recording_id);
CREATE INDEX health_schedule ON health_events (schedule_id);
CREATE INDEX health_type ON health_events (type);
-- A narrow copy of the order: a deep page is counted off in it, not in the events.
CREATE INDEX health_order ON health_events (seq);
CREATE INDEX health_severity ON health_events (severity, type);
CREATE INDEX health_status ON health_events (status);
CREATE INDEX health_resolved ON health_events (resolved_at) WHERE resolved_at IS NOT NULL;
CREATE INDEX health_unresolved ON health_events (severity, status) WHERE status <> 'resolved';
CREATE UNIQUE INDEX health_local_event ON health_events (node_id, local_event_id) WHERE local_event_id IS NOT NULL;
-- What the watchdog still follows: alarms of a take that is over wait for a person, not for the watchdog.
CREATE INDEX health_watched ON health_events (type, recording_id, node_id)
  WHERE status <> 'resolved' AND substr(type, 1, 9) = 'watchdog.' AND json_extract(details, '$.recordingEndedAt') IS NULL;
