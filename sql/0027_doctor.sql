-- What the doctor found on a recorder when it was last asked; the report is stored and returned whole.
CREATE TABLE node_doctor_reports (
  node_id TEXT PRIMARY KEY NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
  made_at TEXT NOT NULL,
  report  TEXT NOT NULL CHECK (json_valid(report))
) STRICT;
