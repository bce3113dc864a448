-- What people changed of how a kind of risk is foreseen; the rest is as src/wire/foresight.ts has it.
CREATE TABLE foresight_kinds (
  kind         TEXT PRIMARY KEY NOT NULL,
  enabled      INTEGER NOT NULL CHECK (enabled IN (0, 1)),
  lead_minutes INTEGER NOT NULL CHECK (lead_minutes BETWEEN 1 AND 1440),
  severity     TEXT NOT NULL CHECK (severity IN ('info', 'warning', 'critical')),
  updated_at   TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The device a schedule would record from, as it was when the schedule last recorded or was pointed elsewhere.
CREATE TABLE foresight_devices (
  schedule_id TEXT PRIMARY KEY NOT NULL REFERENCES schedules (id) ON DELETE CASCADE,
  asked       TEXT NOT NULL,                  -- the node and interface the schedule names: with others it begins anew
  device      TEXT NOT NULL CHECK (json_valid(device))
) STRICT, WITHOUT ROWID;

-- What stands of what was foreseen: read whole in each pass.
CREATE INDEX health_foreseen ON health_events (type, schedule_id, node_id)
  WHERE status <> 'resolved' AND substr(type, 1, 10) = 'foresight.';

-- Destinations whose last attempt failed; the next success removes the row.
CREATE TABLE upload_troubles (
  destination_id TEXT PRIMARY KEY NOT NULL REFERENCES upload_destinations (id) ON DELETE CASCADE,
  error          TEXT NOT NULL,
  failed_at      TEXT NOT NULL
) STRICT, WITHOUT ROWID;
