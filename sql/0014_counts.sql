-- How alarms and uploads are counted without looking at each: /status and /metrics sum cells, whatever is in the tables.

-- Types of events that are counted by name. Agents and people may name any: those beyond the first two hundred share the
-- row 0, so that neither these tables nor the label of a metric grows without end.
CREATE TABLE health_types (
  id    INTEGER PRIMARY KEY,
  type  TEXT NOT NULL UNIQUE
) STRICT;
INSERT INTO health_types VALUES (0, 'other'), (1, 'watchdog.scheduled_low_signal'), (2, 'watchdog.node_offline'),
  (3, 'agent.meter.xrun');

-- Events that share what is counted and what scope is decided by; '' is absent, scope 0 no recording (any more).
-- `n` are in this status now, `total` have ever come to it.
CREATE TABLE health_cells (
  id            INTEGER PRIMARY KEY,
  scope_id      INTEGER NOT NULL,             -- of the recording (recording_scopes)
  of_recording  INTEGER NOT NULL CHECK (of_recording IN (0, 1)),
  node_id       TEXT NOT NULL,
  schedule_id   TEXT NOT NULL,
  type_id       INTEGER NOT NULL REFERENCES health_types (id) ON DELETE RESTRICT,
  severity      TEXT NOT NULL,
  status        TEXT NOT NULL,
  n             INTEGER NOT NULL CHECK (n >= 0),
  total         INTEGER NOT NULL,
  UNIQUE (scope_id, of_recording, node_id, schedule_id, type_id, severity, status)
) STRICT;
CREATE INDEX health_cells_type ON health_cells (type_id);

CREATE VIEW health_places (seq, scope_id, of_recording, node_id, schedule_id, type_id, severity, status) AS
  SELECT h.seq, coalesce((SELECT c.scope_id FROM recordings r JOIN recording_cells c ON c.id = r.cell WHERE r.id = h.recording_id), 0),
    h.recording_id IS NOT NULL, coalesce(h.node_id, ''), coalesce(h.schedule_id, ''),
    coalesce((SELECT t.id FROM health_types t WHERE t.type = h.type), 0), h.severity, h.status
  FROM health_events h;

-- An event without a cell is counted anew: every change that moves it only takes its cell away.
CREATE TRIGGER health_counted AFTER UPDATE OF cell ON health_events WHEN new.cell IS NULL AND old.cell IS NOT NULL BEGIN
  UPDATE health_cells SET n = n - 1 WHERE id = old.cell;
  INSERT INTO health_cells (scope_id, of_recording, node_id, schedule_id, type_id, severity, status, n, total)
    SELECT scope_id, of_recording, node_id, schedule_id, type_id, severity, status, 1, 0 FROM health_places WHERE seq = new.seq
    ON CONFLICT DO UPDATE SET n = n + 1;
  UPDATE health_events SET cell = (
    SELECT c.id FROM health_places p JOIN health_cells c ON c.scope_id = p.scope_id AND c.of_recording = p.of_recording
        AND c.node_id = p.node_id AND c.schedule_id = p.schedule_id AND c.type_id = p.type_id AND c.severity = p.severity
        AND c.status = p.status
     WHERE p.seq = new.seq)
   WHERE seq = new.seq;
END;
CREATE TRIGGER health_opened AFTER INSERT ON health_events BEGIN
  INSERT OR IGNORE INTO health_types (type) SELECT new.type WHERE (SELECT count(*) FROM health_types) <= 200;
  UPDATE health_events SET cell = NULL WHERE seq = new.seq;
  UPDATE health_cells SET total = total + 1 WHERE id = (SELECT cell FROM health_events WHERE seq = new.seq);
END;
CREATE TRIGGER health_moved AFTER UPDATE OF status, severity ON health_events
WHEN (old.status, old.severity) IS NOT (new.status, new.severity) BEGIN
  UPDATE health_events SET cell = NULL WHERE seq = new.seq;
  UPDATE health_cells SET total = total + 1 WHERE id = (SELECT cell FROM health_events WHERE seq = new.seq);
END;
CREATE TRIGGER health_gone AFTER DELETE ON health_events BEGIN
  UPDATE health_cells SET n = n - 1 WHERE id = old.cell;
END;
CREATE TRIGGER recordings_move_health AFTER UPDATE OF cell ON recordings
WHEN old.cell IS NOT NULL AND (SELECT scope_id FROM recording_cells WHERE id = old.cell) IS NOT (SELECT scope_id FROM recording_cells WHERE id = new.cell)
BEGIN
  UPDATE health_events SET cell = NULL WHERE recording_id = new.id;
END;
CREATE TRIGGER recordings_leave_health AFTER DELETE ON recordings BEGIN
  UPDATE health_events SET cell = NULL WHERE recording_id = old.id;
END;

-- Items of the upload queue by the scope of their recording; `failures` are attempts of those that came to fail, ever.
CREATE TABLE upload_cells (
  scope_id  INTEGER NOT NULL,
  provider  TEXT NOT NULL,
  status    TEXT NOT NULL,
  n         INTEGER NOT NULL CHECK (n >= 0),
  failures  INTEGER NOT NULL,
  PRIMARY KEY (scope_id, provider, status)
) STRICT, WITHOUT ROWID;
-- An item has no scope at the moment it is inserted: it is counted when it gets one.
CREATE TRIGGER upload_counted AFTER UPDATE OF scope_id, provider, status ON upload_queue
WHEN (old.scope_id, old.provider, old.status) IS NOT (new.scope_id, new.provider, new.status) BEGIN
  UPDATE upload_cells SET n = n - 1 WHERE scope_id = old.scope_id AND provider = old.provider AND status = old.status;
  INSERT INTO upload_cells SELECT new.scope_id, new.provider, new.status, 1, 0 WHERE new.scope_id IS NOT NULL
    ON CONFLICT DO UPDATE SET n = n + 1;
  UPDATE upload_cells SET failures = failures + max(1, new.attempt_count)
   WHERE scope_id = new.scope_id AND provider = new.provider AND status = new.status
     AND new.status = 'failed' AND (old.scope_id IS NULL OR old.status <> 'failed');
END;
CREATE TRIGGER upload_gone AFTER DELETE ON upload_queue BEGIN
  UPDATE upload_cells SET n = n - 1 WHERE scope_id = old.scope_id AND provider = old.provider AND status = old.status;
END;
