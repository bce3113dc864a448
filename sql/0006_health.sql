CREATE TABLE health_events (
  id               TEXT PRIMARY KEY NOT NULL,
  type             TEXT NOT NULL,
  severity         TEXT NOT NULL CHECK (severity IN ('info', 'warning', 'critical')),
  status           TEXT NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'acknowledged', 'suppressed', 'resolved')),
  node_id          TEXT,
  recording_id     TEXT,
  schedule_id      TEXT,
  local_event_id   TEXT,                      -- the agent's own id: a resent event is the same event (decision 9)
  opened_at        TEXT NOT NULL,
  acknowledged_at  TEXT,
  acknowledged_by  TEXT,
  suppressed_at    TEXT,
  suppressed_by    TEXT,
  suppressed_until TEXT,
  resolved_at      TEXT,
  resolved_by      TEXT,
  details          TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(details))
) STRICT;
CREATE INDEX health_opened ON health_events (opened_at, id);
CREATE INDEX health_node ON health_events (node_id, opened_at);
CREATE INDEX health_recording ON health_events (recording_id, status);
CREATE INDEX health_status ON health_events (status, severity, opened_at);
CREATE UNIQUE INDEX health_local_event ON health_events (node_id, local_event_id) WHERE local_event_id IS NOT NULL;
