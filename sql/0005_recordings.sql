CREATE TABLE schedules (
  id                  TEXT PRIMARY KEY NOT NULL,
  name                TEXT NOT NULL,
  node_id             TEXT REFERENCES nodes (id) ON DELETE SET NULL,
  room_id             TEXT REFERENCES rooms (id) ON DELETE RESTRICT,
  created_at          TEXT NOT NULL,
  updated_at          TEXT NOT NULL
) STRICT;
CREATE INDEX schedules_node ON schedules (node_id);
CREATE INDEX schedules_room ON schedules (room_id);

CREATE TABLE recordings (
  id                   TEXT PRIMARY KEY NOT NULL,
  name                 TEXT NOT NULL,
  folder               TEXT NOT NULL,
  notes                TEXT,
  transcript_snippets  TEXT CHECK (transcript_snippets IS NULL OR json_valid(transcript_snippets)),
  source               TEXT NOT NULL CHECK (source IN ('ad_hoc', 'schedule')),
  status               TEXT NOT NULL CHECK (status IN ('queued', 'recording', 'completed', 'failed', 'cached', 'uploaded', 'partial')),
  health_status        TEXT NOT NULL DEFAULT 'unknown' CHECK (health_status IN ('healthy', 'warning', 'critical', 'unknown')),
  recorded_at          TEXT NOT NULL,
  duration_seconds     INTEGER NOT NULL DEFAULT 0 CHECK (duration_seconds >= 0),
  node_id              TEXT REFERENCES nodes (id) ON DELETE SET NULL,
  room_id              TEXT REFERENCES rooms (id) ON DELETE SET NULL,  -- frozen at creation
  schedule_id          TEXT REFERENCES schedules (id) ON DELETE SET NULL,
  recording_profile_id TEXT REFERENCES recording_profiles (id) ON DELETE SET NULL,
  retention_policy_id  TEXT REFERENCES retention_policies (id) ON DELETE SET NULL,
  watchdog_policy_id   TEXT REFERENCES watchdog_policies (id) ON DELETE SET NULL,
  updated_at           TEXT NOT NULL
) STRICT;
CREATE INDEX recordings_recorded ON recordings (recorded_at, id);
CREATE INDEX recordings_node ON recordings (node_id, recorded_at);
CREATE INDEX recordings_room ON recordings (room_id, recorded_at);
CREATE INDEX recordings_schedule ON recordings (schedule_id, recorded_at);
CREATE INDEX recordings_status ON recordings (status, recorded_at);
CREATE INDEX recordings_health ON recordings (health_status, recorded_at);
CREATE INDEX recordings_profile ON recordings (recording_profile_id, recorded_at);
CREATE INDEX recordings_retention ON recordings (retention_policy_id);
CREATE INDEX recordings_watchdog ON recordings (watchdog_policy_id);
-- Orders the library offers: a page is a walk, not a sort of everything.
CREATE INDEX recordings_name ON recordings (name COLLATE NOCASE, id);
CREATE INDEX recordings_folder ON recordings (folder COLLATE NOCASE, id);
CREATE INDEX recordings_duration ON recordings (duration_seconds, id);
CREATE INDEX recordings_source ON recordings (source, id);

CREATE TABLE recording_tags (
  recording_id TEXT NOT NULL REFERENCES recordings (id) ON DELETE CASCADE,
  position     INTEGER NOT NULL,
  tag          TEXT NOT NULL COLLATE NOCASE,
  PRIMARY KEY (recording_id, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX recording_tags_tag ON recording_tags (tag, recording_id);

CREATE TABLE recording_upload_policies (
  recording_id TEXT NOT NULL REFERENCES recordings (id) ON DELETE CASCADE,
  position     INTEGER NOT NULL,
  policy_id    TEXT NOT NULL REFERENCES upload_policies (id) ON DELETE CASCADE,
  PRIMARY KEY (recording_id, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX recording_upload_policies_policy ON recording_upload_policies (policy_id, recording_id);

-- One stored file per rendition: `primary` is what was uploaded without a rendition (or ends a chunked take).
CREATE TABLE recording_files (
  recording_id     TEXT NOT NULL REFERENCES recordings (id) ON DELETE CASCADE,
  rendition        TEXT NOT NULL CHECK (rendition IN ('primary', 'raw', 'enhanced')),
  path             TEXT NOT NULL UNIQUE,      -- relative to the takes directory
  checksum         TEXT NOT NULL,             -- sha256:<hex>, computed here while receiving
  size_bytes       INTEGER NOT NULL CHECK (size_bytes > 0),
  mime_type        TEXT NOT NULL,
  duration_seconds INTEGER,
  job_id           TEXT,
  stored_at        TEXT NOT NULL,
  PRIMARY KEY (recording_id, rendition)
) STRICT, WITHOUT ROWID;

CREATE TABLE recording_jobs (
  id                TEXT PRIMARY KEY NOT NULL,
  recording_id      TEXT NOT NULL REFERENCES recordings (id) ON DELETE CASCADE,
  node_id           TEXT NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
  status            TEXT NOT NULL CHECK (status IN ('queued', 'running', 'stop_requested', 'cancelled', 'completed', 'failed')),
  command           TEXT NOT NULL CHECK (json_valid(command)),
  capture_backend   TEXT GENERATED ALWAYS AS (coalesce(json_extract(command, '$.captureBackend'), 'alsa')) STORED,
  capture_interface TEXT GENERATED ALWAYS AS (json_extract(command, '$.captureInterfaceId')) STORED,
  capture_group     TEXT GENERATED ALWAYS AS (json_extract(command, '$.captureGroupId')) STORED,
  created_at        TEXT NOT NULL,
  claimed_by        TEXT,
  started_at        TEXT,
  confirmed_at      TEXT,                     -- first job heartbeat: the agent surely holds the claim
  last_heartbeat_at TEXT,
  lease_expires_at  TEXT,
  stop_requested_at TEXT,
  completed_at      TEXT,
  failure_reason    TEXT
) STRICT;
CREATE INDEX jobs_created ON recording_jobs (created_at, id);
CREATE INDEX jobs_recording ON recording_jobs (recording_id, created_at);
CREATE INDEX jobs_node ON recording_jobs (node_id, status, created_at);
CREATE INDEX jobs_status ON recording_jobs (status, created_at);
CREATE INDEX jobs_backend ON recording_jobs (capture_backend, created_at);
CREATE INDEX jobs_interface ON recording_jobs (capture_interface, created_at);
CREATE INDEX jobs_lease ON recording_jobs (lease_expires_at) WHERE status IN ('running', 'stop_requested');
-- A recording is being made by one job at a time.
CREATE UNIQUE INDEX one_active_job ON recording_jobs (recording_id) WHERE status IN ('queued', 'running', 'stop_requested');
